//! A set of servers with two stamps in 16 bytes: the replica sets of LARD/R and extended LARD.
//!
//! Up to three members lie in place; sets beyond that, of which there are few (each replica past
//! the first took an overload to make), own a list.

use crate::ServerId;
use crate::departures::Moment;

/// Members that fit in place.
const FEW_MAX: usize = 3;

/// A set of servers, in the order in which they came; a stamp of which the user knows the meaning;
/// and when the set was written down (see `mappings`). They are here because here they take no
/// room.
#[derive(Clone, Debug)]
pub(crate) enum ServerSet {
    Few { len: u8, ids: [ServerId; FEW_MAX], written: Moment, stamp: u32 },
    Many(Box<Many>),
}

#[derive(Clone, Debug)]
pub(crate) struct Many {
    ids: Vec<ServerId>,
    written: Moment,
    stamp: u32,
}

const _: () = assert!(size_of::<ServerSet>() == 16);

impl ServerSet {
    pub(crate) fn new(stamp: u32) -> Self {
        Self::Few { len: 0, ids: [ServerId(0); FEW_MAX], written: Moment::default(), stamp }
    }

    pub(crate) fn of(id: ServerId, stamp: u32) -> Self {
        let mut set = Self::new(stamp);
        set.insert(id);
        set
    }

    #[inline]
    pub(crate) fn ids(&self) -> &[ServerId] {
        match self {
            Self::Few { len, ids, .. } => &ids[..usize::from(*len)],
            Self::Many(many) => &many.ids,
        }
    }

    pub(crate) fn contains(&self, id: ServerId) -> bool {
        self.ids().contains(&id)
    }

    /// Whether there is more than one member.
    pub(crate) fn is_replicated(&self) -> bool {
        self.ids().len() > 1
    }

    pub(crate) fn stamp(&self) -> u32 {
        match self {
            Self::Few { stamp, .. } => *stamp,
            Self::Many(many) => many.stamp,
        }
    }

    pub(crate) fn set_stamp(&mut self, now: u32) {
        match self {
            Self::Few { stamp, .. } => *stamp = now,
            Self::Many(many) => many.stamp = now,
        }
    }

    #[inline]
    pub(crate) fn written(&self) -> Moment {
        match self {
            Self::Few { written, .. } => *written,
            Self::Many(many) => many.written,
        }
    }

    #[inline]
    pub(crate) fn set_written(&mut self, now: Moment) {
        match self {
            Self::Few { written, .. } => *written = now,
            Self::Many(many) => many.written = now,
        }
    }

    pub(crate) fn insert(&mut self, id: ServerId) {
        if self.contains(id) {
            return;
        }
        match self {
            Self::Few { len, ids, .. } if usize::from(*len) < FEW_MAX => {
                ids[usize::from(*len)] = id;
                *len += 1;
            }
            Self::Few { ids, written, stamp, .. } => {
                let ids = ids.iter().copied().chain([id]).collect();
                let many = Many { ids, written: *written, stamp: *stamp };
                *self = Self::Many(Box::new(many));
            }
            Self::Many(many) => many.ids.push(id),
        }
    }

    /// Keeps the members of which `keep` says yes; a set that has become small gives its list back.
    pub(crate) fn retain(&mut self, keep: impl Fn(ServerId) -> bool) {
        match self {
            Self::Few { len, ids, .. } => {
                let mut kept = 0;
                for at in 0..usize::from(*len) {
                    if keep(ids[at]) {
                        ids[usize::from(kept)] = ids[at];
                        kept += 1;
                    }
                }
                *len = kept;
            }
            Self::Many(many) => {
                many.ids.retain(|id| keep(*id));
                if many.ids.len() <= FEW_MAX {
                    let mut few = Self::new(many.stamp);
                    few.set_written(many.written);
                    many.ids.iter().for_each(|id| few.insert(*id));
                    *self = few;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_agrees_with_a_set_of_the_library(
            steps in prop::collection::vec((any::<bool>(), 0u16..24), 0..100)
        ) {
            let (mut ours, mut theirs) = (ServerSet::new(7), BTreeSet::new());
            for (add, number) in steps {
                let id = ServerId(number);
                if add {
                    ours.insert(id);
                    theirs.insert(id);
                } else {
                    ours.retain(|member| member != id);
                    theirs.remove(&id);
                }
                let sorted: BTreeSet<_> = ours.ids().iter().copied().collect();
                prop_assert_eq!(sorted.len(), ours.ids().len());
                prop_assert_eq!(&sorted, &theirs);
                prop_assert_eq!(ours.ids().len() > FEW_MAX, matches!(ours, ServerSet::Many(_)));
                prop_assert_eq!(ours.stamp(), 7);
            }
        }
    }
}
