//! A site whose connections are forwarded: a switch and two agents, all of them processes, beside
//! unmodified servers; and a client that looks at every byte.

use agent::{Forwarding, LoadReport};
use control::Client as Admin;
use control::view::{OnewayView, Status};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use testbed::{File, Host, Plan, TestBed, Variant};

/// Nothing here takes this long.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The agents' port, and so that of their relays.
const PORT: u16 = 7118;

pub struct Site {
    /// First: processes end before their machines do.
    agents: [Option<Running>; 2],
    _switch: Running,
    folder: tempfile::TempDir,
    pub bed: TestBed,
    pub files: [Vec<File>; 2],
}

/// A process, killed when dropped.
struct Running {
    child: Child,
    said: Receiver<String>,
}

impl Running {
    /// Starts it and waits until it says so.
    fn start(mut command: Command, ready: &str) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        while !said.contains(ready) {
            let line = lines.next().and_then(Result::ok);
            said += &line.unwrap_or_else(|| panic!("it has ended: {said}"));
            said.push('\n');
        }
        let (tell, said) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).all(|line| tell.send(line).is_ok()));
        Self { child, said }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Site {
    /// Requests below `/one/` are for the first server, those below `/two/` for the second.
    /// Rules of `more` come first.
    pub fn up(variant: Variant, more: &str) -> Self {
        let sizes = [("0", 0), ("1500", 1500), ("64k", 64 << 10), ("1m", 1 << 20)];
        let files = ["one", "two"].map(|part| {
            let of = |(name, bytes)| File::new(&format!("/{part}/{name}"), bytes);
            sizes.map(of).to_vec()
        });
        let plan = Plan { files: files.concat(), ..Plan::new(2).wired(variant) };
        let bed = TestBed::up(&plan).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("baton.toml"), configuration(&bed, more)).unwrap();
        let agents = [1, 2].map(|number| Some(agent(&bed, &folder, number)));
        let mut run = bed.command(Host::Front, env!("CARGO_BIN_EXE_baton"));
        run.arg("run").arg("-c").arg(folder.path().join("baton.toml"));
        run.arg("--admin").arg(folder.path().join("admin.sock"));
        let switch = Running::start(run, "web listens on");
        Self { agents, _switch: switch, folder, bed, files }
    }

    /// A connection to the site's IPv4 address.
    pub fn client(&self) -> Client {
        self.client_of(self.bed.vip().v4.into())
    }

    pub fn client_of(&self, vip: IpAddr) -> Client {
        let vip = SocketAddr::from((vip, 80));
        let connect = || TcpStream::connect_timeout(&vip, PATIENCE);
        let stream = self.bed.enter(Host::Client, connect).unwrap().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client(BufReader::new(stream))
    }

    /// What an agent says, as soon as that is as wanted.
    pub fn load(&self, number: u16, wanted: impl Fn(&LoadReport) -> bool + Sync) -> LoadReport {
        let address = format!("{}:{PORT}", self.bed.server(number).v4);
        let asking = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let end = Instant::now() + PATIENCE;
                loop {
                    let load = agent::client::fetch_load(&address, PATIENCE).await.unwrap();
                    if wanted(&load) {
                        return load;
                    }
                    assert!(Instant::now() < end, "it never came to be: {load:?}");
                    tokio::task::yield_now().await;
                }
            })
        };
        self.bed.enter(Host::Server(number), asking).unwrap()
    }

    /// What the relay of a server did.
    pub fn forwarding(&self, number: u16) -> Forwarding {
        self.load(number, |_| true).forwarding.unwrap()
    }

    /// What its relay has done, as soon as the servers have answered so many requests: the client
    /// may have the last reply before that is counted.
    pub fn forwarded(&self, number: u16, answered: [u64; 2]) -> Forwarding {
        let peers = |load: &LoadReport| load.forwarding.clone().unwrap().peers;
        let requests = |load: &LoadReport| peers(load).into_iter().map(|peer| peer.requests);
        self.load(number, |load| requests(load).eq(answered)).forwarding.unwrap()
    }

    /// An agent's page of metrics.
    pub fn metrics(&self, number: u16) -> String {
        let address = SocketAddr::from((self.bed.server(number).v4, PORT));
        let asking = || {
            let mut stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
            let mut page = String::new();
            stream.read_to_string(&mut page).unwrap();
            page
        };
        self.bed.enter(Host::Server(number), asking).unwrap()
    }

    /// What the switch says of one-way delivery, as soon as that is as wanted.
    pub fn oneway(&self, wanted: impl Fn(&OnewayView) -> bool) -> OnewayView {
        self.status(|status| wanted(status.oneway.as_ref().unwrap())).oneway.unwrap()
    }

    /// What it says of itself, as soon as that is as wanted.
    pub fn status(&self, wanted: impl Fn(&Status) -> bool) -> Status {
        let admin = Admin::Unix(self.folder.path().join("admin.sock"));
        let end = Instant::now() + PATIENCE;
        loop {
            let status: Status = serde_json::from_value(admin.get("/v1/status").unwrap()).unwrap();
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < end, "it never came to be: {status:?}");
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// The death of an agent, which nobody could foresee.
    pub fn kill_agent(&mut self, number: u16) {
        self.agents[usize::from(number) - 1] = None;
    }

    pub fn start_agent(&mut self, number: u16) {
        self.agents[usize::from(number) - 1] = Some(agent(&self.bed, &self.folder, number));
    }

    /// Has an agent read the file again, of which it will say this.
    pub fn reload_agent(&self, number: u16, said: &str) {
        let agent = self.agents[usize::from(number) - 1].as_ref().unwrap();
        kill_process(Pid::from_child(&agent.child), Signal::HUP).unwrap();
        loop {
            if agent.said.recv_timeout(PATIENCE).unwrap().contains(said) {
                return;
            }
        }
    }

    /// Ends the Web server of a machine.
    pub fn stop_server(&self, number: u16) {
        let host = Host::Server(number);
        let home = self.bed.pins(host);
        let home = home.ancestors().nth(2).unwrap().join(host.to_string());
        let pid = std::fs::read_to_string(home.join("nginx.pid")).unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        let address = SocketAddr::from((self.bed.server(number).v4, 80));
        let end = Instant::now() + PATIENCE;
        let gone = || TcpStream::connect_timeout(&address, PATIENCE).is_err();
        while !self.bed.enter(host, gone).unwrap() {
            assert!(Instant::now() < end, "it goes on listening");
        }
    }
}

fn agent(bed: &TestBed, folder: &tempfile::TempDir, number: u16) -> Running {
    let host = Host::Server(number);
    let mut command = bed.command(host, env!("CARGO_BIN_EXE_baton"));
    command.arg("agent").arg("-c").arg(folder.path().join("baton.toml"));
    command.arg("--pin").arg(bed.pins(host));
    Running::start(command, "listens on")
}

fn configuration(bed: &TestBed, more: &str) -> String {
    let (vip, interface) = (bed.vip(), bed.interface());
    let network = match bed.plan().variant {
        Variant::Bridge => "neighbours",
        Variant::Routed => "routed",
    };
    let pin: PathBuf = bed.pins(Host::Front);
    let servers: String = [1, 2]
        .map(|number| {
            let own = bed.server(number).v4;
            let agent = format!("agent = \"{own}:{PORT}\"");
            format!("[server.server{number}]\naddress = \"{own}:80\"\n{agent}\n")
        })
        .concat();
    format!(
        "workers = 2
[listen.web]
address = [\"{}:80\", \"[{}]:80\"]
delivery = \"forward\"
{servers}
[policy]
name = \"static-partition\"
partition = {{ static = [\"server1\"], cpu = [\"server2\"] }}
{more}[[rule]]
path_prefix = [\"/two/\", \"/echo2\"]
class = \"cpu\"
[health]
kind = \"off\"
[ejection]
failures = \"off\"
[oneway]
interfaces = [\"{interface}\"]
key = \"000102030405060708090a0b0c0d0e0f\"
agent_period = \"100ms\"
network = \"{network}\"
pin = \"{}\"
",
        vip.v4,
        vip.v6,
        pin.display()
    )
}

/// A connection of a client.
pub struct Client(BufReader<TcpStream>);

/// A reply: head and body.
pub struct Reply(pub String, pub Vec<u8>);

impl Reply {
    /// Whether it is a file, whole and right, and whose.
    pub fn is(&self, file: &File, server: &str) {
        assert!(self.0.starts_with("HTTP/1.1 200 "), "{}", self.0);
        assert_eq!(self.server(), server, "{}", file.path);
        assert_eq!(self.1.len() as u64, file.bytes, "{}", file.path);
        assert!(testbed::content::verify(&file.path, 0, &self.1), "other bytes: {}", file.path);
    }

    pub fn server(&self) -> &str {
        let mut lines = self.0.lines();
        lines.find_map(|line| line.strip_prefix("X-Served-By: ")).expect("a server says who it is")
    }
}

impl Client {
    /// Sends it, in one segment if it fits.
    pub fn send(&mut self, request: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(request.as_ref()).unwrap();
    }

    /// Asks for a file, which a server is to answer.
    pub fn fetch(&mut self, file: &File, server: &str) {
        self.send(get(&file.path));
        self.reply().unwrap().is(file, server);
    }

    /// The next reply, to anything but HEAD; `None` when the connection ends before.
    pub fn reply(&mut self) -> Option<Reply> {
        let head = self.head()?;
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let mut body = Vec::new();
        match length {
            Some(length) => {
                body.resize(length.parse().unwrap(), 0);
                self.0.read_exact(&mut body).ok()?;
            }
            None => while self.chunk(&mut body)? {},
        }
        Some(Reply(head, body))
    }

    pub fn head(&mut self) -> Option<String> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        Some(head)
    }

    /// One chunk; false: it was the last.
    fn chunk(&mut self, body: &mut Vec<u8>) -> Option<bool> {
        let mut line = String::new();
        self.0.read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.trim_end(), 16).ok()?;
        let mut piece = vec![0; size + 2];
        self.0.read_exact(&mut piece).ok()?;
        body.extend_from_slice(&piece[..size]);
        Some(size > 0)
    }
}

pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: bed\r\n\r\n")
}
