//! A set of servers in 16 bytes: the replica sets of LARD/R and extended LARD.
//!
//! Up to seven members lie in place; sets beyond that, of which there are few (each replica past
//! the first took an overload to make), own a list.

use crate::ServerId;

/// Members that fit in place.
const FEW_MAX: usize = 7;

/// A set of servers, in the order in which they came.
#[derive(Clone, Debug)]
pub(crate) enum ServerSet {
    Few { len: u8, ids: [ServerId; FEW_MAX] },
    Many(Box<Many>),
}

/// Boxed once more because a list alone takes 24 bytes.
#[derive(Clone, Debug)]
pub(crate) struct Many {
    ids: Vec<ServerId>,
}

const _: () = assert!(size_of::<ServerSet>() == 16);

impl ServerSet {
    pub(crate) fn new() -> Self {
        Self::Few { len: 0, ids: [ServerId(0); FEW_MAX] }
    }

    pub(crate) fn of(id: ServerId) -> Self {
        let mut set = Self::new();
        set.insert(id);
        set
    }

    pub(crate) fn ids(&self) -> &[ServerId] {
        match self {
            Self::Few { len, ids } => &ids[..usize::from(*len)],
            Self::Many(many) => &many.ids,
        }
    }

    pub(crate) fn contains(&self, id: ServerId) -> bool {
        self.ids().contains(&id)
    }

    pub(crate) fn insert(&mut self, id: ServerId) {
        if self.contains(id) {
            return;
        }
        match self {
            Self::Few { len, ids } if usize::from(*len) < FEW_MAX => {
                ids[usize::from(*len)] = id;
                *len += 1;
            }
            Self::Few { ids, .. } => {
                let ids = ids.iter().copied().chain([id]).collect();
                *self = Self::Many(Box::new(Many { ids }));
            }
            Self::Many(many) => many.ids.push(id),
        }
    }

    /// Keeps the members of which `keep` says yes; a set that has become small gives its list back.
    pub(crate) fn retain(&mut self, keep: impl Fn(ServerId) -> bool) {
        match self {
            Self::Few { len, ids } => {
                let mut kept = 0;
                for at in 0..usize::from(*len) {
                    if keep(ids[at]) {
                        ids[kept] = ids[at];
                        kept += 1;
                    }
                }
                *len = u8::try_from(kept).expect("at most seven");
            }
            Self::Many(many) => {
                many.ids.retain(|id| keep(*id));
                if many.ids.len() <= FEW_MAX {
                    let mut few = Self::new();
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
            let (mut ours, mut theirs) = (ServerSet::new(), BTreeSet::new());
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
            }
        }
    }
}
