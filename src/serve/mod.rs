//! A running switch: workers, books and the control side, started, reloaded and stopped as one.

mod changes;
pub(crate) mod convert;
mod eras;
mod explain;
mod glass;
mod signals;
mod table;
mod totals;

pub use signals::run;

use crate::config::Config;
use crate::config::ready::{Admin, Listener, Log};
use crate::oneway::{self, Oneway};
use anyhow::{Context, Result, bail};
use control::{Bind, Control, Event, Supervisor, Token};
use distributor::{Delivery, Entrance, Listen, Live, Shared, Team, say};
use glass::Glass;
use policy::{Cluster, Desk};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the end of the access log is waited for.
const LOG_PATIENCE: Duration = Duration::from_secs(1);

/// A switch that serves.
pub struct Service {
    glass: Arc<Glass>,
    team: Team,
    supervisor: Arc<Supervisor>,
    control: Option<Control>,
    doors: Mutex<Doors>,
    source: String,
}

/// Why a new configuration cannot be taken over.
#[derive(Clone, Debug)]
pub struct Wrong {
    /// In one line.
    pub message: String,
    /// At length, where there is more to say.
    pub diagnosis: String,
}

/// What is listened on, and the listeners there ever were.
#[derive(Default)]
struct Doors {
    open: BTreeMap<SocketAddr, Listen>,
    /// Asked for to bound: differs where the kernel chose the port.
    bound: BTreeMap<SocketAddr, SocketAddr>,
    entrances: Vec<Arc<Entrance>>,
}

impl Service {
    /// Starts a switch. `source` says where the configuration came from.
    ///
    /// # Errors
    /// One sentence for the operator: an address in use, a server that cannot be resolved, a log
    /// that cannot be written. Then nothing is left running.
    pub fn start(config: Config, source: &str) -> Result<Self> {
        let workers = match config.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            count => count,
        };
        let sockets = open_all(&convert::listens(&config), workers)?;
        let addresses = table::resolve(&config)?;
        let admins = bind_admins(&config.admin)?;
        let log = open_log(&config.log)?;
        let cluster = Cluster::new(config.panic_share);
        let desk = Desk::new(config.policy.build(), cluster, config.policy.seed);
        let mut doors = Doors::default();
        sockets.iter().for_each(|(listen, _)| doors.enter(&listen.name, workers));
        let pseudonym = convert::pseudonym();
        let live = table::first(&config, &pseudonym, &doors.entrances, workers);
        let shared = Arc::new(Shared::new(live, desk, workers));
        shared.journal.log_to(log).context("cannot start the access log")?;
        let glass = Glass::new(Arc::clone(&shared), config, source, pseudonym);
        if let Some(oneway) = oneway::open(&glass.config(), glass.shared())? {
            glass.set_oneway(oneway);
        }
        table::apply(&glass, &addresses, &doors.entrances);
        crate::splice::open(&glass.config(), glass.shared())?;
        let team = Team::start(shared).context("cannot start the workers")?;
        for (listen, sockets) in sockets {
            let entrance = doors.entrance(&listen.name);
            let bound = team.accept_on(&entrance, sockets).context("cannot listen")?;
            doors.note(&listen, bound);
        }
        doors.show(&glass);
        doors.mark(&glass.config());
        glass.say_if_capped();
        let supervisor = Supervisor::with_log(Arc::clone(&glass) as _, glass.event_log());
        table::look_after(&glass, &supervisor);
        if let Some(oneway) = glass.oneway() {
            hear(&glass, oneway, &supervisor);
        }
        glass.gather().apply(&glass.config())?;
        // Clients come by it as soon as it is there.
        if let Some(oneway) = glass.oneway() {
            glass.gather().first_asked();
            let begun = oneway.start().and_then(|()| oneway.apply(&glass.config()));
            begun.inspect_err(|_| {
                glass.gather().stop();
                oneway.stop();
            })?;
        }
        let control =
            Some(Control::start(Arc::clone(&supervisor), admins).context("cannot start control")?);
        let (doors, source) = (Mutex::new(doors), source.to_owned());
        Ok(Self { glass, team, supervisor, control, doors, source })
    }

    /// Where clients connect, by listener, with the ports that the kernel gave.
    pub fn listening(&self) -> Vec<(String, SocketAddr)> {
        self.doors().listening()
    }

    /// What the switch knows of itself.
    pub fn glass(&self) -> &Arc<Glass> {
        &self.glass
    }

    /// Takes over a new configuration in place. Nothing that is open is closed.
    ///
    /// # Errors
    /// One sentence; then the old configuration is in force, whole.
    pub fn reload(&self, config: Config) -> Result<()> {
        let result = self.take_over(config);
        let (to, message) = match &result {
            Ok(changes) => ("reloaded", changes.clone()),
            Err(error) => ("kept as it was", format!("{error:#}")),
        };
        self.glass.reloaded(result.is_ok(), &message);
        self.supervisor.note(Event {
            subject: format!("configuration {}", self.source),
            from: Some("in force".to_owned()),
            to: Some(to.to_owned()),
            message,
            ..Event::default()
        });
        result.map(drop)
    }

    /// Notes that a new configuration was found to be wrong: the old one stays in force.
    pub fn refuse(&self, wrong: &Wrong) {
        let Wrong { message, diagnosis } = wrong.clone();
        if !diagnosis.is_empty() {
            say(format_args!("the configuration is not valid\n{}", diagnosis.trim_end()));
        }
        self.glass.reloaded(false, &message);
        self.supervisor.note(Event {
            subject: format!("configuration {}", self.source),
            message: format!("the new one is refused, the old one stays: {message}"),
            ..Event::default()
        });
    }

    fn take_over(&self, config: Config) -> Result<String> {
        let old = self.glass.config();
        if config.workers != old.workers {
            bail!("the number of workers cannot change while running; restart for that");
        }
        if config.admin != old.admin {
            bail!("the admin interface cannot change while running; restart for that");
        }
        let fresh = self.one_way_anew(&config, &old)?;
        crate::splice::open(&config, self.glass.shared())?;
        let mut doors = self.doors();
        let wanted = convert::listens(&config);
        let new: Vec<Listen> = wanted.iter().filter(|listen| !doors.has(listen)).cloned().collect();
        if let Some(changed) = new.iter().find(|listen| doors.bound.contains_key(&listen.address)) {
            bail!(
                "the options of {} cannot change while it is open; restart, or give it another \
                 address",
                changed.address
            );
        }
        let sockets = open_all(&new, self.team.size())?;
        let addresses = table::resolve(&config)?;
        // Opened anew even if nothing changed: the file may have been rotated away.
        self.glass.shared().journal.log_to(open_log(&config.log)?)?;
        for (listen, _) in &sockets {
            doors.enter(&listen.name, self.team.size());
        }
        if let Some(oneway) = &fresh {
            self.glass.set_oneway(Arc::clone(oneway));
        }
        let mut changes = self.glass.set_config(config);
        changes.extend(table::apply(&self.glass, &addresses, &doors.entrances));
        table::look_after(&self.glass, &self.supervisor);
        for (listen, sockets) in sockets {
            let bound = self.team.accept_on(&doors.entrance(&listen.name), sockets)?;
            doors.note(&listen, bound);
        }
        for gone in doors.gone(&wanted) {
            self.team.unlisten(gone);
        }
        doors.show(&self.glass);
        doors.mark(&self.glass.config());
        if let Some(oneway) = &fresh {
            hear(&self.glass, oneway, &self.supervisor);
        }
        if let Some(oneway) = self.glass.oneway() {
            oneway.expect(&self.glass.config());
        }
        self.glass.gather().apply(&self.glass.config())?;
        if let Some(oneway) = &fresh {
            oneway.start()?;
        }
        if let Some(oneway) = self.glass.oneway() {
            oneway.apply(&self.glass.config())?;
            oneway.refresh();
        }
        Ok(changes::sentence(&changes))
    }

    /// One-way delivery, if a new configuration is the first that wants it.
    fn one_way_anew(&self, config: &Config, old: &Config) -> Result<Option<Arc<Oneway>>> {
        if self.glass.oneway().is_none() {
            return oneway::open(config, self.glass.shared());
        }
        if oneway::is_wanted(config) && config.oneway != old.oneway {
            bail!("[oneway] cannot change while connections are handed over; restart for that");
        }
        Ok(None)
    }

    /// Client connections that are open, and how long they may take to finish when it stops.
    pub fn open(&self) -> (usize, Duration) {
        let open = self.glass.shared().open.load(Ordering::Relaxed);
        (open, self.glass.config().timeouts.drain)
    }

    /// Stops accepting, finishes what there is, at most for the configured time and no longer than
    /// until `hurry` is set, and ends. Returns how many connections were cut off.
    pub fn stop(mut self, hurry: &AtomicBool) -> usize {
        self.supervisor.stopping();
        self.glass.gather().stop();
        if let Some(oneway) = self.glass.oneway() {
            oneway.stop();
        }
        let patience: Duration = self.glass.config().timeouts.drain;
        let left = self.team.stop(patience, hurry);
        if let Some(control) = self.control.take() {
            control.stop();
        }
        self.glass.shared().journal.close(LOG_PATIENCE);
        left
    }

    fn doors(&self) -> MutexGuard<'_, Doors> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Doors {
    fn enter(&mut self, name: &str, workers: usize) {
        if !self.entrances.iter().any(|entrance| *entrance.name == *name) {
            let index = self.entrances.len();
            self.entrances.push(Arc::new(Entrance::new(index, name, workers)));
        }
    }

    fn entrance(&self, name: &str) -> Arc<Entrance> {
        let found = self.entrances.iter().find(|entrance| *entrance.name == *name);
        Arc::clone(found.expect("every listener was entered before it is opened"))
    }

    /// Lets workers know whose connections could have been handed over.
    fn mark(&self, config: &Config) {
        for entrance in &self.entrances {
            let of = |listener: &&Listener| *listener.name == *entrance.name;
            let listener = config.listeners.iter().find(of);
            let one_way = listener.is_some_and(|listener| listener.delivery.one_way());
            entrance.one_way.store(one_way, Ordering::Relaxed);
            let spliced = listener.is_some_and(|listener| listener.delivery == Delivery::Splice);
            entrance.spliced.store(spliced, Ordering::Relaxed);
        }
    }

    fn note(&mut self, listen: &Listen, bound: SocketAddr) {
        // Of port 0 there can be any number: it is no address yet.
        if listen.address.port() != 0 {
            self.bound.insert(listen.address, bound);
        }
        self.open.insert(bound, listen.clone());
    }

    fn has(&self, wanted: &Listen) -> bool {
        self.open.values().any(|open| open == wanted)
    }

    /// Forgets and returns the addresses that are not wanted any more.
    fn gone(&mut self, wanted: &[Listen]) -> Vec<SocketAddr> {
        let gone: Vec<SocketAddr> = self
            .open
            .iter()
            .filter(|(_, open)| !wanted.contains(open))
            .map(|(bound, _)| *bound)
            .collect();
        self.open.retain(|bound, _| !gone.contains(bound));
        self.bound.retain(|_, bound| !gone.contains(bound));
        gone
    }

    fn show(&self, glass: &Glass) {
        glass.set_listening(&self.listening(), &self.entrances);
    }

    fn listening(&self) -> Vec<(String, SocketAddr)> {
        self.open.iter().map(|(bound, listen)| (listen.name.to_string(), *bound)).collect()
    }
}

/// Lets one-way delivery hear what agents say, and the supervisor what it makes of that.
fn hear(glass: &Glass, oneway: &Arc<Oneway>, supervisor: &Arc<Supervisor>) {
    oneway.expect(&glass.config());
    // Weak: the supervisor holds the switch.
    let supervisor = Arc::downgrade(supervisor);
    oneway.tell(Box::new(move |event| {
        if let Some(supervisor) = supervisor.upgrade() {
            supervisor.note(event);
        }
    }));
    glass.gather().tell(Arc::clone(oneway) as _);
}

fn open_all(listens: &[Listen], workers: usize) -> Result<Vec<(Listen, Vec<TcpListener>)>> {
    let open = |listen: &Listen| {
        let sockets = listen.open(workers).with_context(|| {
            format!("cannot listen on {} (listener {})", listen.address, listen.name)
        })?;
        Ok((listen.clone(), sockets))
    };
    listens.iter().map(open).collect()
}

fn bind_admins(admin: &Admin) -> Result<Vec<control::Admin>> {
    let mut admins = Vec::new();
    if let Some(path) = &admin.socket {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| {
                format!(
                    "cannot make the folder {} for the admin socket; give another place with \
                     --admin PATH, or set XDG_RUNTIME_DIR",
                    folder.display()
                )
            })?;
        }
        admins.push(control::Admin::bind(&Bind::Unix(path.clone()))?);
    }
    if let Some((address, secret)) = &admin.tcp {
        let token = Token::new(secret.expose()).map_err(anyhow::Error::msg)?;
        admins.push(control::Admin::bind(&Bind::Tcp(*address, token))?);
    }
    Ok(admins)
}

fn open_log(log: &Log) -> Result<Option<Box<dyn Write + Send>>> {
    if log.access.is_none() {
        return Ok(None);
    }
    let Some(path) = &log.path else { return Ok(Some(Box::new(std::io::stdout()))) };
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("cannot write the access log {}", path.display()))?;
    Ok(Some(Box::new(file)))
}

/// The state as every part of the program that looks at it needs it.
pub(crate) fn live_of(glass: &Glass) -> Arc<Live> {
    glass.shared().live.load_full()
}
