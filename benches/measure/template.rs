//! Configurations with places to fill.

use anyhow::{Result, ensure};
use std::path::Path;

/// Replaces each `@KEY@`; none may be left.
pub fn fill(template: &str, values: &[(&str, &str)]) -> Result<String> {
    let filled = values
        .iter()
        .fold(template.to_owned(), |text, (key, value)| text.replace(&format!("@{key}@"), value));
    ensure!(!filled.contains('@'), "a placeholder without a value in:\n{filled}");
    Ok(filled)
}

/// A path as a word of a command.
pub fn text(path: &Path) -> String {
    path.display().to_string()
}

/// One way to configure a program: what to put where the file has `@KEY@`.
#[derive(Debug)]
pub struct Variant {
    pub label: &'static str,
    pub values: &'static [(&'static str, &'static str)],
}
