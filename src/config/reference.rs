//! docs/configuration.md and the JSON Schema: the declared keys, written out.

use super::keys::{Form, Key, Preset, SECTIONS, Section};
use super::kind::Kind;
use policy::POLICIES;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A string with a variable in it may stand for any value.
const VARIABLE: &str = r"\$\{.*\}";

/// What stands before the tables of the reference.
const PREFACE: &str = include_str!("preface.md");

/// The reference as Markdown.
pub fn markdown() -> String {
    let mut out = String::from(PREFACE);
    for section in SECTIONS {
        let title = title(section);
        let _ = write!(out, "\n## {title}\n\n{}\n", section.about);
        let _ = write!(out, "\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
        for key in section.keys {
            let default = match key.preset {
                Preset::Is(text) => format!("`{text}`"),
                Preset::Needed => "must be given".to_owned(),
                Preset::Unset(then) => escaped(then),
            };
            let (kind, about) = (escaped(&key.kind.describe()), escaped(key.about));
            let _ = writeln!(out, "| `{}` | {kind} | {default} | {about} |", key.name);
        }
    }
    out
}

/// The JSON Schema (2020-12) of a configuration file, for editors.
pub fn schema() -> Value {
    let mut root = Map::new();
    for section in SECTIONS {
        let table = object(section);
        match section.form {
            Form::Top => root.extend(properties(section)),
            Form::One | Form::Open => drop(root.insert(section.name.to_owned(), table)),
            Form::Named => {
                let about = section.about;
                let named =
                    json!({"type": "object", "description": about, "additionalProperties": table});
                root.insert(section.name.to_owned(), named);
            }
            Form::Many => {
                let list = json!({"type": "array", "description": section.about, "items": table});
                root.insert(section.name.to_owned(), list);
            }
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Baton",
        "description": "Configuration of the web switch Baton",
        "type": "object",
        "properties": root,
        "additionalProperties": false,
    })
}

fn title(section: &Section) -> String {
    match section.form {
        Form::Top => "Keys before the first table".to_owned(),
        Form::One | Form::Open => format!("`[{}]`", section.name),
        Form::Named => format!("`[{}.NAME]`", section.name),
        Form::Many => format!("`[[{}]]`", section.name),
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

fn object(section: &Section) -> Value {
    let mut properties = properties(section);
    if section.form == Form::Open {
        properties.extend(params());
    }
    let needed: Vec<_> =
        section.keys.iter().filter(|key| key.preset == Preset::Needed).map(|k| k.name).collect();
    let mut table = json!({
        "type": "object",
        "description": section.about,
        "properties": properties,
        "additionalProperties": false,
    });
    if !needed.is_empty() {
        table["required"] = json!(needed);
    }
    table
}

fn properties(section: &Section) -> Map<String, Value> {
    section.keys.iter().map(|key| (key.name.to_owned(), property(key))).collect()
}

fn property(key: &Key) -> Value {
    let mut property = value(key.kind);
    property["description"] = json!(key.about);
    if let Preset::Is(text) = key.preset {
        property["default"] = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    }
    property
}

fn value(kind: Kind) -> Value {
    let words = kind.words().unwrap_or(&[]);
    let or_words = |main: Value| {
        let variable = json!({"type": "string", "pattern": VARIABLE});
        match words {
            [] => json!({"anyOf": [main, variable]}),
            words => json!({"anyOf": [main, {"enum": words}, variable]}),
        }
    };
    let number = "^ *[0-9]+(\\.[0-9]+)?";
    match kind {
        Kind::Text => json!({"type": "string", "minLength": 1}),
        Kind::Texts => json!({"anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": "string", "minLength": 1}},
        ]}),
        Kind::Flag => or_words(json!({"type": "boolean"})),
        Kind::Count(min, max, _) => {
            or_words(json!({"type": "integer", "minimum": min, "maximum": max}))
        }
        Kind::Size(..) => {
            let pattern = format!("{number} *(B|[kK]B|KiB|MB|MiB|GB|GiB|TiB) *$");
            or_words(json!({"type": "string", "pattern": pattern}))
        }
        Kind::Span(..) => {
            let pattern = "^ *([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h|d))+ *$";
            or_words(json!({"type": "string", "pattern": pattern}))
        }
        Kind::Percent(_) => or_words(json!({"type": "string", "pattern": "^ *[0-9]+ *% *$"})),
        Kind::Word(words) => {
            json!({"anyOf": [{"enum": words}, {"type": "string", "pattern": VARIABLE}]})
        }
    }
}

/// The parameters of all policies: which of them go together, `baton check` knows.
fn params() -> Map<String, Value> {
    let mut abouts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for entry in POLICIES {
        for param in entry.params {
            let (default, kind) = ((param.default)(), param.kind.describe());
            let about = format!("{}: {} ({kind}; default {default})", entry.name, param.about);
            abouts.entry(param.name).or_default().push(about);
        }
    }
    let property = |(name, about): (&str, Vec<String>)| {
        (name.to_owned(), json!({"description": about.join("\n")}))
    };
    abouts.into_iter().map(property).collect()
}
