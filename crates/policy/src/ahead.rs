//! Tables of hash policies that are made before the change that needs them.
//!
//! A table follows from the servers alone, and making it takes milliseconds; while the cluster
//! changes, everybody waits for the desk. So whoever knows what is going to change may have the
//! table made beforehand and elsewhere ([`crate::Desk::prepare`]). It is used if the servers turn
//! out to be those it was made for; otherwise, or if nobody made one, it is made then and there.

use crate::Preparation;
use crate::named::{Named, place_alike};
use std::sync::{Arc, OnceLock};

/// A table for servers that are expected.
pub(crate) struct Ahead<T> {
    servers: Vec<Named>,
    /// Empty until the preparation was run.
    made: Arc<OnceLock<T>>,
}

impl<T> Default for Ahead<T> {
    fn default() -> Self {
        Self { servers: Vec::new(), made: Arc::default() }
    }
}

impl<T: Send + Sync + 'static> Ahead<T> {
    /// Work that makes the table for `servers`, instead of any that were expected before.
    pub(crate) fn expect(
        &mut self,
        servers: Vec<Named>,
        make: impl FnOnce(&[Named]) -> T + Send + 'static,
    ) -> Preparation {
        let made = Arc::new(OnceLock::new());
        *self = Self { servers: servers.clone(), made: Arc::clone(&made) };
        Box::new(move || drop(made.set(make(&servers))))
    }

    /// The table, if it was made, and for these servers. Waits for nobody who is still at it.
    pub(crate) fn take(&mut self, servers: &[Named]) -> Option<T> {
        let ahead = core::mem::take(self);
        let made = Arc::into_inner(ahead.made)?.into_inner()?;
        place_alike(&ahead.servers, servers).then_some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerId;

    fn servers(count: u16) -> Vec<Named> {
        let named = |slot| Named { id: ServerId(slot), seed: 7, weight: 1, ramp: 256 };
        (0..count).map(named).collect()
    }

    #[test]
    fn a_table_is_used_once_if_it_was_made_and_for_the_servers_there_are() {
        let mut ahead = Ahead::default();
        assert_eq!(ahead.take(&servers(0)), None, "nobody expected anything");
        for (expected, made, come, taken, why) in [
            (2, true, 2, Some(2), "made for them"),
            (2, true, 3, None, "made for others"),
            (2, false, 2, None, "never made"),
        ] {
            let work = ahead.expect(servers(expected), <[Named]>::len);
            if made {
                work();
            }
            assert_eq!(ahead.take(&servers(come)), taken, "{why}");
            assert_eq!(ahead.take(&servers(come)), None, "{why}; and once only");
        }
    }

    #[test]
    fn the_latest_expectation_counts() {
        let mut ahead = Ahead::default();
        let early = ahead.expect(servers(1), <[Named]>::len);
        ahead.expect(servers(2), <[Named]>::len)();
        early();
        assert_eq!(ahead.take(&servers(2)), Some(2));
    }

    #[test]
    fn nobody_waits_for_a_table_in_the_making() {
        let mut ahead = Ahead::default();
        let _not_run = ahead.expect(servers(1), <[Named]>::len);
        assert_eq!(ahead.take(&servers(1)), None);
    }
}
