//! From a request to its target: a 64-bit hash of the parts that count.
//!
//! The hash is XXH3 with a fixed seed (Collet, xxHash 0.8), each part seeding the next: nothing is
//! copied together, and `ab` + `c` differs from `a` + `bc`. It is the same on every machine and in
//! every version of the program, because several switches and a simulation of their logs must agree
//! on targets. It is no secret: somebody who wants two URLs to collide can find them, and gains
//! that they share a server.

use crate::facts::View;
use crate::{Facts, Part, TargetSpec};
use policy::TargetId;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Where every target starts. Changing it moves every target of every user.
const SEED: u64 = 0x6261_746f_6e31;

/// A part that is there differs from an empty one that is not by this.
const ABSENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A target specification, ready for use.
#[derive(Clone, Debug)]
pub(crate) struct Recipe(Vec<Part>);

impl Recipe {
    pub(crate) fn new(spec: &TargetSpec) -> Self {
        Self(spec.0.clone())
    }

    /// Whether a header field is part of it.
    pub(crate) fn reads_fields(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Header(_) | Part::Cookie(_)))
    }
}

/// The target by `recipe`, or by `whole` when nothing that `recipe` asks for is there.
pub(crate) fn target<F: Facts>(recipe: &Recipe, whole: &Recipe, view: &View<'_, F>) -> TargetId {
    let (hash, found) = hash(recipe, view);
    TargetId(if found { hash } else { self::hash(whole, view).0 })
}

/// The same target as people read it. Values of fields and cookies may be secrets: of these only
/// the length is said.
pub(crate) fn text<F: Facts>(recipe: &Recipe, whole: &Recipe, view: &View<'_, F>) -> String {
    let recipe = if hash(recipe, view).1 { recipe } else { whole };
    let mut text = String::new();
    let secret = |kind: &str, name: &str, value: Option<&[u8]>| {
        let bytes = value.map_or("absent".to_owned(), |value| format!("{} bytes", value.len()));
        format!(" {kind} {name} ({bytes})")
    };
    for part in &recipe.0 {
        match part {
            Part::Host => text += &view.host,
            Part::Path => text += view.path,
            Part::Query => text.extend(view.query.into_iter().flat_map(|query| ["?", query])),
            Part::Header(name) => text += &secret("header", name, view.facts.field(name)),
            Part::Cookie(name) => text += &secret("cookie", name, view.facts.cookie(name)),
            Part::Parameters(names) => {
                let mut sign = "?";
                for name in names {
                    for (_, value) in view.parameters().filter(|(own, _)| own == name) {
                        text.extend([sign, name, "=", value]);
                        sign = "&";
                    }
                }
            }
        }
    }
    text.trim_start().to_owned()
}

fn hash<F: Facts>(recipe: &Recipe, view: &View<'_, F>) -> (u64, bool) {
    let mut hash = SEED;
    let mut found = false;
    for part in &recipe.0 {
        let value = match part {
            Part::Host => Some(view.host.as_bytes()),
            Part::Path => Some(view.path.as_bytes()),
            Part::Query => view.query.map(str::as_bytes),
            Part::Header(name) => view.facts.field(name),
            Part::Cookie(name) => view.facts.cookie(name),
            Part::Parameters(names) => {
                for name in names {
                    for (_, value) in view.parameters().filter(|(own, _)| own == name) {
                        hash = xxh3_64_with_seed(name.as_bytes(), hash);
                        hash = xxh3_64_with_seed(value.as_bytes(), hash);
                        found = true;
                    }
                }
                continue;
            }
        };
        hash = value.map_or(hash ^ ABSENT, |value| xxh3_64_with_seed(value, hash));
        found |= value.is_some();
    }
    (hash, found)
}
