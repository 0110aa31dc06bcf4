//! Why a request is what it is: every rule, and the first matcher that turned it away.

use crate::facts::View;
use crate::target;
use crate::{Facts, Rules, TargetSpec, Verdict};
use core::fmt;
use policy::Class;

/// A matcher of a rule, by its name in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `method`
    Method,
    /// `scheme`
    Scheme,
    /// `host`
    Host,
    /// `path`
    Path,
    /// `path_prefix`
    PathPrefix,
    /// `path_suffix`
    PathSuffix,
    /// `path_glob`
    PathGlob,
    /// `path_regex`
    PathRegex,
    /// `query`
    Query,
    /// `header`
    Header,
    /// `cookie`
    Cookie,
}

/// A judgement with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What [`Rules::judge`] says.
    pub verdict: Verdict,
    /// The rule that decided the class; `None`: no rule did, the class is static.
    pub class_rule: Option<u16>,
    /// The rule that decided the target; `None`: no rule did, it is the whole URL.
    pub target_rule: Option<u16>,
    /// What the target is made of.
    pub target: TargetSpec,
    /// The target itself, such as `www.example.com/shop?id=7`.
    pub target_text: String,
    /// Every rule in order.
    pub findings: Vec<Finding>,
}

/// What came of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its number, from 0.
    pub rule: u16,
    /// Why it did not match; `None` when it did.
    pub miss: Option<Miss>,
}

/// Why a rule did not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The first matcher that said no.
    pub field: Field,
    /// What it wants.
    pub wanted: String,
    /// What the request has.
    pub found: String,
}

impl Rules {
    /// Judges like [`Rules::judge`] and says why. Tries every rule: not for the path of requests.
    pub fn explain(&self, facts: &impl Facts) -> Explanation {
        let view = View::new(facts);
        let decided = self.decide(&view);
        let spec = decided.recipe.and_then(|rule| self.specs[usize::from(rule)].target.clone());
        let finding = |(number, rule): (u16, &crate::Rule)| Finding {
            rule: number,
            miss: rule.miss(&view).map(|field| Miss {
                field,
                wanted: self.wanted(number, field),
                found: found(field, &view),
            }),
        };
        Explanation {
            verdict: self.judge(facts),
            class_rule: decided.class.map(|(_, rule)| rule),
            target_rule: decided.recipe,
            target: spec.unwrap_or_default(),
            target_text: target::text(self.recipe(&decided), &self.default_recipe, &view),
            findings: (0u16..).zip(&self.rules).map(finding).collect(),
        }
    }

    fn wanted(&self, rule: u16, field: Field) -> String {
        let spec = &self.specs[usize::from(rule)];
        let pairs = |list: &[crate::Pair]| {
            list.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
        };
        match field {
            Field::Method => spec.method.join(" or "),
            Field::Scheme => spec.scheme.map_or(String::new(), |scheme| scheme.name().to_owned()),
            Field::Host => spec.host.join(" or "),
            Field::Path => spec.path.join(" or "),
            Field::PathPrefix => spec.path_prefix.join(" or "),
            Field::PathSuffix => spec.path_suffix.join(" or "),
            Field::PathGlob => spec.path_glob.join(" or "),
            Field::PathRegex => spec.path_regex.join(" or "),
            Field::Query => pairs(&spec.query),
            Field::Header => pairs(&spec.header),
            Field::Cookie => pairs(&spec.cookie),
        }
    }
}

impl Explanation {
    /// The class as a name.
    pub fn class<'a>(&self, rules: &'a Rules) -> &'a str {
        let class: Class = self.verdict.class;
        rules.classes().name(class)
    }
}

impl Field {
    /// Its key in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::Scheme => "scheme",
            Self::Host => "host",
            Self::Path => "path",
            Self::PathPrefix => "path_prefix",
            Self::PathSuffix => "path_suffix",
            Self::PathGlob => "path_glob",
            Self::PathRegex => "path_regex",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

impl Field {
    /// Whether it is about header fields, which only who reads the whole head can know.
    pub(crate) const fn is_of_header(self) -> bool {
        matches!(self, Self::Header | Self::Cookie)
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {:?}, not {}", self.field.name(), self.found, self.wanted)
    }
}

fn found<F: Facts>(field: Field, view: &View<'_, F>) -> String {
    match field {
        Field::Method => view.facts.method().to_owned(),
        Field::Scheme => view.facts.scheme().name().to_owned(),
        Field::Host => view.host.to_string(),
        Field::Query => view.query.unwrap_or("").to_owned(),
        // Values of fields and cookies may be secrets: an explanation does not repeat them.
        Field::Header | Field::Cookie => "other or missing".to_owned(),
        _ => view.path.to_owned(),
    }
}
