//! WHAT A REQUEST IS: its class and its target, from the operator's ordered rules.
//!
//! Two questions are answered for every request before a policy is asked. Its *class* (CAP, WWW10
//! 2001) says which resource it leans on; its *target* (LARD, ASPLOS 1998: "a URL plus any
//! arguments") says what it names, and with it which server's cache should hold it. Rules are
//! compiled once; a judgement reads a request through [`Facts`] and allocates nothing unless the
//! host has capitals. The relay and the simulator ask the same [`Rules`].
//!
//! What is compared is what was sent: percent-encoding is left untouched, so `/%7Eann` and `/~ann`
//! are two targets, as they are for a cache that follows RFC 9110. Only the host is folded to
//! lower case and loses its port.

mod classes;
mod compile;
mod explain;
mod facts;
mod index;
mod matcher;
mod pattern;
mod spec;
mod target;

pub use classes::{ClassError, ClassNames};
pub use compile::{RULES_MAX, RuleError};
pub use explain::{Explanation, Field, Finding, Miss};
pub use facts::{Described, Facts, UrlError, host_without_port};
pub use spec::{Pair, Part, RuleSpec, Scheme, SpecError, TargetSpec};

use facts::View;
use index::Index;
use matcher::Rule;
use policy::{Class, TargetId};
use target::Recipe;

/// Compiled rules, ready to judge.
#[derive(Debug)]
pub struct Rules {
    specs: Vec<RuleSpec>,
    classes: ClassNames,
    rules: Vec<Rule>,
    index: Index,
    /// One past the last rule that names a class: beyond it none can be found any more.
    classes_end: usize,
    /// One past the last rule that gives a recipe.
    recipes_end: usize,
    /// One past the last rule that wants the relay.
    relays_end: usize,
    default_recipe: Recipe,
}

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Which resource it leans on; [`Class::STATIC`] when no rule says.
    pub class: Class,
    /// What it names.
    pub target: TargetId,
    /// The first rule that matched, counted from 0: the label of logs and metrics.
    pub rule: Option<u16>,
    /// Whether it must pass through the switch, however its listener delivers: some matching rule
    /// says so.
    pub relay: bool,
    /// Whether method, host, path and query alone led to this: any request with the same ones is
    /// judged alike, whatever its other header fields are.
    pub by_line: bool,
}

impl Rules {
    /// Compiles rules in the order in which they are tried.
    ///
    /// # Errors
    /// Every mistake of every rule, in order, each with what to do about it.
    pub fn compile(specs: Vec<RuleSpec>, classes: ClassNames) -> Result<Self, Vec<RuleError>> {
        compile::compile(specs, classes)
    }

    /// Rules for an operator who gave none: everything is static, the target is the whole URL.
    pub fn none() -> Self {
        compile::compile(Vec::new(), ClassNames::default()).expect("no rule has no mistake")
    }

    /// Judges one request. The first matching rule that names a class decides the class; the first
    /// that gives a target recipe decides the target. Any that wants the relay gets it.
    pub fn judge(&self, facts: &impl Facts) -> Verdict {
        let view = View::new(facts);
        let decided = self.decide(&view);
        Verdict {
            class: decided.class.map_or(Class::STATIC, |(class, _)| class),
            target: target::target(self.recipe(&decided), &self.default_recipe, &view),
            rule: decided.first,
            relay: decided.relay,
            by_line: !decided.by_field && !self.recipe(&decided).reads_fields(),
        }
    }

    /// The specifications these rules were compiled from.
    pub fn specs(&self) -> &[RuleSpec] {
        &self.specs
    }

    /// The names of classes.
    pub fn classes(&self) -> &ClassNames {
        &self.classes
    }

    fn decide<F: Facts>(&self, view: &View<'_, F>) -> Decided {
        let mut decided = Decided::default();
        for number in self.index.candidates(view) {
            let at = usize::from(number);
            let class_open = decided.class.is_none() && at < self.classes_end;
            let recipe_open = decided.recipe.is_none() && at < self.recipes_end;
            let relay_open = !decided.relay && at < self.relays_end;
            if decided.first.is_some() && !class_open && !recipe_open && !relay_open {
                break;
            }
            let rule = &self.rules[at];
            // Tests of fields are the last ones: whoever gets to them has all else in common.
            match rule.miss(view) {
                Some(field) => {
                    decided.by_field |= field.is_of_header();
                    continue;
                }
                None => decided.by_field |= rule.reads_fields,
            }
            decided.first = decided.first.or(Some(number));
            decided.class = decided.class.or(rule.class.map(|class| (class, number)));
            if decided.recipe.is_none() && rule.recipe.is_some() {
                decided.recipe = Some(number);
            }
            decided.relay |= rule.relay;
        }
        decided
    }

    fn recipe(&self, decided: &Decided) -> &Recipe {
        let chosen = decided.recipe.and_then(|number| {
            let rule = self.rules.get(usize::from(number))?;
            rule.recipe.as_ref()
        });
        chosen.unwrap_or(&self.default_recipe)
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        self.specs == other.specs && self.classes == other.classes
    }
}

/// Which rules decided what.
#[derive(Debug, Default)]
struct Decided {
    first: Option<u16>,
    class: Option<(Class, u16)>,
    recipe: Option<u16>,
    relay: bool,
    /// Whether a header field told matching from not matching.
    by_field: bool,
}
