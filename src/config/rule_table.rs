//! `[classes]` and `[[rule]]`: compiled rules, mistakes put at the entry that has them.

use super::build::Builder;
use super::problem::Problem;
use super::source::Place;
use super::values::{Texts, Values};
use rules::{ClassNames, Pair, RuleSpec, Rules, TargetSpec};
use std::collections::HashMap;

/// Bytes of a rule's name.
const NAME_BYTES_MAX: usize = 64;

/// What metrics, explanations and the page call the rule at an index.
pub fn rule_label(index: usize, name: Option<&str>) -> String {
    name.map_or_else(|| format!("rule-{}", index + 1), str::to_owned)
}

fn fits(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

impl Builder<'_> {
    pub(crate) fn class_names(&mut self) -> ClassNames {
        let table = self.document.one("classes");
        let names = table.texts("names");
        let own: Vec<_> = names.iter().map(|(name, _)| name).collect();
        ClassNames::new(&own).unwrap_or_else(|(index, error)| {
            let place = names[index].1.clone().or_else(|| table.place("names"));
            let first = names[..index].iter().find(|(name, _)| *name == names[index].0);
            let problem = Problem::error(place, error.to_string(), "choose another name");
            self.problems.push(problem.after(first.and_then(|(_, place)| place.clone())));
            ClassNames::default()
        })
    }

    /// What rules are called, where it is said.
    pub(crate) fn rule_names(&mut self) -> Vec<Option<String>> {
        let tables = self.document.many("rule");
        let names: Vec<_> = tables.iter().map(|table| table.text("name")).collect();
        let mut seen: HashMap<String, Option<Place>> = HashMap::new();
        for (at, name) in names.iter().enumerate() {
            let label = rule_label(at, name.as_deref());
            let place = tables[at].place("name").or_else(|| tables[at].place.clone());
            let number = name.as_deref().and_then(|name| name.strip_prefix("rule-"));
            if number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
                let message = format!("{label:?} is what rules without a name are called");
                self.error(place.clone(), message, "choose another name");
            } else if !fits(&label) {
                let message = format!("{label:?} is no name for a rule");
                self.error(place.clone(), message, "use 1 to 64 letters, digits and - _ . :");
            } else if let Some(first) = seen.get(&label) {
                let message = format!("two rules are called {label:?}");
                let problem = Problem::error(place.clone(), message, "choose another name");
                self.problems.push(problem.after(first.clone()));
            }
            seen.entry(label).or_insert(place);
        }
        names
    }

    /// The rules; `None` after mistakes.
    pub(crate) fn rules(&mut self) -> Option<Rules> {
        let tables = self.document.many("rule");
        let before = self.problems.len();
        let specs: Vec<_> = tables.iter().map(|table| self.rule(table)).collect();
        let mistaken = self.problems.len() > before;
        self.shadowed(&tables, &specs);
        match Rules::compile(specs, self.classes.clone()) {
            Ok(rules) if !mistaken => Some(rules),
            Ok(_) => None,
            Err(errors) => {
                for error in errors {
                    let spoilt =
                        |table: &Values| ["class", "target"].map(|key| table.is_spoilt(key));
                    let table = tables.get(error.rule);
                    if error.field.is_empty() && table.is_some_and(|t| spoilt(t).contains(&true)) {
                        continue;
                    }
                    let place = table.and_then(|table| {
                        let list = match error.field {
                            "" => return table.place.clone(),
                            "class" | "target" | "scheme" => Vec::new(),
                            field => table.texts(field),
                        };
                        let item = list.get(error.item).and_then(|(_, place)| place.clone());
                        item.or_else(|| table.place(error.field))
                    });
                    self.error(place, error.message, error.remedy);
                }
                None
            }
        }
    }

    fn rule(&mut self, table: &Values) -> RuleSpec {
        let texts = |key| table.texts(key).into_iter().map(|(text, _)| text).collect();
        RuleSpec {
            method: texts("method"),
            scheme: table.word("scheme").and_then(|word| word.parse().ok()),
            host: texts("host"),
            path: texts("path"),
            path_prefix: texts("path_prefix"),
            path_suffix: texts("path_suffix"),
            path_glob: texts("path_glob"),
            path_regex: texts("path_regex"),
            query: self.pairs(table, "query"),
            header: self.pairs(table, "header"),
            cookie: self.pairs(table, "cookie"),
            class: table.text("class"),
            target: self.target(table),
            relay: table.word("delivery") == Some("relay"),
        }
    }

    fn pairs(&mut self, table: &Values, key: &str) -> Vec<Pair> {
        let texts: Texts = table.texts(key);
        let mut pairs = Vec::with_capacity(texts.len());
        for (text, place) in texts {
            match text.parse::<Pair>() {
                Ok(pair) => pairs.push(pair),
                Err(error) => {
                    let place = place.or_else(|| table.place(key));
                    self.error(place, format!("{text:?} names nothing"), error.to_string());
                }
            }
        }
        pairs
    }

    fn target(&mut self, table: &Values) -> Option<TargetSpec> {
        let text = table.text("target")?;
        match text.parse::<TargetSpec>() {
            Ok(target) => Some(target),
            Err(error) => {
                let remedy = "write parts such as \"host+path\" or \"path+query:id,page\"";
                self.error(table.place("target"), error.to_string(), remedy);
                // Anything, so that the rule is not blamed for deciding nothing as well.
                Some(TargetSpec::default())
            }
        }
    }

    /// Warns of rules behind some that match everything, or just the same, and have decided all
    /// that these decide.
    fn shadowed(&mut self, tables: &[Values], specs: &[RuleSpec]) {
        let everything = RuleSpec::default();
        let mut decided: HashMap<RuleSpec, [Option<usize>; 3]> = HashMap::new();
        for (at, (spec, table)) in specs.iter().zip(tables).enumerate() {
            let matched = RuleSpec { class: None, target: None, relay: false, ..spec.clone() };
            let decides = [spec.class.is_some(), spec.target.is_some(), spec.relay];
            let before = |what: usize| {
                let by = |rule| decided.get(rule).and_then(|by| by[what]);
                by(&everything).or_else(|| by(&matched))
            };
            let mut late = (0..decides.len()).filter(|what| decides[*what]).map(before).peekable();
            if late.peek().is_some()
                && let Some(by) = late.try_fold(0, |last, by| by.map(|by: usize| by.max(last)))
            {
                let general =
                    RuleSpec { class: None, target: None, relay: false, ..specs[by].clone() };
                let (how, remedy) = match general == everything && matched != everything {
                    true => ("every request", "move the general rule to the end"),
                    false => ("the same requests", "keep one of the two"),
                };
                let message =
                    format!("this rule decides nothing: rule {} matches {how} before it", by + 1);
                let problem = Problem::warning(table.place.clone(), message, remedy);
                self.problems.push(problem.after(tables[by].place.clone()));
            }
            let by = decided.entry(matched).or_default();
            for (by, decides) in by.iter_mut().zip(decides) {
                *by = by.or(decides.then_some(at));
            }
        }
    }
}
