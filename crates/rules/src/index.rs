//! Which rules are worth trying for a request: those of its host, of the first segment of its
//! path, of its extension, and those that say none of these.
//!
//! With a hundred rules nearly all belong to some host, directory or extension, and a request then
//! meets a handful of them in place of all.

use crate::facts::View;
use crate::pattern::{glob_prefix, regex_prefix};
use crate::{Facts, RuleSpec};
use xxhash_rust::xxh3::xxh3_64;

/// Rule numbers by what they demand. Lists of numbers ascend.
#[derive(Debug, Default)]
pub(crate) struct Index {
    by_host: Keyed,
    by_segment: Keyed,
    by_extension: Keyed,
    any: Vec<u16>,
}

/// Lists by the hash of their key, sorted by it. Two keys of one hash share a list, which costs a
/// try and nothing else: each rule looks for itself.
type Keyed = Vec<(u64, Vec<u16>)>;

impl Index {
    pub(crate) fn new(specs: &[RuleSpec]) -> Self {
        let mut index = Self::default();
        for (number, spec) in (0u16..).zip(specs) {
            if let Some(keys) = hosts(spec) {
                add(&mut index.by_host, &keys, number);
            } else if let Some(keys) = segments(spec) {
                add(&mut index.by_segment, &keys, number);
            } else if let Some(keys) = extensions(spec) {
                add(&mut index.by_extension, &keys, number);
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
        let by_extension = find(&self.by_extension, extension(view.path));
        Candidates([by_host, by_segment, by_extension, &self.any])
    }
}

/// Merges ascending lists.
pub(crate) struct Candidates<'a>([&'a [u16]; 4]);

impl Iterator for Candidates<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        const END: u32 = u32::MAX;
        let heads = self.0.map(|list| list.first().map_or(END, |first| u32::from(*first)));
        let least = heads[0].min(heads[1]).min(heads[2]).min(heads[3]);
        let at = heads.iter().position(|head| *head == least)?;
        let (first, rest) = self.0[at].split_first()?;
        self.0[at] = rest;
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
    let globs = spec.path_glob.iter().map(|glob| glob_prefix(glob));
    let regexes = spec.path_regex.iter().map(|regex| regex_prefix(regex));
    let lists = [spec.path_prefix.clone(), globs.collect(), regexes.collect()];
    let keyed = |list: &&Vec<String>| !list.is_empty() && list.iter().all(closed);
    lists.iter().find(keyed).map(|list| list.iter().map(own).collect())
}

/// The extension of a path: from its last dot; empty without one.
fn extension(path: &str) -> &str {
    path.rfind('.').map_or("", |dot| &path[dot..])
}

/// The extensions that a rule needs, when each of its suffixes is one: `.php`, but not `.tar.gz`,
/// nor `s.php`.
fn extensions(spec: &RuleSpec) -> Option<Vec<String>> {
    let one = |suffix: &String| suffix.rfind('.') == Some(0);
    let keyed = !spec.path_suffix.is_empty() && spec.path_suffix.iter().all(one);
    keyed.then(|| spec.path_suffix.clone())
}

fn add(keyed: &mut Keyed, keys: &[String], number: u16) {
    for key in keys {
        let hash = xxh3_64(key.as_bytes());
        match keyed.binary_search_by_key(&hash, |(own, _)| *own) {
            Ok(at) if keyed[at].1.last() == Some(&number) => {}
            Ok(at) => keyed[at].1.push(number),
            Err(at) => keyed.insert(at, (hash, vec![number])),
        }
    }
}

fn find<'a>(keyed: &'a Keyed, key: &str) -> &'a [u16] {
    if keyed.is_empty() {
        return &[];
    }
    match keyed.binary_search_by_key(&xxh3_64(key.as_bytes()), |(own, _)| *own) {
        Ok(at) => &keyed[at].1,
        Err(_) => &[],
    }
}
