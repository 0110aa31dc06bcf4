//! Which rules are worth trying for a request: those of its host, those of the first segment of
//! its path, and those that say neither.
//!
//! With a hundred rules nearly all belong to some host or some directory, and a request then meets
//! a handful of them in place of all.

use crate::facts::View;
use crate::{Facts, RuleSpec};

/// Rule numbers by what they demand. Lists of numbers ascend.
#[derive(Debug, Default)]
pub(crate) struct Index {
    by_host: Keyed,
    by_segment: Keyed,
    any: Vec<u16>,
}

/// Lists by key, sorted by key.
type Keyed = Vec<(Box<str>, Vec<u16>)>;

impl Index {
    pub(crate) fn new(specs: &[RuleSpec]) -> Self {
        let mut index = Self::default();
        for (number, spec) in (0u16..).zip(specs) {
            if let Some(keys) = hosts(spec) {
                add(&mut index.by_host, &keys, number);
            } else if let Some(keys) = segments(spec) {
                add(&mut index.by_segment, &keys, number);
            } else {
                index.any.push(number);
            }
        }
        index
    }

    /// The rules that may match, in their order.
    pub(crate) fn candidates<F: Facts>(&self, view: &View<'_, F>) -> Candidates<'_> {
        let by_host = find(&self.by_host, &view.host);
        let by_segment = find(&self.by_segment, segment(view.path));
        Candidates([by_host, by_segment, &self.any])
    }
}

/// Merges ascending lists.
pub(crate) struct Candidates<'a>([&'a [u16]; 3]);

impl Iterator for Candidates<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        let next = self.0.iter_mut().filter(|list| !list.is_empty()).min_by_key(|list| list[0])?;
        let (first, rest) = next.split_first()?;
        *next = rest;
        Some(*first)
    }
}

/// The first segment of a path, without slashes.
fn segment(path: &str) -> &str {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.find('/').map_or(path, |end| &path[..end])
}

/// The hosts that a rule needs, when all of them are exact.
fn hosts(spec: &RuleSpec) -> Option<Vec<String>> {
    let exact = !spec.host.is_empty() && spec.host.iter().all(|host| !host.starts_with('*'));
    exact.then(|| spec.host.iter().map(|host| host.to_ascii_lowercase()).collect())
}

/// The first segments that a rule needs, when it needs one: `/a/` and `/a/b` do, `/a` as a prefix
/// does not, for it also begins `/ab`.
fn segments(spec: &RuleSpec) -> Option<Vec<String>> {
    let own = |path: &String| segment(path).to_owned();
    if !spec.path.is_empty() {
        return Some(spec.path.iter().map(own).collect());
    }
    let closed = |prefix: &String| prefix.strip_prefix('/').is_some_and(|rest| rest.contains('/'));
    let keyed = !spec.path_prefix.is_empty() && spec.path_prefix.iter().all(closed);
    keyed.then(|| spec.path_prefix.iter().map(own).collect())
}

fn add(keyed: &mut Keyed, keys: &[String], number: u16) {
    for key in keys {
        match keyed.binary_search_by(|(own, _)| (**own).cmp(key)) {
            Ok(at) if keyed[at].1.last() == Some(&number) => {}
            Ok(at) => keyed[at].1.push(number),
            Err(at) => keyed.insert(at, (key.as_str().into(), vec![number])),
        }
    }
}

fn find<'a>(keyed: &'a Keyed, key: &str) -> &'a [u16] {
    match keyed.binary_search_by(|(own, _)| (**own).cmp(key)) {
        Ok(at) => &keyed[at].1,
        Err(_) => &[],
    }
}
