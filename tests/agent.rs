//! The doctor and the agent as their operator meets them.
//!
//! Method: the real program. What has to change a host does so in a network name space of its own
//! (`unshare --net`), which ends with the process; where that is not allowed, it says so and
//! passes. The agent only reports here: what it attaches to the kernel is tested with that.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;

const BATON: &str = env!("CARGO_BIN_EXE_baton");
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a script in a network name space of its own; `None` where that is not allowed.
fn alone(script: &str) -> Option<Output> {
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-ec", script]);
    let allowed = Command::new("unshare").args(["--net", "true"]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        println!("skipped: no network name space can be made here; run as root");
        return None;
    }
    Some(command.env("BATON", BATON).output().unwrap())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_setting_is_named_first_and_set_only_when_asked_for() {
    let script = "
        echo 0 > /proc/sys/net/ipv4/tcp_syncookies
        $BATON doctor --role front || test $? = 1
        cat /proc/sys/net/ipv4/tcp_syncookies
        $BATON doctor --role front --fix || true
        cat /proc/sys/net/ipv4/tcp_syncookies
    ";
    let Some(output) = alone(script) else { return };
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    let (dry, wet) = said.split_once("\n0\n").expect("it was not set before it was asked for");
    assert!(dry.contains("fail     syncookies") && dry.contains("--fix would set"), "{dry}");
    assert!(wet.contains("ok       syncookies"), "{wet}");
    assert!(wet.contains("set net.ipv4.tcp_syncookies = 1"), "{wet}");
    assert!(wet.contains("/etc/sysctl.d/"), "{wet}");
    assert!(wet.ends_with("\n1\n"), "{wet}");
    assert!(!said.contains('\x1b'), "no colours where nobody looks");
}

#[test]
fn a_listener_of_mptcp_is_found_on_a_real_host() {
    let script = "
        ip link set lo up
        python3 -c '
import socket, subprocess, os
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
s.bind((\"0.0.0.0\", 8080)); s.listen(600)
subprocess.run([os.environ[\"BATON\"], \"doctor\", \"--json\", \"--port\", \"8080\"])'
    ";
    let Some(output) = alone(script) else { return };
    let Ok(answer) = serde_json::from_slice::<serde_json::Value>(&output.stdout) else {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return;
    };
    let checks = answer["checks"].as_array().unwrap();
    let check = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
    assert_eq!(check("mptcp")["verdict"], "fail");
    assert_eq!(check("mptcp")["settings"][0], "net.mptcp.enabled = 0");
    assert_eq!(check("listener")["verdict"], "ok");
}

#[test]
fn a_configuration_tells_the_doctor_the_site() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("baton.toml");
    let text = "[oneway]\ninterfaces = [\"nowhere0\"]\nkey = \"000102030405060708090a0b0c0d0e0f\"\n\
                network = \"routed\"\n[listen.web]\naddress = \"192.0.2.100:80\"\n\
                delivery = \"handoff\"\n[server.a]\naddress = \"192.0.2.11:80\"\n";
    std::fs::write(&path, text).unwrap();
    let mut command = Command::new(BATON);
    let output = command.args(["doctor", "--role", "server", "-c"]).arg(&path).output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("there is no nowhere0"), "{said}");
    assert!(said.contains("192.0.2.100 is not an address of this host"), "{said}");
    assert!(said.contains("nobody takes 192.0.2.100 port 80"), "{said}");
    assert!(said.contains("behind routers"), "{said}");
    let flags = ["doctor", "--role", "server", "--vip", "192.0.2.7", "-c"];
    let output = Command::new(BATON).args(flags).arg(&path).output().unwrap();
    assert!(self::said(&output).contains("192.0.2.7 is not"), "flags count for more");
}

/// An agent that reports; killed at the end of its test.
struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Running {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new(BATON);
        command.args(["agent", "--report-only", "--listen", "127.0.0.1:0"]).args(args);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        // The doctor's words come first.
        while !line.contains("listens on") {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "the agent has ended");
        }
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        Self { child, stderr, address }
    }

    /// Asks until the answer is as wanted.
    fn until(&self, wanted: impl Fn(&agent::LoadReport) -> bool) -> agent::LoadReport {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let asking = async {
                loop {
                    let asked = agent::client::fetch_load(&self.address, PATIENCE).await;
                    let report = asked.unwrap();
                    if wanted(&report) {
                        return report;
                    }
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(PATIENCE, asking).await.expect("the agent comes to say so")
        })
    }
}

#[test]
fn an_agent_reports_of_this_machine_until_it_is_told_to_end() {
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    let served: SocketAddr = web.local_addr().unwrap();
    let mut agent = Running::start(&["--server", &served.to_string()]);
    let report = agent.until(|report| report.period_s > 0.0);
    assert_eq!(report.server, served.to_string());
    assert!(report.healthy && report.unread.is_empty(), "{report:?}");
    assert!(report.cpu_busy.is_some_and(|share| (0.0..=1.0).contains(&share)), "{report:?}");
    assert!(report.accept_backlog.is_some_and(|places| places > 0), "{report:?}");
    assert!(report.report(policy::Instant::ZERO).is_some());
    drop(web);
    let report = agent.until(|report| !report.healthy);
    assert!(report.accept_backlog.is_none(), "nobody listens: {report:?}");

    let term = rustix::process::Signal::TERM;
    let pid = rustix::process::Pid::from_child(&agent.child);
    rustix::process::kill_process(pid, term).unwrap();
    assert!(agent.child.wait().unwrap().success());
    let mut rest = String::new();
    agent.stderr.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("pinned"), "it had nothing in the kernel: {rest}");
}

#[test]
fn an_agent_finds_its_server_in_the_configuration_by_this_hosts_addresses() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("baton.toml");
    let write = |servers: &str| {
        let text = format!("[listen.web]\naddress = \"127.0.0.1:0\"\n{servers}");
        std::fs::write(&path, text).unwrap();
    };
    let path = path.to_str().unwrap();
    let far = "[server.far]\naddress = \"192.0.2.11:80\"\nagent = \"192.0.2.11:7118\"\n";
    write(&format!("{far}[server.near]\naddress = \"127.0.0.1:9\"\n"));
    let agent = Running::start(&["-c", path]);
    assert_eq!(agent.until(|_| true).server, "near");
    drop(agent);

    let refused = |args: &[&str]| {
        let listen = ["agent", "--report-only", "--listen", "127.0.0.1:0", "-c", path];
        let output = Command::new(BATON).args(listen).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused(&["--server", "x"]).contains("there is no server x; known: far, near"));
    write(far);
    assert!(refused(&[]).contains("no server has an address of this host"));
    write("[server.a]\naddress = \"127.0.0.1:9\"\n[server.b]\naddress = \"127.0.0.1:8\"\n");
    assert!(refused(&[]).contains("several servers are on this host; say which with --server: a"));
}

#[test]
fn an_agent_refuses_to_start_where_connections_could_not_be_taken_over() {
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("key");
    std::fs::write(&key, "000102030405060708090a0b0c0d0e0f\n").unwrap();
    let flags = ["--vip", "192.0.2.100:80", "--interface", "nowhere0", "--server", "127.0.0.1:9"];
    let mut command = Command::new(BATON);
    command.args(["agent", "--listen", "127.0.0.1:0", "--key-file"]).arg(&key).args(flags);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("do:  ip address add 192.0.2.100/32 dev lo"), "{said}");
    assert!(said.contains("could not be taken over here"), "{said}");

    std::fs::write(&key, "secret\n").unwrap();
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("32 hexadecimal digits") && !said.contains("secret"), "{said}");
}

/// What an agent leaves on its interface and in the bpffs, at each step of its life.
const LIFE: &str = r#"
PIN=/sys/fs/bpf/baton-agent-test-$$; DIR=$(mktemp -d); AGENT=
end() { test -z "$AGENT" || kill -9 $AGENT 2>/dev/null || true; rm -rf $PIN $DIR; }
trap end EXIT
grep -q '/sys/fs/bpf bpf' /proc/self/mounts || { echo "skipped: no bpffs"; exit 0; }
ip link set lo up
ip link add v0 type veth peer name v1
ip link set v0 up; ip link set v1 up
ip address add 10.9.0.2/24 dev v0; ip address add 192.0.2.100/32 dev lo
echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore
echo 2 > /proc/sys/net/ipv4/conf/all/arp_announce
echo 000102030405060708090a0b0c0d0e0f > $DIR/key
run() {
    exec $BATON agent --vip 192.0.2.100:80 --interface v0 --server 10.9.0.2:80 --pin $PIN \
        --listen 127.0.0.1:7118 --key-file $DIR/key "$@"
}
start() {
    run 2> $DIR/log & AGENT=$!
    for turn in $(seq 200); do
        grep -q "listens on" $DIR/log && return
        kill -0 $AGENT 2>/dev/null || break
        sleep 0.05
    done
    cat $DIR/log; exit 1
}
left() {
    echo "$1: in $(tc filter show dev v0 ingress | grep -c back_ingress)" \
        "out $(tc filter show dev v0 egress | grep -c back_egress)" \
        "tables $(ls $PIN/back 2>/dev/null | grep -c listeners)"
}
left before
start; left runs
kill -9 $AGENT; wait $AGENT || true; left killed
start; left again
kill $AGENT; wait $AGENT; echo "code $?"; left ended
(run --detach); AGENT=; left detached
"#;

#[test]
fn the_kernels_programs_stay_whatever_becomes_of_the_agent_until_they_are_taken_away() {
    if !cfg!(feature = "oneway") {
        println!("skipped: built without one-way delivery");
        return;
    }
    let Some(output) = alone(LIFE) else { return };
    let (said, wrong) = (said(&output), String::from_utf8_lossy(&output.stderr).into_owned());
    if said.contains("skipped: ") {
        println!("{said}");
        return;
    }
    let expected = "\
before: in 0 out 0 tables 0
runs: in 1 out 1 tables 1
killed: in 1 out 1 tables 1
again: in 1 out 1 tables 1
code 0
ended: in 1 out 1 tables 1
detached: in 0 out 0 tables 0
";
    assert_eq!(said, expected, "{wrong}");
}

#[test]
fn the_document_has_every_check() {
    let root = env!("CARGO_MANIFEST_DIR");
    let document = std::fs::read_to_string(format!("{root}/docs/agent.md")).unwrap();
    for check in agent::doctor::CHECKS {
        let row = document.lines().find(|line| line.starts_with(&format!("| `{}` |", check.name)));
        let row = row.unwrap_or_else(|| panic!("docs/agent.md has no row on {}", check.name));
        let who = row.split('|').nth(2).unwrap_or_default();
        for (role, letter) in
            [(agent::doctor::Role::Front, 'F'), (agent::doctor::Role::Server, 'S')]
        {
            assert_eq!(check.roles.contains(&role), who.contains(letter), "{row}");
        }
    }
}
