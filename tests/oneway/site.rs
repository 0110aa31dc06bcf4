//! A site with one-way delivery: a switch and agents, all of them processes, beside unmodified
//! servers.

use crate::client::Client;
use crate::process::Running;
use control::Client as Admin;
use control::view::{OnewayView, ServerReport, Status};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use serde::de::DeserializeOwned;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use testbed::{File, Host, Plan, TestBed, Variant};

/// Nothing here takes this long.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The agents' port.
pub const PORT: u16 = 7118;

/// What a site is to be like; what is empty is left out.
#[derive(Clone)]
pub struct Setup {
    pub servers: u16,
    pub variant: Variant,
    pub delivery: &'static str,
    /// Below `[policy]`.
    pub policy: &'static str,
    /// Below `[oneway]`.
    pub oneway: &'static str,
    /// Tables of their own; `FOLDER` is one of the site's.
    pub more: String,
    /// Whether servers are checked, ten times a second.
    pub checked: bool,
    /// Servers whose agent has another key than the switch.
    pub wrong: &'static [u16],
    /// Servers whose agent is not started.
    pub absent: &'static [u16],
}

impl Setup {
    pub fn new(delivery: &'static str, policy: &'static str) -> Self {
        Self {
            servers: 2,
            variant: Variant::Bridge,
            delivery,
            policy,
            oneway: "",
            more: String::new(),
            checked: false,
            wrong: &[],
            absent: &[],
        }
    }

    /// The configuration, with these servers.
    pub fn text(&self, bed: &TestBed, servers: impl IntoIterator<Item = u16>) -> String {
        let (vip, pin) = (bed.vip(), bed.pins(Host::Front));
        let network = match self.variant {
            Variant::Bridge => "neighbours",
            Variant::Routed => "routed",
        };
        let health = match self.checked {
            true => "interval = \"100ms\"\ntimeout = \"1s\"\nfall = 3\nrise = 1\n",
            false => "kind = \"off\"\n",
        };
        let mut text = format!(
            "workers = 2\n[listen.web]\naddress = [\"{}:80\", \"[{}]:80\"]\ndelivery = \"{}\"\n\
             [policy]\n{}\n[health]\n{health}[ejection]\nfailures = \"off\"\n\
             [slow_start]\ntime = \"off\"\n{}\n",
            vip.v4, vip.v6, self.delivery, self.policy, self.more
        );
        for number in servers {
            let own = bed.server(number).v4;
            text += &format!(
                "[server.server{number}]\naddress = \"{own}:80\"\nagent = \"{own}:{PORT}\"\n"
            );
        }
        if !["relay", "splice"].contains(&self.delivery) || !self.oneway.is_empty() {
            text += &format!(
                "[oneway]\ninterfaces = [\"{}\"]\nkey = \"000102030405060708090a0b0c0d0e0f\"\n\
                 network = \"{network}\"\npin = \"{}\"\n{}\n",
                bed.interface(),
                pin.display(),
                self.oneway
            );
        }
        text
    }
}

pub struct Site {
    /// First: processes end before their machines do.
    agents: Vec<Option<Running>>,
    pub switch: Option<Running>,
    pub folder: tempfile::TempDir,
    pub setup: Setup,
    pub bed: TestBed,
}

impl Site {
    pub fn up(setup: Setup) -> Self {
        let plan = Plan { files: files(), ..Plan::new(setup.servers).wired(setup.variant) };
        let bed = TestBed::up(&plan).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut site = Self { agents: Vec::new(), switch: None, folder, bed, setup };
        site.write(1..=site.setup.servers);
        for number in 1..=site.setup.servers {
            let starts = !site.setup.absent.contains(&number);
            let agent = starts.then(|| site.agent(number));
            site.agents.push(agent);
        }
        site.start_switch();
        site
    }

    /// Writes the configuration, with these servers.
    pub fn write(&self, servers: impl IntoIterator<Item = u16>) {
        let text = self.setup.text(&self.bed, servers);
        let text = text.replace("FOLDER", &self.folder.path().display().to_string());
        std::fs::write(self.folder.path().join("baton.toml"), text).unwrap();
    }

    /// Has the switch read the configuration anew, and waits until it has.
    pub fn reload(&self) {
        let reloads = |status: &Status| status.config.reloads_ok + status.config.reloads_failed;
        let before = reloads(&self.status());
        self.switch.as_ref().unwrap().signal(Signal::HUP);
        let status = self.status_when(|status| reloads(status) > before);
        let last = status.config.reload_last.unwrap();
        assert!(last.ok, "{}", last.message);
    }

    pub fn run(&self) -> Command {
        let mut run = self.bed.command(Host::Front, env!("CARGO_BIN_EXE_baton"));
        run.arg("run").arg("-c").arg(self.folder.path().join("baton.toml"));
        run.arg("--admin").arg(self.socket());
        run
    }

    pub fn start_switch(&mut self) {
        let started = Running::start(self.run(), "web listens on");
        self.switch = Some(started.unwrap_or_else(|said| panic!("it has ended: {said}")));
    }

    /// The death of the switch, which nobody could foresee.
    pub fn kill_switch(&mut self) {
        self.switch = None;
    }

    fn agent(&self, number: u16) -> Running {
        let host = Host::Server(number);
        let mut command = self.bed.command(host, env!("CARGO_BIN_EXE_baton"));
        command.arg("agent").arg("-c").arg(self.folder.path().join("baton.toml"));
        command.arg("--pin").arg(self.bed.pins(host));
        if self.setup.wrong.contains(&number) {
            let path = self.folder.path().join("wrong.key");
            std::fs::write(&path, "ffeeddccbbaa99887766554433221100").unwrap();
            command.arg("--key-file").arg(path);
        }
        let started = Running::start(command, "listens on");
        started.unwrap_or_else(|said| panic!("the agent has ended: {said}"))
    }

    pub fn kill_agent(&mut self, number: u16) {
        self.agents[usize::from(number) - 1] = None;
    }

    pub fn start_agent(&mut self, number: u16) {
        self.agents[usize::from(number) - 1] = Some(self.agent(number));
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("admin.sock")
    }

    pub fn admin(&self) -> Admin {
        Admin::Unix(self.socket())
    }

    /// A command of the operator, such as `status`.
    pub fn ask(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        command.args(words).arg("--admin").arg(self.socket()).output().unwrap()
    }

    /// A page of the admin interface, such as `/metrics`.
    pub fn page(&self, path: &str) -> String {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: baton\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    }

    /// A sample of the metrics page; 0 for one that is not there.
    pub fn metric(&self, name: &str) -> f64 {
        let page = self.page("/metrics");
        let found = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.map_or(0.0, |value| value.parse().unwrap())
    }

    fn read<T: DeserializeOwned>(&self, path: &str) -> T {
        serde_json::from_value(self.admin().get(path).unwrap()).unwrap()
    }

    pub fn status(&self) -> Status {
        self.read("/v1/status")
    }

    pub fn servers(&self) -> Vec<ServerReport> {
        self.read("/v1/servers")
    }

    pub fn decisions(&self) -> Vec<control::view::DecisionView> {
        self.read("/v1/decisions?n=1000")
    }

    /// The status, as soon as that is as wanted.
    pub fn status_when(&self, wanted: impl Fn(&Status) -> bool) -> Status {
        until(|| {
            let status = self.status();
            if wanted(&status) { Ok(status) } else { Err(format!("{:?}", status.oneway)) }
        })
    }

    /// What the switch says of one-way delivery, as soon as that is as wanted.
    pub fn oneway(&self, wanted: impl Fn(&OnewayView) -> bool) -> OnewayView {
        let status = self.status_when(|status| status.oneway.as_ref().is_some_and(&wanted));
        status.oneway.unwrap()
    }

    /// Waits until every server has the standing that it is to have.
    pub fn stands(&self, wanted: &[&str]) -> OnewayView {
        self.oneway(|view| {
            view.servers.iter().map(|one| one.standing.as_str()).eq(wanted.iter().copied())
        })
    }

    /// The servers, as soon as they are as wanted.
    pub fn servers_when(&self, wanted: impl Fn(&[ServerReport]) -> bool) -> Vec<ServerReport> {
        until(|| {
            let servers = self.servers();
            if wanted(&servers) { Ok(servers) } else { Err(format!("{servers:?}")) }
        })
    }

    /// Waits until nobody has any load, in all books.
    pub fn is_at_rest(&self) {
        let rest = |server: &ServerReport| server.server.load == 0.0;
        self.oneway(|view| view.open() == 0);
        self.servers_when(|servers| servers.iter().all(rest));
    }

    /// A connection to the site's IPv4 address.
    pub fn client(&self) -> Client {
        self.client_of(self.bed.vip().v4.into())
    }

    pub fn client_of(&self, vip: IpAddr) -> Client {
        self.clients_of(vip, 1).remove(0)
    }

    pub fn clients(&self, count: usize) -> Vec<Client> {
        self.clients_of(self.bed.vip().v4.into(), count)
    }

    pub fn clients_of(&self, vip: IpAddr, count: usize) -> Vec<Client> {
        let vip = SocketAddr::from((vip, 80));
        let connect = || -> Vec<TcpStream> {
            let one = |_| TcpStream::connect_timeout(&vip, PATIENCE).unwrap();
            (0..count).map(one).collect()
        };
        let streams = self.bed.enter(Host::Client, connect).unwrap();
        streams.into_iter().map(Client::new).collect()
    }

    /// Commands for `ip` on a machine.
    pub fn ip(&self, host: Host, words: &str) {
        let mut command = self.bed.command(host, "ip");
        assert!(command.args(words.split(' ')).status().unwrap().success(), "ip {words}");
    }

    /// Ends the Web server of a machine: its connections go with it.
    pub fn stop_server(&self, number: u16) {
        let pid = std::fs::read_to_string(self.home(number).join("nginx.pid")).unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        let own = SocketAddr::from((self.bed.server(number).v4, 80));
        let gone = || TcpStream::connect_timeout(&own, PATIENCE).is_err();
        until(|| match self.bed.enter(Host::Server(number), gone).unwrap() {
            true => Ok(()),
            false => Err("it goes on listening".to_owned()),
        });
    }

    pub fn start_server(&self, number: u16) {
        let mut nginx = self.bed.command(Host::Server(number), "nginx");
        let home = self.home(number);
        nginx.arg("-p").arg(&home).arg("-c").arg(home.join("nginx.conf"));
        let status = nginx.arg("-e").arg(home.join("error.log")).status().unwrap();
        assert!(status.success(), "{status}");
    }

    fn home(&self, number: u16) -> PathBuf {
        let host = Host::Server(number);
        let pins = self.bed.pins(host);
        pins.ancestors().nth(2).unwrap().join(host.to_string())
    }
}

/// Asks until there is an answer.
pub fn until<T>(mut ask: impl FnMut() -> Result<T, String>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match ask() {
            Ok(found) => return found,
            Err(why) => assert!(Instant::now() < end, "it never came to be: {why}"),
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The files of every server.
pub fn files() -> Vec<File> {
    let sizes = [0, 1, 300, 1500, 4 << 10, 16 << 10, 64 << 10, 300_000];
    (0..24).map(|turn| File::new(&format!("/f{turn}"), sizes[turn % sizes.len()])).collect()
}

/// Lets this process have as many files open as it may.
pub fn many_files() -> usize {
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).unwrap();
    most.map_or(usize::MAX, |most| usize::try_from(most).unwrap())
}
