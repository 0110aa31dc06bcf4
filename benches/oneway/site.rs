//! The test bed, and on it one way of delivery at a time: nothing of the others is left in the
//! kernel or runs beside it.

use crate::check;
use crate::client::{CONNECTIONS, THREADS};
use crate::counters::Counters;
use crate::measure::child::{Child, GLANCE, WITH_US, go_on};
use crate::measure::{Variant, fill, haproxy, text};
use crate::modes::{LOADS, Load, Mode, SIZES};
use anyhow::{Context, Result, bail, ensure};
use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use testbed::{File, Host, Plan, TestBed};

/// Port of all servers.
const PORT: u16 = 80;
/// Who may hand connections over on this bed.
const KEY: &str = "000102030405060708090a0b0c0d0e0f";
/// How long programs may take until the first right answer.
const START: Duration = Duration::from_secs(10);
/// Queries tried until each server has one: each falls to either with the same chance.
const QUERIES_MAX: usize = 64;
/// Requests of a connection that are looked at byte by byte.
const CHECKED: usize = 12;

/// The servers of the bed.
pub const SERVERS: [Host; 2] = [Host::Server(1), Host::Server(2)];

/// Two URLs of a file: one that the policy gives to the first server, one to the second.
#[derive(Clone, Debug)]
struct Urls {
    one: String,
    two: String,
}

/// The bed, with nothing at the front-end.
pub struct Site {
    dir: tempfile::TempDir,
    baton: PathBuf,
    bed: TestBed,
    urls: HashMap<&'static str, Urls>,
}

/// One way of delivery, ready and seen to work. It ends when this is dropped.
pub struct Stand<'a> {
    pub mode: Mode,
    pub address: SocketAddr,
    site: &'a Site,
    /// The front-end's program, then the agents.
    programs: Vec<Child>,
}

impl Site {
    /// Brings the bed up and learns which server has which URL.
    pub fn up(baton: PathBuf, initial_window: u16) -> Result<Self> {
        let sized = |load: &Load| File::new(load.path, load.bytes as u64);
        let files = LOADS.iter().chain(&SIZES).map(sized).collect();
        let plan = Plan { files, initial_window, ..Plan::new(2) };
        let bed = TestBed::up(&plan)?;
        // One request a connection takes a port for each.
        bed.set(Host::Client, "ipv4/ip_local_port_range", "1024 65535")?;
        bed.set(Host::Client, "ipv4/tcp_tw_reuse", "1")?;
        let dir = tempfile::Builder::new().prefix("bench-oneway-").tempdir()?;
        let mut site = Self { dir, baton, bed, urls: HashMap::new() };
        let stand = Stand::begin(&site, Mode::Relay, &LOADS[0])?;
        let learned = LOADS.iter().chain(&SIZES).map(|load| Ok((load.path, stand.learn(load)?)));
        let urls = learned.collect::<Result<_>>()?;
        drop(stand);
        site.urls = urls;
        Ok(site)
    }

    /// The bed itself.
    pub fn bed(&self) -> &TestBed {
        &self.bed
    }

    /// The build of Baton that is measured.
    pub fn baton(&self) -> &Path {
        &self.baton
    }

    /// Starts a program on a machine of the bed.
    pub fn start(&self, host: Host, name: &str, program: &[&str]) -> Result<Child> {
        let mut around = self.bed.command(host, WITH_US[0]);
        around.args(&WITH_US[1..]);
        Child::start(name, self.dir.path(), around, program)
    }

    /// What a client asks for over one connection, in order; from the second on again and again.
    pub fn paths(&self, mode: Mode, load: &Load) -> Vec<&str> {
        let Urls { one, two } = &self.urls[load.path];
        match mode {
            Mode::MultiHandoff => vec![one, two, one],
            Mode::Forward => vec![one, two],
            _ => vec![one],
        }
    }

    /// Sets a way of delivery up for a load, and sees that its bytes are right and that it does
    /// what it is called.
    pub fn stand(&self, mode: Mode, load: &Load) -> Result<Stand<'_>> {
        let stand = Stand::begin(self, mode, load)?;
        stand.check(load).with_context(|| {
            let said =
                stand.programs.iter().map(|child| format!("{}: {}", child.name, child.said()));
            format!("{} does not work:\n{}", mode.name(), said.collect::<String>())
        })?;
        Ok(stand)
    }

    /// Keeps a script for a program of the run, and gives its path.
    pub fn write_script(&self, script: &str) -> Result<String> {
        let path = self.dir.path().join("load.lua");
        fs::write(&path, script)?;
        Ok(text(&path))
    }

    fn address(&self, mode: Mode) -> SocketAddr {
        match mode {
            Mode::Direct => (self.bed.server(1).v4, PORT).into(),
            _ => (self.bed.vip().v4, PORT).into(),
        }
    }

    /// Writes the configuration of a machine's program, and gives its path.
    fn write(&self, mode: Mode, host: Host) -> Result<String> {
        let (one, two) = (self.bed.server(1).v4.to_string(), self.bed.server(2).v4.to_string());
        let (vip, dir) = (self.address(mode).to_string(), text(self.dir.path()));
        let pin = text(&self.pin(host));
        let template = match mode.is_one_way() {
            true => concat!(include_str!("baton.toml"), include_str!("oneway.toml")),
            false => include_str!("baton.toml"),
        };
        let values = [
            ("VIP", &*vip),
            ("DELIVERY", mode.name()),
            ("SERVER1", &*one),
            ("SERVER2", &*two),
            ("DIR", &*dir),
            ("INTERFACE", self.bed.interface()),
            ("KEY", KEY),
            ("PIN", &*pin),
        ];
        let path = self.dir.path().join(format!("{host}.toml"));
        fs::write(&path, fill(template, &values)?)?;
        Ok(text(&path))
    }

    fn pin(&self, host: Host) -> PathBuf {
        self.bed.pins(host).join("baton")
    }
}

impl<'a> Stand<'a> {
    /// Starts what the mode needs and waits for the first answer.
    fn begin(site: &'a Site, mode: Mode, load: &Load) -> Result<Self> {
        let mut stand = Self { mode, address: site.address(mode), site, programs: Vec::new() };
        if mode == Mode::HaProxy {
            let path = text(&site.dir.path().join("haproxy.cfg"));
            let (here, there) = (stand.address.to_string(), site.address(Mode::Direct).to_string());
            let mut values = vec![("BIND", &*here), ("SERVER", &*there)];
            values.extend(settings(load).values);
            fs::write(&path, fill(haproxy::TEMPLATE, &values)?)?;
            let haproxy = site.start(Host::Front, "haproxy", &["haproxy", "-db", "-f", &path])?;
            stand.programs.push(haproxy);
        } else if mode.is_ours() {
            let (baton, front) = (text(&site.baton), site.write(mode, Host::Front)?);
            let run = site.start(Host::Front, "baton", &[&baton, "run", "-c", &front])?;
            stand.programs.push(run);
            for server in SERVERS.into_iter().filter(|_| mode.is_one_way()) {
                let (name, path) = (format!("agent-{server}"), site.write(mode, server)?);
                let agent = site.start(server, &name, &[&baton, "agent", "-c", &path])?;
                stand.programs.push(agent);
            }
        }
        stand.wait(load)?;
        Ok(stand)
    }

    /// Waits until requests are answered.
    fn wait(&mut self, load: &Load) -> Result<()> {
        let begin = Instant::now();
        loop {
            self.programs.iter_mut().try_for_each(Child::must_run)?;
            // A switch relays until the agents have confirmed that connections are taken over.
            let said = self.programs.first().map(Child::said).unwrap_or_default();
            let confirmed = said.matches("confirmed: its agent").count();
            let ready = confirmed + 1 >= self.programs.len();
            if ready && self.ask(&[load.path], load).is_ok() {
                return Ok(());
            }
            if begin.elapsed() > START {
                self.ask(&[load.path], load).context("no right answer in time")?;
                bail!("an agent has not confirmed in time");
            }
            thread::sleep(GLANCE);
        }
    }

    /// Requests over one connection, from the client's machine.
    fn ask(&self, paths: &[&str], load: &Load) -> Result<Vec<String>> {
        go_on()?;
        let ask = || check::ask(self.address, paths, load.bytes, load.close);
        self.site.bed.enter(Host::Client, ask)?
    }

    /// Finds a URL of each server.
    fn learn(&self, load: &Load) -> Result<Urls> {
        let (mut one, mut two) = (None, None);
        for query in 0..QUERIES_MAX {
            let path = format!("{}?{query}", load.path);
            let servers = self.ask(&[&path], load)?;
            let place = if servers == ["server1"] { &mut one } else { &mut two };
            place.get_or_insert(path);
            if let (Some(one), Some(two)) = (&one, &two) {
                return Ok(Urls { one: one.clone(), two: two.clone() });
            }
        }
        bail!("one server has all of {QUERIES_MAX} URLs")
    }

    /// Every byte of some requests, who answered them, and what the switch says it did.
    pub fn check(&self, load: &Load) -> Result<()> {
        let paths = self.site.paths(self.mode, load);
        let rest = paths.iter().skip(1).cycle().take(CHECKED * usize::from(paths.len() > 1));
        let order: Vec<&str> = match load.close {
            true => vec![paths[0]; CHECKED],
            false if paths.len() == 1 => vec![paths[0]; CHECKED],
            false => [paths[0]].into_iter().chain(rest.copied()).collect(),
        };
        let before = self.counters()?;
        let servers = self.ask(&order, load)?;
        let did = self.counters()?.since(&before);
        let changes = servers.windows(2).filter(|two| two[0] != two[1]).count();
        let moving = self.mode == Mode::MultiHandoff && !load.close;
        let wanted = if moving { order.len() - 1 } else { 0 };
        if self.mode != Mode::Forward {
            ensure!(changes == wanted, "{changes} of {} changes of server: {servers:?}", wanted);
        }
        self.judge(&did, load, order.len() as u64)
    }

    /// Whether the switch's counters say that `requests` went the way that is to be measured.
    pub fn judge(&self, did: &Counters, load: &Load, requests: u64) -> Result<()> {
        let connections = match load.close {
            true => requests,
            false => (THREADS * CONNECTIONS) as u64 + 1,
        };
        // What was on its way when the time was over was counted on one side only.
        let most = |wanted: u64| wanted.saturating_sub(connections.min(wanted) + wanted / 50);
        let further = if load.close { 0 } else { requests };
        match self.mode {
            Mode::MultiHandoff => {
                ensure!(did.moved >= most(further), "{} of {further} requests moved", did.moved);
            }
            Mode::Forward => {
                ensure!(did.tagged >= most(further), "{} of {further} are tagged", did.tagged);
            }
            Mode::Splice => {
                let joined = self.programs.first().is_some_and(has_sockmap);
                ensure!(joined, "the switch joins no sockets in the kernel");
            }
            Mode::Handoff => ensure!(did.moved == 0, "{} requests moved", did.moved),
            Mode::Direct | Mode::Relay | Mode::HaProxy => {}
        }
        if self.mode.is_one_way() {
            ensure!(did.relayed == 0, "{} requests went through the relay", did.relayed);
            let asked = did.asked;
            // Each URL once, perhaps by a few connections at the same time.
            ensure!(asked <= connections.min(64) + requests / 100, "{asked} requests were asked");
        }
        Ok(())
    }

    /// What the switch has counted; nothing where there is none.
    pub fn counters(&self) -> Result<Counters> {
        match self.mode.is_ours() {
            true => Counters::read(&self.site.dir.path().join("admin.sock")),
            false => Ok(Counters::default()),
        }
    }

    /// CPU time so far of the program at the front-end, nanoseconds; `None` where there is none.
    pub fn front_cpu_ns(&self) -> Result<Option<u64>> {
        self.programs.first().map(Child::cpu_ns).transpose()
    }
}

impl Drop for Stand<'_> {
    fn drop(&mut self) {
        self.programs.clear();
        if !self.mode.is_one_way() {
            return;
        }
        // Programs in the kernel outlive those that loaded them, as they should.
        for host in [Host::Front, SERVERS[0], SERVERS[1]] {
            let mut tc = self.site.bed.command(host, "tc");
            tc.args(["qdisc", "del", "dev", self.site.bed.interface(), "clsact"]);
            // If it fails there was none; the bed takes all with it at its end.
            let _gone = quiet(&mut tc).status();
            let _unpinned = fs::remove_dir_all(self.site.pin(host));
        }
    }
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

/// Whether a program has a map of sockets that the kernel joins, by number as in <linux/bpf.h>.
fn has_sockmap(program: &Child) -> bool {
    const SOCKMAP: &str = "map_type:\t15";
    const SOCKHASH: &str = "map_type:\t18";
    let folder = fs::read_dir(format!("/proc/{}/fdinfo", program.id()));
    let mut files = folder.into_iter().flatten().flatten();
    files.any(|file| {
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        text.lines().any(|line| line == SOCKMAP || line == SOCKHASH)
    })
}

/// HAProxy's settings for a load.
pub fn settings(load: &Load) -> &'static Variant {
    let large = load.bytes >= 64 << 10;
    &haproxy::HAPROXY[if large { haproxy::LARGE } else { haproxy::SMALL }]
}
