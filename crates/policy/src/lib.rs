//! WHO SERVES: the policies of a content-aware web switch, as pure values.
//!
//! A policy is *asked* ([`Policy::decide`]) and *told* ([`Policy::commit`], [`Policy::begun`],
//! [`Policy::ended`], [`Policy::changed`], [`Policy::reported`]). Time, randomness and the books
//! of load arrive as arguments, so the switch, the dispatcher and the simulator run the same
//! objects. Each policy is one file that cites its paper and one row of [`POLICIES`].

mod admission;
mod ahead;
mod batch;
mod bounded_hash;
mod cap;
mod cap_alarm;
mod cluster;
mod costs;
mod departures;
mod desk;
mod edit;
mod elsewhere;
mod gathered;
mod lard;
mod lard_cost;
mod lard_ext;
mod lard_r;
mod latencies;
mod least_loaded;
mod maglev;
mod mappings;
mod named;
mod p2c;
mod params;
mod peak_ewma;
mod prequal;
mod random;
mod request;
mod rotation;
mod round_robin;
mod server;
mod servers;
mod slots;
mod static_partition;
pub mod tape;
mod target_hash;
mod targets;
mod thresholds;
mod units;
mod wheel;
mod wrr;
mod wrr_num;
mod wrr_time;

pub use admission::{Admission, AdmissionForm};
pub use batch::{Charge, Held};
pub use cluster::Cluster;
pub use desk::{Desk, Explanation, Outcome, Ticket};
pub use edit::Edit;
pub use elsewhere::Elsewhere;
pub use params::{Kind, Param, ParamError, Params, Value};
pub use request::{Assignment, Expect, Guard, Request, Why};
pub use server::{Report, Server, Spec, State, WARM};
pub use targets::{TARGETS_MAX_DEFAULT, TARGETS_MAX_LIMIT, Targets};
pub use units::{Class, Dice, Instant, Load, ServerId, TargetId};
pub use wheel::{WHEEL_TURNS_MAX, Wheel};

use core::time::Duration;

/// A strategy that chooses a server.
pub trait Policy: Send {
    /// Chooses among [`Cluster::usable`]; `None` exactly when that is empty. Changes nothing: the
    /// same question may be asked again, for an explanation or to check a guard.
    fn decide(&self, request: &Request, cluster: &Cluster, dice: &mut Dice) -> Option<Assignment>;

    /// Takes note of an answer that [`Policy::decide`] just gave: advance the rotation, map the
    /// target, use up the probe. Called before the books count the request.
    fn commit(&mut self, _request: &Request, _answer: &Assignment, _cluster: &Cluster) {}

    /// A request was given to `server`: the one answered, or another one on a retry.
    fn begun(&mut self, _server: ServerId, _request: &Request) {}

    /// A request has ended.
    fn ended(&mut self, _ended: &Ended, _cluster: &Cluster) {}

    /// The cluster has changed; `cluster` shows it after the change, and after those that were made
    /// with it and are told next (see [`Edit`]).
    fn changed(&mut self, _change: Change, _cluster: &Cluster) {}

    /// Work that makes [`Policy::changed`] quick when the cluster comes to look like `cluster`,
    /// to be run beforehand, on any thread. Whether it is run changes no answer. `None` when the
    /// change will be quick anyway.
    fn prepare(&mut self, _cluster: &Cluster) -> Option<Preparation> {
        None
    }

    /// A server has reported its load.
    fn reported(&mut self, _server: ServerId, _report: &Report, _cluster: &Cluster) {}

    /// What choosing `server` would cost for this request, in the policy's own unit, lower being
    /// better; `None` for a policy that does not compare costs.
    fn cost(&self, _server: ServerId, _request: &Request, _cluster: &Cluster) -> Option<f64> {
        None
    }

    /// The answers that the policy would give to requests of `class` from now on, if they are a
    /// cycle that depends on no request: not on target, holder, load or chance, nor on time before
    /// [`Wheel::until`]. As long as others turn the wheel, nothing but [`Policy::turned`] and
    /// [`Policy::changed`] may change the rotation: a policy that turns its attention to loads or
    /// reports has no wheel.
    fn wheel(&self, _class: Class, _cluster: &Cluster) -> Option<Wheel> {
        None
    }

    /// Others took the next `turns` turns of the wheel that [`Policy::wheel`] gave for `class`: as
    /// if as many answers had been committed.
    fn turned(&mut self, _class: Class, _turns: u64, _cluster: &Cluster) {}

    /// Moves the targets whose mapping was dropped for lack of room since the last call, and for
    /// which a guard may be held somewhere, into `into`. Kept only after `Policy::keep_forgotten`.
    fn forgotten(&mut self, _into: &mut Vec<TargetId>) {}

    /// Starts (or stops) remembering what [`Policy::forgotten`] returns.
    fn keep_forgotten(&mut self, _keep: bool) {}

    /// Size of the target table, for policies that have one.
    fn gauges(&self) -> Gauges {
        Gauges::default()
    }
}

/// See [`Policy::prepare`].
pub type Preparation = Box<dyn FnOnce() + Send>;

/// What a policy is told at the end of a request.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Who had it.
    pub server: ServerId,
    /// Its class.
    pub class: Class,
    /// When it ended.
    pub at: Instant,
    /// From the question to the end.
    pub took: Duration,
    /// From the question to the first byte of the reply, where one was seen.
    pub first_byte: Option<Duration>,
    /// Whether the server did its part.
    pub ok: bool,
}

/// What happened to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A server is new.
    Joined(ServerId),
    /// A server is gone: nothing may map to it, for its slot may be given to another.
    Left(ServerId),
    /// A server went up, down, or is draining.
    State(ServerId, State),
    /// A server's weight or warmth changed.
    Share(ServerId),
}

/// Sizes to watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Targets in the table.
    pub targets: usize,
    /// Targets mapped to more than one server. A server that has left counts in each of its
    /// targets until that is asked for again.
    pub replicated: usize,
}

/// A row of [`POLICIES`].
pub struct Entry {
    /// Its name on the command line and in the configuration.
    pub name: &'static str,
    /// Other names under which users know it.
    pub aliases: &'static [&'static str],
    /// One sentence: the rule.
    pub about: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// What can be set.
    pub params: &'static [Param],
    /// Makes one from parameters of this row.
    pub build: fn(&Params) -> Box<dyn Policy>,
}

/// Every policy there is: the only list. Help, configuration, documentation, the demonstration and
/// the conformance tests read it.
pub const POLICIES: &[Entry] = &[
    random::ENTRY,
    round_robin::ENTRY,
    wrr::ENTRY,
    wrr_num::ENTRY,
    wrr_time::ENTRY,
    least_loaded::ENTRY,
    p2c::ENTRY,
    peak_ewma::ENTRY,
    target_hash::ENTRY,
    bounded_hash::ENTRY,
    maglev::ENTRY,
    static_partition::ENTRY,
    lard::ENTRY,
    lard_r::ENTRY,
    lard_cost::ENTRY,
    lard_ext::ENTRY,
    cap::ENTRY,
    cap_alarm::ENTRY,
    prequal::ENTRY,
];

/// The row called `name`, or that has it as an alias.
pub fn entry(name: &str) -> Option<&'static Entry> {
    POLICIES.iter().find(|entry| entry.name == name || entry.aliases.contains(&name))
}
