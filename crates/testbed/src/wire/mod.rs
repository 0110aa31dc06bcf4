//! A bad link: loss, duplication, reordering and delay between a machine and its bridge.
//!
//! The machine's own interface and what is attached to it stay as they are. The port at the other
//! end moves from the subnet's bridge to a bridge of its own, from which two TAPs and a thread
//! of this process carry each frame on:
//!
//! ```text
//! machine eth0 === port - bridge - TAP <- thread -> TAP - the subnet's bridge
//! ```
//!
//! Dropped, the port moves back. If the process is killed instead, the link is dead until somebody
//! takes its place, or the bed goes.

mod adversity;
mod pump;
mod tap;

pub use adversity::{Adversity, Counts};

use crate::{Error, Host, Plan, layout, namespace};
use pump::Pump;

/// Frames that an interface queues for the thread, which the system may keep waiting for a while.
const QUEUE_FRAMES: u32 = 10_000;

/// The link of one machine, with what befalls its frames. Good again when dropped.
pub struct Wire {
    plan: Plan,
    host: Host,
    pump: Pump,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Wire").field("host", &self.host).field("counts", &self.counts()).finish()
    }
}

impl Wire {
    /// Takes a machine's link; nothing befalls it yet.
    pub(crate) fn take(plan: &Plan, host: Host) -> Result<Self, Error> {
        let [subnet] = plan.subnets(host) else {
            return Err(Error::Plan(format!("{host} has more than one link")));
        };
        if !plan.hosts().contains(&host) {
            return Err(Error::Plan(format!("the test bed has no {host}")));
        }
        let space = plan.namespace(Host::Wire);
        // Fails if another has the link. Whoever was killed has no TAP any more, only the bridge.
        let make = || {
            let make =
                |name: String| tap::tap(&name).map_err(Error::system(format!("make {name}")));
            Ok([make(inner(host))?, make(outer(host))?])
        };
        let [near, far] = namespace::inside(&space, make)??;
        give_back(plan, host);
        let pump = Pump::start(near, far)?;
        let wire = Self { plan: plan.clone(), host, pump };
        namespace::ip(Some(&space), &detour(plan, *subnet, host))?;
        Ok(wire)
    }

    /// From now on this befalls frames in both directions.
    ///
    /// # Errors
    /// When a share is none.
    pub fn set(&self, adversity: Adversity) -> Result<(), Error> {
        // The two directions draw from different sequences.
        let back = Adversity { seed: !adversity.seed, ..adversity };
        self.set_each(adversity, back)
    }

    /// From now on this befalls frames towards the machine, and that those from it.
    ///
    /// # Errors
    /// When a share is none.
    pub fn set_each(&self, towards: Adversity, from: Adversity) -> Result<(), Error> {
        towards.check()?;
        from.check()?;
        self.pump.set([towards, from]);
        Ok(())
    }

    /// What has befallen frames: towards the machine, and from it.
    pub fn counts(&self) -> [Counts; 2] {
        self.pump.counts()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        give_back(&self.plan, self.host);
    }
}

/// The bridge that a port moves to.
fn aside(host: Host) -> String {
    format!("{host}-br")
}

/// The TAP towards the machine.
fn inner(host: Host) -> String {
    format!("{host}-in")
}

/// The TAP towards the subnet's bridge.
fn outer(host: Host) -> String {
    format!("{host}-out")
}

/// Leads a port's frames through the TAPs. The last line is the one that changes their way.
fn detour(plan: &Plan, subnet: u8, host: Host) -> String {
    let (aside, inner, outer) = (aside(host), inner(host), outer(host));
    let (bridge, port, mtu) = (layout::bridge(subnet), layout::port(plan, subnet, host), plan.mtu);
    format!(
        "link add {aside} mtu {mtu} type bridge {}
link set {aside} up
link set {inner} mtu {mtu} txqueuelen {QUEUE_FRAMES} master {aside} up
link set {outer} mtu {mtu} txqueuelen {QUEUE_FRAMES} master {bridge} up
link set {port} master {aside}
",
        layout::BRIDGE
    )
}

/// Leads a port's frames straight to its bridge. Whatever of the detour there is not is no mistake.
fn give_back(plan: &Plan, host: Host) {
    let space = plan.namespace(Host::Wire);
    if let [subnet] = plan.subnets(host) {
        let (port, bridge) = (layout::port(plan, *subnet, host), layout::bridge(*subnet));
        let _there = namespace::ip(Some(&space), &format!("link set {port} master {bridge}\n"));
        let _none = namespace::ip(Some(&space), &format!("link del {}\n", aside(host)));
    }
}
