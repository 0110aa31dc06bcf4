//! Method: the admin interface over real sockets, asked by its own client, or by hand where the
//! client would be too well-behaved.

// A panic is how a test says no.
#![allow(clippy::unwrap_used)]

mod fake;

use control::view::{ExplainView, ServerReport, ServerState, Status};
use control::{
    Admin, Bind, BindError, Client, ClientError, Control, EjectionRule, ServerSpec, Supervisor,
    Token,
};
use fake::Fake;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const TOKEN: &str = "correct-horse-battery";

/// A switch with servers `a` and `b/c`, and its admin interface on a Unix socket and on TCP.
struct Running {
    switch: Arc<Fake>,
    supervisor: Arc<Supervisor>,
    unix: Client,
    tcp: SocketAddr,
    socket: PathBuf,
    control: Option<Control>,
    _directory: tempfile::TempDir,
}

impl Running {
    fn start() -> Self {
        let switch = Arc::new(Fake::new(&["a", "b/c"]));
        let supervisor = Supervisor::with_log(switch.clone(), Box::new(|_| ()));
        let spec = |name: &str| ServerSpec {
            name: name.to_owned(),
            address: "127.0.0.1:1".to_owned(),
            check: None,
            ejection: EjectionRule::default(),
            slow_start: Duration::ZERO,
        };
        supervisor.apply(vec![spec("a"), spec("b/c")]);
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("admin.sock");
        let unix = Admin::bind(&Bind::Unix(socket.clone())).unwrap();
        let local = "127.0.0.1:0".parse().unwrap();
        let tcp = Admin::bind(&Bind::Tcp(local, Token::new(TOKEN).unwrap())).unwrap();
        let address = tcp.address().unwrap();
        let control = Some(Control::start(supervisor.clone(), vec![unix, tcp]).unwrap());
        let unix = Client::Unix(socket.clone());
        Self { switch, supervisor, unix, tcp: address, socket, control, _directory: directory }
    }

    /// Sends `head` (and `body`) over TCP with the token and returns the whole reply.
    fn by_hand(&self, first_line: &str, fields: &str, body: &str) -> String {
        let fields = format!("Authorization: Bearer {TOKEN}\r\n{fields}");
        self.without_token(first_line, &fields, body)
    }

    fn without_token(&self, first_line: &str, fields: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.tcp).unwrap();
        let length = body.len();
        let request =
            format!("{first_line} HTTP/1.0\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }
}

fn refused(answer: Result<Value, ClientError>) -> (u16, String, String) {
    match answer {
        Err(ClientError::Refused { status, error, remedy }) => (status, error, remedy),
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn what_is_served_is_what_the_switch_says() {
    let running = Running::start();
    let get = |path| running.unix.get(path).unwrap();
    let status: Status = serde_json::from_value(get("/v1/status")).unwrap();
    assert_eq!(status, *running.switch.status.lock().unwrap());
    let servers: Vec<ServerReport> = serde_json::from_value(get("/v1/servers")).unwrap();
    assert_eq!(servers, running.supervisor.reports());
    assert_eq!(get("/v1/servers/b%2Fc")["name"], "b/c");
    assert_eq!(get("/v1/decisions?n=3").as_array().unwrap().len(), 3);
    assert_eq!(get("/v1/decisions").as_array().unwrap().len(), 50);
    let shown = |path| get(path)["connections"].as_array().unwrap().len();
    assert_eq!(shown("/v1/connections?n=3"), 3);
    assert_eq!(shown("/v1/connections"), 100);
    assert_eq!(shown("/v1/connections?n=20000"), 10_000);
    assert_eq!(get("/v1/connections?n=1")["open"], 20_000);
    assert_eq!(get("/v1/events")[0]["message"], "it is not checked");
    assert_eq!(get("/v1/events?n=1").as_array().unwrap().len(), 1);
    assert_eq!(get("/healthz")["healthy"], true);
    assert_eq!(get("/readyz")["ready"], true);
    let metrics = running.by_hand("GET /metrics", "", "");
    assert!(metrics.contains("content-type: application/openmetrics-text"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"));
}

#[test]
fn a_request_is_explained_with_its_method_query_and_headers() {
    let running = Running::start();
    let headers = ["Cookie: a=b; c".to_owned(), "X-Y:z".to_owned()];
    let answer = running.unix.explain("POST", "/p?q=1&r=ä", &headers).unwrap();
    let view: ExplainView = serde_json::from_value(answer).unwrap();
    assert_eq!(view.target, "POST /p?q=1&r=ä");
    assert_eq!(view.target_hash, "Cookie=a=b; c,X-Y=z");
    assert_eq!(refused(running.unix.explain("GET", "nonsense", &[])).0, 422);
    for path in ["/v1/explain", "/v1/explain?url=/&heder=x", "/v1/explain?url=/&header=x"] {
        assert_eq!(refused(running.unix.get(path)).0, 400, "{path}");
    }
}

#[test]
fn the_operator_drains_and_weighs_servers_and_it_is_written_down() {
    let running = Running::start();
    let answer = running.unix.drain("b/c", true).unwrap();
    assert_eq!((&answer["state"], &answer["name"]), (&json!("draining"), &json!("b/c")));
    assert_eq!(running.supervisor.reports()[1].standing.state, ServerState::Draining);
    assert_eq!(running.unix.drain("b/c", false).unwrap()["state"], "up");
    let both = json!({"weight": 3, "drain": true});
    let answer = running.unix.patch("/v1/servers/a", &both).unwrap();
    assert_eq!((&answer["state"], &answer["weight"]), (&json!("draining"), &json!(3)));
    let lines: Vec<_> = running.supervisor.events(4).iter().map(control::Event::line).collect();
    assert_eq!(
        lines,
        [
            "server a: up -> draining: the operator drains it",
            "server a: weight 1 -> weight 3: changed by the operator",
            "server b/c: draining -> up: the operator ended the drain",
            "server b/c: up -> draining: the operator drains it",
        ]
    );
}

#[test]
fn a_change_that_makes_no_sense_is_refused_and_changes_nothing() {
    let running = Running::start();
    let before = (running.supervisor.reports(), running.supervisor.events(usize::MAX));
    for (path, change, status) in [
        ("/v1/servers/nobody", json!({"drain": true}), 404),
        ("/v1/servers/a", json!({"weight": 0}), 422),
        ("/v1/servers/a", json!({"weight": 0, "drain": true}), 422),
        ("/v1/servers/a", json!({"weight": -1}), 400),
        ("/v1/servers/a", json!({"wait": 3}), 400),
        ("/v1/servers/a", json!({}), 400),
        ("/v1/servers/a", json!([]), 400),
        ("/v1/status", json!({"drain": true}), 405),
        ("/v2", json!({"drain": true}), 404),
    ] {
        let (found, error, remedy) = refused(running.unix.patch(path, &change));
        assert_eq!(found, status, "{path} {change}: {error}");
        assert!(!error.is_empty() && !remedy.is_empty(), "{path} {change}");
    }
    let (_, error, _) = refused(running.unix.drain("nobody", true));
    assert_eq!(error, "no server is called 'nobody'; there are: a, b/c");
    let fields = "Content-Type: text/plain\r\n";
    let reply = running.by_hand("PATCH /v1/servers/a", fields, "{\"drain\":true}");
    assert!(reply.starts_with("HTTP/1.0 400"), "a form of another site cannot do it: {reply}");
    let long = " ".repeat(20_000);
    let fields = "Content-Type: application/json\r\n";
    let reply = running.by_hand("PATCH /v1/servers/a", fields, &long);
    assert!(reply.starts_with("HTTP/1.0 400"), "{reply}");
    assert_eq!((running.supervisor.reports(), running.supervisor.events(usize::MAX)), before);
}

#[test]
fn reading_never_changes_anything() {
    let running = Running::start();
    let before = (running.supervisor.reports(), running.supervisor.events(usize::MAX));
    let told = running.switch.told.lock().unwrap().len();
    for path in [
        "/",
        "/page.css",
        "/page.js",
        "/metrics",
        "/healthz",
        "/readyz",
        "/v1/status",
        "/v1/servers",
        "/v1/servers/a",
        "/v1/decisions?n=5",
        "/v1/connections?n=5",
        "/v1/explain?url=/",
        "/v1/events",
    ] {
        let reply = running.by_hand(&format!("GET {path}"), "", "{\"drain\":true}");
        assert!(reply.starts_with("HTTP/1.0 200 OK"), "{path}: {reply}");
    }
    assert_eq!((running.supervisor.reports(), running.supervisor.events(usize::MAX)), before);
    assert_eq!(running.switch.told.lock().unwrap().len(), told);
}

#[test]
fn tcp_admits_nobody_without_the_token() {
    let running = Running::start();
    let client =
        |token: &str| Client::Tcp { address: running.tcp.to_string(), token: token.to_owned() };
    assert!(client(TOKEN).get("/v1/status").is_ok());
    assert_eq!(refused(client("correct-horse-batterz").get("/v1/status")).0, 401);
    assert_eq!(refused(client("wrong").drain("a", true)).0, 401);
    for path in ["/", "/metrics", "/healthz", "/readyz", "/v1/servers", "/page.js", "/none"] {
        let reply = running.without_token(&format!("GET {path}"), "", "");
        assert!(reply.starts_with("HTTP/1.0 401"), "{path}: {reply}");
        assert!(reply.contains("www-authenticate: Basic realm=\"baton\""), "{path}: {reply}");
        assert!(!reply.contains(TOKEN));
    }
    assert_eq!(running.supervisor.reports()[0].standing.state, ServerState::Up);
}

#[test]
fn readiness_follows_the_servers() {
    let running = Running::start();
    running.unix.drain("a", true).unwrap();
    assert!(running.unix.get("/readyz").is_ok());
    running.unix.drain("b/c", true).unwrap();
    let (status, error, _) = refused(running.unix.get("/readyz"));
    assert_eq!((status, error.as_str()), (503, "no server is up"));
    assert!(running.unix.get("/healthz").is_ok(), "the process is well all the same");
    running.unix.drain("a", false).unwrap();
    assert!(running.unix.get("/readyz").is_ok());
    running.supervisor.stopping();
    assert_eq!(refused(running.unix.get("/readyz")).0, 503);
}

#[test]
fn a_program_that_is_missing_is_seen_wherever_one_looks() {
    let running = Running::start();
    let metrics = running.by_hand("GET /metrics", "", "");
    for sample in ["attached{interface=\"eth0\"} 1.0", "restored_total{interface=\"eth0\"} 2"] {
        assert!(metrics.contains(&format!("baton_oneway_{sample}\n")), "{sample}: {metrics}");
    }
    let missing = |status: &mut Status| {
        let one = &mut status.oneway.as_mut().unwrap().interfaces[0];
        (one.attached, one.fault) = (false, Some("an agent has its <place>".to_owned()));
    };
    missing(&mut running.switch.status.lock().unwrap());
    let ready = running.unix.get("/readyz").unwrap();
    let note = ready["note"].as_str().unwrap();
    assert!(note.starts_with("interface eth0: the front-end's program is missing"), "{note}");
    assert!(note.ends_with(": an agent has its <place>"), "{note}");
    let page = running.by_hand("GET /", "", "");
    assert!(page.contains("an agent has its &lt;place&gt;"), "{page}");
    let metrics = running.by_hand("GET /metrics", "", "");
    assert!(metrics.contains("baton_oneway_attached{interface=\"eth0\"} 0.0\n"), "{metrics}");
}

#[test]
fn the_socket_is_for_its_owner_alone_and_goes_with_the_switch() {
    let mut running = Running::start();
    let mode = std::fs::metadata(&running.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = Admin::bind(&Bind::Unix(running.socket.clone())).unwrap_err();
    assert!(matches!(second, BindError::InUse(_)), "{second}");
    assert!(running.unix.get("/healthz").is_ok(), "the first is not disturbed");
    running.control.take().unwrap().stop();
    assert!(!running.socket.exists());
    let gone = running.unix.get("/healthz").unwrap_err().to_string();
    assert!(gone.contains("no baton answers on"), "{gone}");
}

#[test]
fn a_leftover_socket_is_replaced_and_another_file_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("admin.sock");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "the leftover of a crash");
    let admin = Admin::bind(&Bind::Unix(path.clone())).unwrap();
    // Another took the place meanwhile: what is not ours is left alone.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "precious").unwrap();
    drop(admin);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    let error = Admin::bind(&Bind::Unix(path.clone())).unwrap_err();
    assert!(matches!(error, BindError::NoSocket(_)), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    let nowhere = Admin::bind(&Bind::Unix(directory.path().join("none/admin.sock")));
    assert!(matches!(nowhere.unwrap_err(), BindError::Refused { .. }));
}

#[test]
fn a_port_that_is_taken_is_one_clear_sentence() {
    let running = Running::start();
    let bind = Bind::Tcp(running.tcp, Token::new(TOKEN).unwrap());
    let error = Admin::bind(&bind).unwrap_err().to_string();
    assert!(error.contains(&running.tcp.to_string()) && error.contains("in use"), "{error}");
}

#[test]
fn a_client_that_says_nothing_does_not_keep_the_switch_from_stopping() {
    let mut running = Running::start();
    let mut half = TcpStream::connect(running.tcp).unwrap();
    half.write_all(b"GET /healthz HTTP/1.1\r\nHost:").unwrap();
    // Once the interface has answered another, it has taken the silent one too.
    assert!(running.unix.get("/healthz").is_ok());
    let began = std::time::Instant::now();
    running.control.take().unwrap().stop();
    assert!(began.elapsed() < fake::LIMIT);
}

#[test]
fn the_page_is_whole_asks_nobody_else_and_shows_hostile_text_as_text() {
    let running = Running::start();
    let hostile = "<script>alert('x')</script>";
    running.switch.status.lock().unwrap().policy = hostile.to_owned();
    running.switch.servers.lock().unwrap()[0].address = hostile.to_owned();
    running
        .supervisor
        .note(control::Event { message: hostile.to_owned(), ..control::Event::default() });
    let reply = running.by_hand("GET /", "", "");
    let (head, page) = reply.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>"));
    assert!(!page.contains("alert('x')") && page.contains("&lt;script&gt;"), "{page}");
    assert!(!page.contains("http://") && !page.contains("https://"), "no external request");
    for shown in ["Healthy", "b/c", "affinity", "spill-overload", "images", "/v1/status"] {
        assert!(page.contains(shown), "{shown}");
    }
    let style = running.by_hand("GET /page.css", "", "");
    assert!(style.contains("prefers-color-scheme: dark"));
}
