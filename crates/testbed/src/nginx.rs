//! The servers' Web server: Debian's nginx, unmodified, told to keep connections and quiet.
//!
//! It answers on port 80 of every address. Beside the files themselves there are ways to ask for
//! them, of which [`crate::TestBed`] tells: chunked, until close, slowly, and what takes bodies.
//! All of it is configuration:
//!
//! * nginx does not know the length of what goes through its server-side includes, so it sends
//!   chunks, or, where it may not, closes at the end. The files have no includes.
//! * It reads a whole request body before it passes it on. The inner server answers with a word
//!   in whose place the outer one then puts that body.

use crate::{Error, Host, Plan, namespace, state};
use std::fs;
use std::path::Path;

/// Where all servers' files are, under the bed's folder.
pub(crate) const DOCUMENTS: &str = "documents";

/// Where nginx writes the number of its process.
pub(crate) const PID: &str = "nginx.pid";

/// What it is told.
fn configuration(host: Host, documents: &Path, home: &Path) -> String {
    let (documents, home) = (documents.display(), home.display());
    format!(
        "daemon on;
user root;
worker_processes 1;
worker_rlimit_nofile 65536;
pid {home}/{PID};
error_log {home}/error.log warn;
events {{ worker_connections 16384; }}
http {{
  access_log off;
  default_type application/octet-stream;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 1d;
  keepalive_requests 1000000000;
  large_client_header_buffers 8 32k;
  client_max_body_size 64m;
  client_body_buffer_size 1m;
  client_body_in_single_buffer on;
  client_body_temp_path {home}/bodies;
  proxy_temp_path {home}/proxied;
  fastcgi_temp_path {home}/fastcgi;
  uwsgi_temp_path {home}/uwsgi;
  scgi_temp_path {home}/scgi;
  add_header X-Served-By {host} always;
  server {{
    listen 80 backlog=4096;
    listen [::]:80 backlog=4096 ipv6only=on;
    root {documents};
    location /chunked/ {{ alias {documents}/; ssi on; ssi_types *; }}
    location /close/ {{
      alias {documents}/; ssi on; ssi_types *; chunked_transfer_encoding off;
    }}
    location /slow/ {{ alias {documents}/; limit_rate 64k; }}
    location /brief/ {{ alias {documents}/; keepalive_timeout 1s; }}
    location /put/ {{ alias {home}/put/; dav_methods PUT DELETE; create_full_put_path on; }}
    location /echo {{
      proxy_pass http://unix:{home}/echo.sock;
      sub_filter_types *;
      sub_filter '@body@' $request_body;
    }}
  }}
  server {{
    listen unix:{home}/echo.sock;
    location / {{ return 200 '@body@'; }}
  }}
}}
"
    )
}

/// Writes the files that the servers share.
pub(crate) fn write_documents(plan: &Plan) -> Result<(), Error> {
    let documents = state::folder(&plan.name).join(DOCUMENTS);
    fs::create_dir_all(&documents).map_err(Error::system("make the document root"))?;
    for file in &plan.files {
        let path = documents.join(file.path.trim_start_matches('/'));
        let doing = || format!("write {}", path.display());
        let above = path.parent().expect("it lies in the document root");
        fs::create_dir_all(above).map_err(Error::system(doing()))?;
        let out = fs::File::create(&path).map_err(Error::system(doing()))?;
        crate::content::write(&file.path, file.bytes, &mut std::io::BufWriter::new(out))
            .map_err(Error::system(doing()))?;
    }
    Ok(())
}

/// Starts the nginx of one server. When this returns it listens: nginx makes its sockets before
/// it goes to the background.
pub(crate) fn start(plan: &Plan, host: Host) -> Result<(), Error> {
    let bed = state::folder(&plan.name);
    let home = bed.join(host.to_string());
    let doing = || format!("write {}", home.display());
    fs::create_dir_all(home.join("put")).map_err(Error::system(doing()))?;
    let file = home.join("nginx.conf");
    let text = configuration(host, &bed.join(DOCUMENTS), &home);
    fs::write(&file, text).map_err(Error::system(doing()))?;
    let mut nginx = namespace::command(&plan.namespace(host), "nginx");
    nginx.arg("-p").arg(&home).arg("-c").arg(&file).arg("-e").arg(home.join("error.log"));
    namespace::run(&mut nginx)
}
