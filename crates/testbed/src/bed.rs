//! A bed as a value: it is there while the value lives.

use crate::state::{self, State};
use crate::{
    Both, Error, Host, Plan, Wire, layout, namespace, needs, nginx, plan, processes, settings,
};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// The bed's own BPF file system, in its folder.
const PINS: &str = "bpf";

/// A bed that is up. Dropping it removes it with everything that runs in it, unless it was found
/// ([`TestBed::find`]) or is to stand ([`TestBed::stand`]).
///
/// Every server answers on port 80 of its own addresses and of the virtual ones. A file of the
/// plan, say `/4k`, is there in several ways:
///
/// | asked for as | is sent |
/// |---|---|
/// | `/4k` | with its length, an ETag and Last-Modified |
/// | `/chunked/4k` | in chunks |
/// | `/close/4k` | until the connection is closed |
/// | `/slow/4k` | at 64 KiB/s: a reply that pauses |
/// | `/brief/4k` | with its length; the connection is closed after one second of rest |
///
/// `POST /echo` answers, in chunks, with the body it was sent (up to 1 MiB); `PUT /put/NAME` keeps
/// a body of up to 64 MiB, which `GET /put/NAME` gives. Each reply has the server's name in
/// `X-Served-By`.
#[derive(Debug)]
pub struct TestBed {
    plan: Plan,
    /// Whether it ends with this value.
    mine: bool,
}

impl TestBed {
    /// Makes a bed. Beds whose makers were killed are removed first.
    ///
    /// # Errors
    /// When this is not root, something is missing, the plan cannot be built, its name is taken, or
    /// the system says no. What was made by then is removed.
    pub fn up(plan: &Plan) -> Result<Self, Error> {
        Self::up_unless(plan, &AtomicBool::new(false))
    }

    /// The same, unless it is told to stop meanwhile.
    ///
    /// # Errors
    /// As [`TestBed::up`]; [`Error::Interrupted`] if it was told to stop.
    pub fn up_unless(plan: &Plan, stop: &AtomicBool) -> Result<Self, Error> {
        plan.check()?;
        needs::check()?;
        for name in abandoned() {
            // Another may be about to remove it too; what is left is abandoned still.
            let _left = down(&name);
        }
        state::claim(plan)?;
        let bed = Self { plan: plan.clone(), mine: true };
        let go_on = || match stop.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        };
        bed.mount_pins()?;
        nginx::write_documents(plan)?;
        let hosts = plan.hosts();
        for host in &hosts {
            go_on()?;
            let name = plan.namespace(*host);
            namespace::ip(None, &format!("netns add {name}\n"))?;
            settings::apply(*host, &name)?;
        }
        namespace::ip(Some(&plan.namespace(Host::Wire)), &layout::wire(plan))?;
        for host in hosts {
            go_on()?;
            namespace::ip(Some(&plan.namespace(host)), &layout::machine(plan, host))?;
            if matches!(host, Host::Server(_)) {
                nginx::start(plan, host)?;
            }
        }
        go_on()?;
        State { ready: true, ..State::begun(plan) }.write()?;
        Ok(bed)
    }

    /// A bed that is up, whoever made it. It stays when the value is dropped.
    ///
    /// # Errors
    /// When there is none of this name, or it is not ready, or it waits for its removal.
    pub fn find(name: &str) -> Result<Self, Error> {
        plan::is_name(name)?;
        match state::read(name) {
            Some(state) if state.ready && !state.is_abandoned() => {
                Ok(Self { plan: state.plan, mine: false })
            }
            _ => Err(Error::Unknown(name.to_owned())),
        }
    }

    /// Leaves the bed standing, also when this process has ended.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn stand(mut self) -> Result<(), Error> {
        State { ready: true, standing: true, ..State::begun(&self.plan) }.write()?;
        self.mine = false;
        Ok(())
    }

    /// What it was made after.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The client's addresses.
    pub fn client(&self) -> Both {
        self.address(Host::Client)
    }

    /// The front-end's own addresses.
    pub fn front(&self) -> Both {
        self.address(Host::Front)
    }

    /// A server's own addresses; servers are counted from 1.
    ///
    /// # Panics
    /// When the bed has fewer servers.
    pub fn server(&self, number: u16) -> Both {
        assert!((1..=self.plan.servers).contains(&number), "the bed has no server {number}");
        self.address(Host::Server(number))
    }

    /// The addresses that clients ask: the front-end answers for them, all servers have them.
    pub fn vip(&self) -> Both {
        self.plan.vip()
    }

    /// The machine's own addresses; the router's in the subnet of the client.
    ///
    /// # Panics
    /// When the bed has no such machine, or it is the wire.
    pub fn address(&self, host: Host) -> Both {
        self.plan.address(host).expect("every machine of the bed but the wire has addresses")
    }

    /// The interface of client, front-end or server that is not `lo`.
    pub fn interface(&self) -> &'static str {
        layout::INTERFACE
    }

    /// Runs `work` on a thread of its own in a machine's network namespace and gives what it
    /// gives. A panic in it goes on here.
    ///
    /// # Errors
    /// When the bed has gone, or this is not root.
    pub fn enter<T: Send>(&self, host: Host, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        namespace::inside(&self.plan.namespace(host), work)
    }

    /// A program that will run on a machine: in its network namespace, with the file systems of the
    /// host. It is killed with the bed if it has not ended by then.
    pub fn command(&self, host: Host, program: impl AsRef<OsStr>) -> Command {
        namespace::command(&self.plan.namespace(host), program)
    }

    /// Changes a kernel setting of a machine: a path under `/proc/sys/net`, such as
    /// `ipv4/tcp_sack`, and its value.
    ///
    /// # Errors
    /// When there is no such setting, or it cannot have this value.
    pub fn set(&self, host: Host, path: &str, value: &str) -> Result<(), Error> {
        self.enter(host, || settings::write(path, value))?
    }

    /// A folder for whatever else is wanted while the bed is up. It goes with the bed.
    pub fn folder(&self) -> PathBuf {
        state::folder(&self.plan.name)
    }

    /// A folder of a BPF file system for the pins of a machine. It goes with the bed.
    pub fn pins(&self, host: Host) -> PathBuf {
        state::folder(&self.plan.name).join(PINS).join(host.to_string())
    }

    /// Takes the link of client, front-end or a server, to have frames lost, doubled, reordered or
    /// delayed on it; other links are as they were. One process at a time can do so.
    ///
    /// # Errors
    /// When the bed has no such machine, or the system says no.
    pub fn wire(&self, host: Host) -> Result<Wire, Error> {
        Wire::take(&self.plan, host)
    }

    fn mount_pins(&self) -> Result<(), Error> {
        let folder = state::folder(&self.plan.name).join(PINS);
        let doing = || format!("mount a BPF file system at {}", folder.display());
        fs::create_dir(&folder).map_err(Error::system(doing()))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("bpf", &folder, "bpf", flags, c"mode=0700").map_err(Error::system(doing()))?;
        let machines = self.plan.hosts().into_iter();
        let mut pins = machines.map(|host| self.pins(host));
        pins.try_for_each(fs::create_dir).map_err(Error::system(doing()))
    }
}

impl Drop for TestBed {
    fn drop(&mut self) {
        if self.mine {
            // There is nobody to tell; what is left is found again by its name.
            let _left = down(&self.plan.name);
        }
    }
}

/// Removes a bed with everything that runs in it, whether whole or in part, and whoever made it. No
/// such bed is no mistake.
///
/// # Errors
/// When the name cannot be a bed's, or the system says no.
pub fn down(name: &str) -> Result<(), Error> {
    plan::is_name(name)?;
    if !needs::rooted() {
        return Err(Error::NotRoot);
    }
    let spaces: Vec<String> =
        namespace::names().into_iter().filter(|space| bed_of(space) == Some(name)).collect();
    processes::end_within(&spaces)?;
    for space in &spaces {
        let removed = namespace::ip(None, &format!("netns del {space}\n"));
        // Another who removes the bed at the same time may have been faster.
        removed
            .or_else(|error| if namespace::file(space).exists() { Err(error) } else { Ok(()) })?;
    }
    let folder = state::folder(name);
    // Nothing is mounted there if the maker was killed early.
    let _none = unmount(folder.join(PINS), UnmountFlags::DETACH);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(Error::system(format!("remove {}", folder.display()))),
    }
}

/// How a bed is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It is up and stays.
    Standing,
    /// It is up while this process wants it.
    Held(u32),
    /// This process is making it.
    Begun(u32),
    /// Its maker ended without removing it: the next maker of any bed will.
    Abandoned,
    /// Parts without a word about the whole.
    Remains,
}

/// How a bed is. `None`: nothing has this name.
pub fn condition(name: &str) -> Option<Condition> {
    let Some(state) = state::read(name) else {
        return beds().iter().any(|bed| bed == name).then_some(Condition::Remains);
    };
    Some(match state {
        _ if state.is_abandoned() => Condition::Abandoned,
        State { standing: true, .. } => Condition::Standing,
        State { ready: true, maker, .. } => Condition::Held(maker.id),
        State { maker, .. } => Condition::Begun(maker.id),
    })
}

/// The names of all beds, whole or in part.
pub fn beds() -> Vec<String> {
    let spaces = namespace::names();
    let of_spaces = spaces.iter().filter_map(|space| bed_of(space)).map(str::to_owned);
    let names: BTreeSet<String> = of_spaces.chain(state::names()).collect();
    names.into_iter().collect()
}

/// The names of beds whose makers ended without removing them, and which were not to stand.
pub fn abandoned() -> Vec<String> {
    let is = |name: &String| state::read(name).is_some_and(|state| state.is_abandoned());
    state::names().into_iter().filter(is).collect()
}

/// The bed that a namespace belongs to.
fn bed_of(space: &str) -> Option<&str> {
    let (name, host) = space.strip_prefix("baton-")?.rsplit_once('-')?;
    host.parse::<Host>().ok().map(|_| name)
}
