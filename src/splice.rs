//! Delivery by the kernel in the switch: crate `handoff` joins the sockets, as the distributor's
//! [`distributor::Joiner`]. Without feature `oneway` a listener that wants it is refused.

use crate::config::Config;
use anyhow::Result;
use distributor::{Delivery, Shared};

/// Loads the kernel's side, if a listener is the first that wants it.
///
/// # Errors
/// One sentence for the operator: what the machine or this program lacks.
pub fn open(config: &Config, shared: &Shared) -> Result<()> {
    let wanted = config.listeners.iter().any(|listener| listener.delivery == Delivery::Splice);
    if !wanted || shared.joiner.get().is_some() {
        return Ok(());
    }
    load(shared)
}

#[cfg(feature = "oneway")]
fn load(shared: &Shared) -> Result<()> {
    use anyhow::Context;
    let most = shared.live.load().settings.connections_max;
    let splice = handoff::Splice::load(u32::try_from(most).unwrap_or(u32::MAX / 4))
        .context("delivery \"splice\" cannot begin")?;
    // Only the thread that starts and reloads gets here.
    let _first = shared.joiner.set(Box::new(joining::Kernel(splice)));
    Ok(())
}

#[cfg(not(feature = "oneway"))]
fn load(_: &Shared) -> Result<()> {
    anyhow::bail!(
        "this baton was built without eBPF, which delivery \"splice\" needs: build it with clang \
         there and the feature oneway, or use delivery = \"relay\""
    )
}

/// The one's types as the other's.
#[cfg(feature = "oneway")]
mod joining {
    use distributor::{Half, Joined, Joiner, Way};
    use std::io;
    use std::os::fd::BorrowedFd;
    use std::task::Waker;

    pub(super) struct Kernel(pub(super) handoff::Splice);

    struct Pair(handoff::Pair);

    impl Joiner for Kernel {
        fn join(
            &self,
            client: BorrowedFd<'_>,
            server: BorrowedFd<'_>,
            owed: u64,
        ) -> io::Result<Box<dyn Joined>> {
            Ok(Box::new(Pair(self.0.join(client, server, owed)?)))
        }
    }

    impl Joined for Pair {
        fn half(&self, way: Way) -> io::Result<Half> {
            let handoff::Half { moved, passed, silent, broken } = self.0.half(same(way))?;
            Ok(Half { moved, passed, silent, broken })
        }

        fn take(&self, way: Way, taken: u64) -> io::Result<()> {
            self.0.take(same(way), taken)
        }

        fn written(&self, way: Way, receiver: BorrowedFd<'_>) -> io::Result<u64> {
            self.0.written(same(way), receiver)
        }

        fn acknowledged(&self, receiver: BorrowedFd<'_>) -> io::Result<u64> {
            self.0.acknowledged(receiver)
        }

        fn wake(&self, waker: &Waker, soon: bool) {
            self.0.wake(waker, soon);
        }
    }

    fn same(way: Way) -> handoff::Way {
        match way {
            Way::Up => handoff::Way::Up,
            Way::Down => handoff::Way::Down,
        }
    }
}
