//! The kernel's part of the agent: attached, asked, taken away.
//!
//! Tables are pinned in a folder of their own below the site's, for a front-end on the same host
//! has some of the same names there.

use super::site::Plan;
use agent::Kernel;
use anyhow::Result;
use std::sync::Arc;

/// Attaches the programs, or replaces those that an earlier agent left and takes over what they
/// know; then takes connections over for the addresses of the plan, and for no others.
///
/// # Errors
/// When the kernel refuses, or this program was built without.
pub(super) fn attach(plan: &Plan) -> Result<Arc<dyn Kernel>> {
    kernel::attach(plan)
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
    use super::Plan;
    use crate::config::ready::{Delivery, Key};
    use crate::exit::say;
    use agent::Kernel;
    use agent::doctor::Network;
    use agent::host::{Host, System};
    use anyhow::{Context, Result};
    use handoff::Back;
    use std::io;
    use std::path::PathBuf;
    use std::sync::{Arc, Mutex, PoisonError};

    /// Bytes of Ethernet's packets.
    const MTU_USUAL_BYTES: u16 = 1500;

    struct Attached(Mutex<Back>);

    impl Kernel for Attached {
        fn counters(&self) -> io::Result<Vec<(String, u64)>> {
            let back = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(back.counters().into_iter().map(|(name, count)| (name.to_owned(), count)).collect())
        }
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

    pub(super) fn attach(plan: &Plan) -> Result<Arc<dyn Kernel>> {
        let back = open(plan)?;
        for vip in back.listening() {
            if !plan.vips.iter().any(|(wanted, _)| *wanted == vip) {
                back.listen(vip, None, 0, 0)?;
            }
        }
        for (vip, delivery) in &plan.vips {
            let Some(way) = way(*delivery) else {
                let name = delivery.name();
                say(format_args!("baton: {vip}: {name} needs a relay here, which there is none"));
                continue;
            };
            back.listen(*vip, Some(way), plan.served.port(), 0)?;
        }
        for interface in &plan.interfaces {
            back.attach(interface.as_str())?;
        }
        Ok(Arc::new(Attached(Mutex::new(back))))
    }

    /// What the kernel calls it; `None` for what the server alone cannot serve.
    fn way(delivery: Delivery) -> Option<handoff::Delivery> {
        match delivery {
            Delivery::Handoff => Some(handoff::Delivery::Handoff),
            Delivery::MultiHandoff => Some(handoff::Delivery::Multi),
            Delivery::Relay | Delivery::Splice | Delivery::Forward => None,
        }
    }

    pub(super) fn detach(plan: &Plan) -> Result<()> {
        let interfaces: Vec<&str> = plan.interfaces.iter().map(|name| name.as_str()).collect();
        open(plan)?.remove(&interfaces)?;
        // The site's folder goes too, unless a front-end on this host has something there.
        let _in_use = std::fs::remove_dir(&plan.pin);
        Ok(())
    }
}

#[cfg(not(feature = "oneway"))]
mod kernel {
    use super::Plan;
    use agent::Kernel;
    use anyhow::{Result, bail};
    use std::sync::Arc;

    pub(super) fn attach(_: &Plan) -> Result<Arc<dyn Kernel>> {
        bail!("this baton was built without one-way delivery; --report-only reports the load")
    }

    pub(super) fn detach(_: &Plan) -> Result<()> {
        bail!("this baton was built without one-way delivery, and has nothing in the kernel")
    }
}
