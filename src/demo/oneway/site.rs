//! The site that is shown: a test bed with unmodified nginx, the switch on its front-end and an
//! agent on each server, all as processes of this very program. It ends with the value.

use super::Plot;
use super::program::{Program, go_on, wait};
use anyhow::{Context, Result};
use control::Client;
use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use testbed::{Both, File, Host, Plan, TestBed, Variant};

/// Servers of the bed: enough to move on to another one than before.
pub(super) const SERVERS: u16 = 3;
/// Where clients connect to be handed over, and to be relayed.
const PORT: u16 = 80;
const RELAY_PORT: u16 = 8080;
/// Where agents answer.
const AGENT_PORT: u16 = 7118;
/// The UDP port of envelopes.
pub(super) const ENVELOPE_PORT: u16 = 7117;
/// The pages of the demonstration, with their lengths in bytes: each fits a segment, so that the
/// diagram stays small.
pub(super) const PAGES: [(&str, u64); 4] =
    [("/index.html", 1100), ("/news.html", 900), ("/style.css", 700), ("/logo.svg", 1000)];

/// The running site. Fields are dropped in this order.
pub(super) struct Site {
    /// The switch, then the agents: held to be ended.
    programs: Vec<Program>,
    /// The switch's admin interface.
    pub(super) admin: Client,
    /// The machines.
    pub(super) bed: TestBed,
    /// The configuration.
    file: PathBuf,
    key: String,
    v6: bool,
}

impl Site {
    /// Makes the bed, writes the configuration to `plot.out`, starts agents and switch, and waits
    /// until they are ready. The switch logs every request: so it says what it decided.
    ///
    /// # Errors
    /// When something is missing or does not start; [`testbed::Error::Interrupted`].
    pub(super) fn up(plot: &Plot, stop: &AtomicBool) -> Result<Self> {
        let variant = if plot.routed { Variant::Routed } else { Variant::Bridge };
        let mut plan = Plan::new(SERVERS).wired(variant);
        plan.files.extend(PAGES.map(|(path, bytes)| File::new(path, bytes)));
        let bed = TestBed::up_unless(&plan, stop)?;
        go_on(stop)?;
        let (admin, key) = (Client::Unix(socket(&bed)), random_key()?);
        let file = plot.out.join("baton.toml");
        let mut site = Self { programs: Vec::new(), admin, bed, file, key, v6: plot.v6 };
        fs::write(&site.file, site.configuration(plot))
            .with_context(|| format!("cannot write {}", site.file.display()))?;
        // The switch adds to what is there.
        let _none = fs::remove_file(log(plot));
        for host in (1..=SERVERS).map(Host::Server) {
            site.programs.push(site.start(host, "agent", "off", stop)?);
        }
        site.start_switch("json", stop)?;
        Ok(site)
    }

    /// Has the switch log nothing: it is ended, with its log whole, and another started, which
    /// takes over what is pinned.
    ///
    /// # Errors
    /// When it does not end or start; [`testbed::Error::Interrupted`].
    pub(super) fn stop_logging(&mut self, stop: &AtomicBool) -> Result<()> {
        self.programs.remove(0).end(stop)?;
        self.start_switch("off", stop)
    }

    fn start_switch(&mut self, access: &str, stop: &AtomicBool) -> Result<()> {
        let switch = self.start(Host::Front, "run", access, stop)?;
        self.programs.insert(0, switch);
        wait("the switch's readiness", stop, || Ok(self.admin.get("/readyz").ok())).map(drop)
    }

    /// Where clients connect to be handed over.
    pub(super) fn one_way(&self) -> SocketAddr {
        SocketAddr::new(self.of(self.bed.vip()), PORT)
    }

    /// Where they connect to be relayed.
    pub(super) fn relay(&self) -> SocketAddr {
        SocketAddr::new(self.of(self.bed.vip()), RELAY_PORT)
    }

    fn of(&self, both: Both) -> IpAddr {
        if self.v6 { both.v6.into() } else { both.v4.into() }
    }

    /// The configuration of switch and agents. What differs from host to host comes from the
    /// environment.
    fn configuration(&self, plot: &Plot) -> String {
        let network = if plot.routed { "routed" } else { "neighbours" };
        let mut text = format!(
            r#"# Of the demonstration. What is ${{...}} here, it has in the environment.
workers = 1

[listen.one-way]
address = "{one_way}"
delivery = "multi-handoff"

[listen.relay]
address = "{relay}"

[policy]
name = "lard"

[oneway]
interfaces = ["{interface}"]
key = "${{BATON_KEY}}"
pin = "${{BATON_PINS}}"
port = {ENVELOPE_PORT}
network = "{network}"
agent_period = "1h"           # nothing but requests is to pass while bytes are counted

[health]
interval = "1h"               # likewise

[log]
access = "${{BATON_ACCESS}}"   # json, and off while times are measured
path = "{log}"

[admin]
socket = "${{BATON_SOCKET}}"
"#,
            one_way = self.one_way(),
            relay = self.relay(),
            interface = self.bed.interface(),
            log = log(plot).display(),
        );
        for number in 1..=SERVERS {
            let address = self.of(self.bed.server(number));
            let (web, agent) =
                (SocketAddr::new(address, PORT), SocketAddr::new(address, AGENT_PORT));
            let name = Host::Server(number);
            write!(text, "\n[server.{name}]\naddress = \"{web}\"\nagent = \"{agent}\"\n")
                .expect("a string takes all");
        }
        text
    }

    /// Starts this program on a machine, with what the configuration leaves to the environment.
    fn start(&self, host: Host, command: &str, access: &str, stop: &AtomicBool) -> Result<Program> {
        let program = std::env::current_exe().context("this program has no path")?;
        let mut process = self.bed.command(host, program);
        process.arg(command).arg("-c").arg(&self.file);
        process.env("BATON_KEY", &self.key).env("BATON_ACCESS", access);
        process.env("BATON_PINS", self.bed.pins(host)).env("BATON_SOCKET", socket(&self.bed));
        Program::start(&format!("baton {command} on {host}"), &mut process, "listens on", stop)
    }
}

fn socket(bed: &TestBed) -> PathBuf {
    bed.folder().join("admin.sock")
}

/// Where the switch writes its access log.
fn log(plot: &Plot) -> PathBuf {
    plot.out.join("access.log")
}

/// A key that nobody knows, for as long as the bed stands.
fn random_key() -> Result<String> {
    let mut bytes = [0; 16];
    let read = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.context("cannot read /dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
