//! From plain rules to compiled ones, with every mistake named.

use crate::index::Index;
use crate::matcher::{self, Rule, Test};
use crate::pattern::{Pattern, glob_prefix, regex_prefix};
use crate::target::Recipe;
use crate::{ClassNames, RuleSpec, Rules, TargetSpec};
use globset::GlobBuilder;
use regex::bytes::RegexBuilder;

/// Rules a switch can have at most: a bound, far above what anybody reads through.
pub const RULES_MAX: usize = 10_000;

/// Memory that one compiled pattern may take: what `regex` needs for any sensible one, and a stop
/// for `(a{1000}){1000}`.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// A mistake in a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rule {}: {field}: {message}; {remedy}", rule + 1)]
pub struct RuleError {
    /// Which rule, from 0.
    pub rule: usize,
    /// Which key of it; empty when the rule as a whole is meant.
    pub field: &'static str,
    /// Which entry of the key's list, from 0; 0 for a key that is no list.
    pub item: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

pub(crate) fn compile(specs: Vec<RuleSpec>, classes: ClassNames) -> Result<Rules, Vec<RuleError>> {
    let mut errors = Vec::new();
    if specs.len() > RULES_MAX {
        let message = format!("{} rules are more than the {RULES_MAX} there may be", specs.len());
        let remedy = "join rules with lists, globs or regular expressions".to_owned();
        return Err(vec![RuleError { rule: RULES_MAX, field: "", item: 0, message, remedy }]);
    }
    let mut rules = Vec::with_capacity(specs.len());
    for (number, spec) in specs.iter().enumerate() {
        rules.push(Compiler { number, spec, classes: &classes, errors: &mut errors }.rule());
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let end = |given: fn(&Rule) -> bool| rules.iter().rposition(given).map_or(0, |last| last + 1);
    Ok(Rules {
        classes_end: end(|rule| rule.class.is_some()),
        recipes_end: end(|rule| rule.recipe.is_some()),
        relays_end: end(|rule| rule.relay),
        index: Index::new(&specs),
        default_recipe: Recipe::new(&TargetSpec::default()),
        rules,
        specs,
        classes,
    })
}

struct Compiler<'a> {
    number: usize,
    spec: &'a RuleSpec,
    classes: &'a ClassNames,
    errors: &'a mut Vec<RuleError>,
}

impl Compiler<'_> {
    fn rule(mut self) -> Rule {
        let spec = self.spec;
        self.texts();
        let mut tests = matcher::tests(spec);
        let globs = (0..).zip(&spec.path_glob).filter_map(|(item, glob)| self.glob(item, glob));
        let globs: Vec<_> = globs.collect();
        if !globs.is_empty() {
            tests.push(Test::PathGlob(globs));
        }
        let regexes = (0..)
            .zip(&spec.path_regex)
            .filter_map(|(item, regex)| self.regex("path_regex", item, regex, regex_prefix(regex)));
        let regexes: Vec<_> = regexes.collect();
        if !regexes.is_empty() {
            tests.push(Test::PathRegex(regexes));
        }
        let mut rule = Rule::new(tests);
        if let Some(name) = &spec.class {
            rule.class = self.classes.class(name);
            if rule.class.is_none() {
                let names: Vec<_> = self.classes.iter().collect();
                let remedy = format!("use one of {}, or add it to [classes]", names.join(", "));
                self.error("class", 0, format!("there is no class {name:?}"), &remedy);
            }
        }
        rule.recipe = spec.target.as_ref().map(Recipe::new);
        rule.relay = spec.relay;
        if spec.class.is_none() && spec.target.is_none() && !spec.relay {
            let remedy = "give it a class, a target, or delivery = \"relay\"";
            self.error("", 0, "the rule decides nothing", remedy);
        }
        rule
    }

    /// Checks what is compared as text.
    fn texts(&mut self) {
        let spec = self.spec;
        for (item, method) in spec.method.iter().enumerate() {
            if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
                let message = format!("{method:?} is no method a client would send");
                self.error("method", item, message, "write methods in capitals, such as \"GET\"");
            }
        }
        for (item, host) in spec.host.iter().enumerate() {
            self.host(item, host);
        }
        for (field, list) in [("path", &spec.path), ("path_prefix", &spec.path_prefix)] {
            for (item, path) in list.iter().enumerate() {
                if !path.starts_with('/') {
                    let message = format!("{path:?} can match no path: all begin with /");
                    self.error(field, item, message, &format!("write \"/{path}\""));
                } else if path.contains(['?', '#']) {
                    let message = format!("{path:?} can match no path: it holds a query");
                    self.error(field, item, message, "match the query with the key query");
                }
            }
        }
        if let Some(item) = spec.path_suffix.iter().position(String::is_empty) {
            self.error("path_suffix", item, "an empty suffix matches everything", "remove it");
        }
    }

    fn host(&mut self, item: usize, host: &str) {
        let name = host.strip_prefix("*.").unwrap_or(host);
        let port = crate::host_without_port(name) != name;
        let message = if port {
            "hosts are matched without their port"
        } else if name.is_empty() || name.contains(['*', '/', ' ']) {
            "this is no host"
        } else {
            return;
        };
        let message = format!("{host:?}: {message}");
        self.error("host", item, message, "write \"example.com\" or \"*.example.com\"");
    }

    fn glob(&mut self, item: usize, glob: &str) -> Option<Pattern> {
        match GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build() {
            Ok(built) => self.regex("path_glob", item, built.regex(), glob_prefix(glob)),
            Err(error) => {
                let remedy = "* is any part of a segment, ** any segments, ? one character";
                self.error("path_glob", item, error.kind().to_string(), remedy);
                None
            }
        }
    }

    fn regex(
        &mut self,
        field: &'static str,
        item: usize,
        regex: &str,
        prefix: String,
    ) -> Option<Pattern> {
        match RegexBuilder::new(regex).size_limit(PATTERN_BYTES_MAX).build() {
            Ok(regex) => Some(Pattern::new(prefix, regex)),
            Err(regex::Error::CompiledTooBig(_)) => {
                self.error(field, item, "this expression is too large", "repeat fewer times");
                None
            }
            Err(error) => {
                let text = error.to_string();
                let cause = text.lines().last().unwrap_or("").trim_start_matches("error: ");
                let message = format!("no regular expression: {cause}");
                let remedy = "see docs.rs/regex for the syntax; use '...' strings in TOML";
                self.error(field, item, message, remedy);
                None
            }
        }
    }

    fn error(
        &mut self,
        field: &'static str,
        item: usize,
        message: impl Into<String>,
        remedy: &str,
    ) {
        let (message, remedy) = (message.into(), remedy.to_owned());
        self.errors.push(RuleError { rule: self.number, field, item, message, remedy });
    }
}
