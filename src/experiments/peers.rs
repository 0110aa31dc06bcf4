//! Programs of others before the same servers: HAProxy, nginx, and Apache as the TCP gateway of
//! ClubWeb. Real processes, each with its best settings known to us, which end with the experiment.

use super::Lab;
use crate::exit::say;
use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use testbed::Port;

/// A program, and how it chooses a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// HAProxy, in turn.
    HaProxy,
    /// HAProxy with consistent hashing of host and path with bounded loads: the factor in per cent.
    HaProxyBounded(u32),
    /// nginx, in turn.
    Nginx,
    /// Apache with mod_rewrite and mod_proxy, at random: ClubWeb's TCP gateway.
    Apache,
}

impl Program {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HaProxy => "haproxy",
            Self::HaProxyBounded(_) => "haproxy-bounded",
            Self::Nginx => "nginx",
            Self::Apache => "apache-gateway",
        }
    }

    const fn binary(self) -> &'static str {
        match self {
            Self::HaProxy | Self::HaProxyBounded(_) => "haproxy",
            Self::Nginx => "nginx",
            Self::Apache => "apache2",
        }
    }

    /// What it says its version is; `None` when it is not installed.
    pub fn version(self) -> Option<String> {
        let output = Command::new(self.binary()).arg("-v").output().ok()?;
        let said = [output.stdout, output.stderr].concat();
        let first = String::from_utf8_lossy(&said).lines().next()?.trim().to_owned();
        // HAProxy's line ends with where its home page is.
        Some(first.split(" - ").next().unwrap_or(&first).to_owned())
    }

    /// Whether it is there; says so aloud if it is not.
    pub fn is_there(self) -> bool {
        let there = self.version().is_some();
        if !there {
            let (name, binary) = (self.name(), self.binary());
            say(format_args!(
                "skipped: {name}, because {binary} is not installed; `make experiments` installs it"
            ));
        }
        there
    }

    fn template(self) -> &'static str {
        match self {
            Self::HaProxy | Self::HaProxyBounded(_) => {
                include_str!("../../experiments/peers/haproxy.cfg")
            }
            Self::Nginx => include_str!("../../experiments/peers/nginx.conf"),
            Self::Apache => include_str!("../../experiments/peers/apache.conf"),
        }
    }

    /// How it lists servers.
    fn servers(self, addresses: &[SocketAddr]) -> String {
        let line = |(at, address): (usize, &SocketAddr)| match self {
            Self::HaProxy | Self::HaProxyBounded(_) => {
                // Points on the ring go by weight; at 1 there are too few for even shares.
                format!("    server s{at} {address} weight 10 pool-purge-delay 60s")
            }
            Self::Nginx => format!("        server {address} max_fails=0;"),
            Self::Apache => format!(
                "<Proxy \"http://{address}\">\n    ProxySet keepalive=On enablereuse=On max=512 \
                 ttl=60\n</Proxy>"
            ),
        };
        addresses.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
    }

    fn balance(self) -> String {
        match self {
            Self::HaProxyBounded(factor) => format!(
                "balance hash base\n    hash-type consistent sdbm avalanche\n    \
                 hash-balance-factor {factor}"
            ),
            _ => "balance roundrobin".to_owned(),
        }
    }

    /// Who it has to be where root starts it; `None`: whoever starts it. It needs nothing of
    /// root's: ports come from the kernel.
    fn user(self) -> Option<&'static str> {
        let must = self == Self::Apache && rustix::process::geteuid().is_root();
        must.then_some("www-data")
    }

    /// What is run on a configuration in `dir`. One process each, so that nothing is left of it
    /// when it is killed.
    fn command(self, dir: &Path, file: &Path) -> Vec<String> {
        let (dir, file) = (dir.display().to_string(), file.display().to_string());
        let words: &[&str] = match self {
            Self::HaProxy | Self::HaProxyBounded(_) => &["haproxy", "-db", "-q", "-f", &file],
            Self::Nginx => &["nginx", "-e", "stderr", "-p", &dir, "-c", &file],
            Self::Apache => &["apache2", "-X", "-d", &dir, "-f", &file],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }
}

/// A program that runs and accepts connections.
pub struct Peer {
    /// Where.
    pub address: SocketAddr,
    process: Child,
    dir: PathBuf,
}

/// Where Debian keeps Apache's modules.
const MODULES: &str = "/usr/lib/apache2/modules";

/// How long a program may take until it accepts, and how often it is tried.
const START: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(10);

/// What the names of folders begin with; the process follows, then its folder's number.
const FOLDER: &str = "baton-experiment-";

/// Tells the folders of one run apart.
static FOLDERS: AtomicU32 = AtomicU32::new(0);

impl Peer {
    /// Starts `program` before `servers`.
    ///
    /// # Errors
    /// When it cannot be started or ends by itself, with what it said.
    pub fn start(lab: &Lab, program: Program, servers: &[SocketAddr]) -> Result<Self> {
        // These programs cannot say which port they were given.
        let port = Port::kept().context("no free port")?;
        let address = port.address();
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        if number == 0 {
            clear_away(&std::env::temp_dir());
        }
        let name = format!("{FOLDER}{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        fs::create_dir(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let started = launch(program, address, servers, &dir);
        let process = started.inspect_err(|_| remove(&dir))?;
        let mut peer = Self { address, process, dir };
        lab.block_on(peer.accepts(program))?;
        Ok(peer)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    async fn accepts(&mut self, program: Program) -> Result<()> {
        for _ in 0..START.as_millis() / GLANCE.as_millis() {
            if self.process.try_wait()?.is_some() {
                let said = fs::read_to_string(self.dir.join("said")).unwrap_or_default();
                bail!("{} ended by itself; it said:\n{said}", program.name());
            }
            if TcpStream::connect(self.address).is_ok() {
                return Ok(());
            }
            tokio::time::sleep(GLANCE).await;
        }
        bail!("{} does not listen on {} after {START:?}", program.name(), self.address)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Already gone is as good; and it must be reaped either way.
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
        remove(&self.dir);
    }
}

fn launch(
    program: Program,
    address: SocketAddr,
    servers: &[SocketAddr],
    dir: &Path,
) -> Result<Child> {
    let list: Vec<String> = servers.iter().map(SocketAddr::to_string).collect();
    fs::write(dir.join("servers.txt"), format!("all {}\n", list.join("|")))?;
    let file = dir.join("conf");
    let text = program
        .template()
        .replace("@DIR@", &dir.display().to_string())
        .replace("@BIND@", &address.to_string())
        .replace("@MODULES@", MODULES)
        .replace("@BALANCE@", &program.balance())
        .replace("@SERVERS@", &program.servers(servers));
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    let said = File::create(dir.join("said"))?;
    // Dies with the thread that starts it, which is this program's first. The kernel forgets that
    // of who becomes somebody else, as Apache would when root starts it: so it is that before.
    let become_user: &[&str] = match program.user() {
        Some(user) => {
            given(dir, user)?;
            &["--reuid", user, "--regid", user, "--init-groups"]
        }
        None => &[],
    };
    Command::new("setpriv")
        .args(become_user)
        .args(["--pdeathsig", "KILL", "--"])
        .args(program.command(dir, &file))
        .stdin(Stdio::null())
        .stdout(said.try_clone()?)
        .stderr(said)
        .spawn()
        .with_context(|| format!("cannot start {} by setpriv (util-linux)", program.name()))
}

/// Gives a folder and what is in it to `user`.
fn given(dir: &Path, user: &str) -> Result<()> {
    let owner = format!("{user}:{user}");
    let mut chown = Command::new("chown");
    let output = chown.args(["-R", &owner]).arg(dir).output().context("cannot start chown")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cannot give {} to {user}: {said}", dir.display());
    Ok(())
}

fn remove(dir: &Path) {
    // What cannot be removed from the temporary folder is the system's to clear away.
    let _left = fs::remove_dir_all(dir);
}

/// Removes what runs have left that were killed: folders of processes that are no more.
fn clear_away(temporary: &Path) {
    let Ok(entries) = fs::read_dir(temporary) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(FOLDER));
        let process = rest.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_place_in_a_configuration_is_left_open() {
        let servers = [SocketAddr::from(([127, 0, 0, 1], 81))];
        let known = ["@DIR@", "@BIND@", "@MODULES@", "@BALANCE@", "@SERVERS@"];
        for program in
            [Program::HaProxy, Program::HaProxyBounded(125), Program::Nginx, Program::Apache]
        {
            let text =
                known.iter().fold(program.template().to_owned(), |text, at| text.replace(at, ""));
            assert!(!text.contains('@'), "{text}");
            assert!(program.servers(&servers).contains("127.0.0.1:81"));
        }
        assert!(Program::HaProxyBounded(150).balance().contains("hash-balance-factor 150"));
    }

    #[test]
    fn what_a_killed_run_left_is_cleared_away_and_nothing_else() {
        let temporary = tempfile::tempdir().expect("a folder");
        // Greater than any process's number may be.
        let names = [
            format!("{FOLDER}4194305-0"),
            format!("{FOLDER}{}-0", std::process::id()),
            format!("{FOLDER}of-mine"),
            "4194305-0".to_owned(),
        ];
        for name in &names {
            fs::create_dir(temporary.path().join(name)).expect("it is empty");
        }
        fs::write(temporary.path().join(&names[0]).join("conf"), "").expect("it is there");
        clear_away(temporary.path());
        let left = names.map(|name| temporary.path().join(name).exists());
        assert_eq!(left, [false, true, true, true]);
    }

    /// How long the kernel may take to end what has lost its parent.
    const END: Duration = Duration::from_secs(10);

    #[test]
    fn a_program_ends_with_the_thread_that_started_it_whoever_it_runs_as() {
        let servers = [SocketAddr::from(([127, 0, 0, 1], 81))];
        for program in [Program::HaProxy, Program::Nginx, Program::Apache] {
            if !program.is_there() {
                continue;
            }
            let start = move || {
                let lab = Lab::open().expect("reactors");
                Peer::start(&lab, program, &servers).expect("it starts")
            };
            let mut peer = std::thread::spawn(start).join().expect("started");
            let id = rustix::process::Pid::from_child(&peer.process);
            let (ended, end) = std::sync::mpsc::channel();
            let waiter = std::thread::spawn(move || {
                let _reaped = peer.process.wait();
                let _heard = ended.send(());
            });
            let found = end.recv_timeout(END);
            if found.is_err() {
                // Whatever is found here, nothing is left behind.
                let _gone = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            }
            waiter.join().expect("it was reaped");
            assert!(found.is_ok(), "{} lives on", program.name());
        }
    }
}
