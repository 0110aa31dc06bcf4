//! The kernel's part of the agent: attached, asked, taken away.
//!
//! Tables are pinned in a folder of their own below the site's, for a front-end on the same host
//! has some of the same names there.

use super::relay::Tags;
use super::site::Plan;
use agent::Kernel;
use anyhow::Result;
use std::sync::Arc;

/// The programs as the agent and its relay see them.
pub(super) trait Attached: Kernel + Tags {}

/// Attaches the programs, or replaces those that an earlier agent left and takes over what they
/// know; then takes connections over for the addresses of the plan, and for no others. The relay
/// listens on `relay_port`; 0: there is none.
///
/// # Errors
/// When the kernel refuses, or this program was built without.
pub(super) fn attach(plan: &Plan, relay_port: u16) -> Result<Arc<dyn Attached>> {
    kernel::attach(plan, relay_port)
}

/// Takes the programs away, and their tables.
///
/// # Errors
/// When the kernel refuses, or this program was built without.
pub(super) fn detach(plan: &Plan) -> Result<()> {
    kernel::detach(plan)
}

#[cfg(feature = "oneway")]
mod kernel {
    use super::{Attached, Plan, Tags};
    use crate::config::ready::{Delivery, Key};
    use crate::oneway::{lock, name_hash};
    use agent::doctor::Network;
    use agent::host::{Host, System};
    use agent::{Kernel, TakesOver};
    use anyhow::{Context, Result};
    use handoff::Back;
    use std::fs::File;
    use std::io;
    use std::net::SocketAddr;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Bytes of Ethernet's packets.
    const MTU_USUAL_BYTES: u16 = 1500;

    struct Programs {
        back: Back,
        /// What does not change while the agent runs.
        terms: TakesOver,
        /// Each with whether the program was attached when that was last seen.
        interfaces: Vec<(String, AtomicBool)>,
        /// As long as it is open, no other agent uses the same tables.
        _lock: File,
    }

    impl Kernel for Programs {
        fn counters(&self) -> io::Result<Vec<(String, u64)>> {
            let counters = self.back.counters().into_iter();
            Ok(counters.map(|(name, count)| (name.to_owned(), count)).collect())
        }

        fn takes_over(&self) -> Option<TakesOver> {
            let off = self.interfaces.iter().filter(|(name, last)| {
                // A system that cannot be asked says nothing against it.
                let there = self.back.is_attached(name).unwrap_or(last.load(Ordering::Relaxed));
                last.store(there, Ordering::Relaxed);
                !there
            });
            let detached_from: Vec<String> = off.map(|(name, _)| name.clone()).collect();
            let attached = detached_from.is_empty();
            // An address may be taken out of the table by whoever takes the programs away.
            let vips = self.back.listening();
            Some(TakesOver { vips, attached, detached_from, ..self.terms.clone() })
        }
    }

    impl Tags for Programs {
        fn first(&self, client: SocketAddr, vip: SocketAddr) -> Option<u32> {
            self.back.first(client, vip)
        }

        fn tag(&self, client: SocketAddr, vip: SocketAddr, seq: u32) -> Option<u32> {
            self.back.tag(client, vip, seq)
        }

        fn of(&self, server: &str) -> u32 {
            handoff::tag_of(name_hash(server))
        }
    }

    impl Attached for Programs {}

    /// Before anything is changed: a front-end's program has the place that ours would take.
    fn look(plan: &Plan) -> Result<()> {
        let mut interfaces = plan.interfaces.iter();
        Ok(interfaces.try_for_each(|interface| Back::may_have(interface.as_str()))?)
    }

    fn folder(plan: &Plan) -> PathBuf {
        plan.pin.join("back")
    }

    fn open(plan: &Plan) -> Result<Back> {
        let links = System.links().context("cannot read the interfaces")?;
        let ours = links
            .iter()
            .filter(|link| plan.interfaces.iter().any(|name| name.as_str() == link.name));
        let mtu_bytes = ours.map(|link| link.mtu_bytes).min();
        let site = handoff::Site {
            // Without one nothing is taken over; programs that only go need none.
            key: plan.key.as_ref().map_or([0; 16], |key| *Key::expose(key)),
            port: plan.port,
            routed: plan.network == Network::Routed,
            mtu: mtu_bytes.map_or(MTU_USUAL_BYTES, |mtu| mtu.try_into().unwrap_or(u16::MAX)),
        };
        Ok(Back::open(&site, &folder(plan))?)
    }

    pub(super) fn attach(plan: &Plan, relay_port: u16) -> Result<Arc<dyn Attached>> {
        look(plan)?;
        let lock = lock(&folder(plan), "agent", "--pin, or pin in [oneway]")?;
        let back = open(plan)?;
        for vip in back.listening() {
            if !plan.vips.iter().any(|(wanted, _)| *wanted == vip) {
                back.listen(vip, None, 0, 0)?;
            }
        }
        for (vip, delivery) in &plan.vips {
            back.listen(*vip, Some(way(*delivery)), plan.served.port(), relay_port)?;
        }
        for interface in &plan.interfaces {
            back.attach(interface.as_str())?;
        }
        let key = plan.key.as_ref().map_or([0; 16], |key| *Key::expose(key));
        let terms = TakesOver {
            key_check: handoff::key_check(&key),
            envelope: handoff::ENVELOPE,
            port: plan.port,
            layout: handoff::LAYOUT,
            ..TakesOver::default()
        };
        let seen = |name: &str| (name.to_owned(), AtomicBool::new(true));
        let interfaces = plan.interfaces.iter().map(|name| seen(name.as_str())).collect();
        Ok(Arc::new(Programs { back, terms, interfaces, _lock: lock }))
    }

    /// What the kernel calls it.
    fn way(delivery: Delivery) -> handoff::Delivery {
        match delivery {
            Delivery::Relay | Delivery::Splice => handoff::Delivery::Relay,
            Delivery::Handoff => handoff::Delivery::Handoff,
            Delivery::MultiHandoff => handoff::Delivery::Multi,
            Delivery::Forward => handoff::Delivery::Forward,
        }
    }

    pub(super) fn detach(plan: &Plan) -> Result<()> {
        look(plan)?;
        let interfaces: Vec<&str> = plan.interfaces.iter().map(|name| name.as_str()).collect();
        open(plan)?.remove(&interfaces)?;
        // The site's folder goes too, unless a front-end on this host has something there.
        let _in_use = std::fs::remove_dir(&plan.pin);
        Ok(())
    }
}

#[cfg(not(feature = "oneway"))]
mod kernel {
    use super::{Attached, Plan};
    use anyhow::{Result, bail};
    use std::sync::Arc;

    pub(super) fn attach(_: &Plan, _: u16) -> Result<Arc<dyn Attached>> {
        bail!("this baton was built without one-way delivery; --report-only reports the load")
    }

    pub(super) fn detach(_: &Plan) -> Result<()> {
        bail!("this baton was built without one-way delivery, and has nothing in the kernel")
    }
}
