//! Where configuration comes from: files and flags, and places in them.

use std::ops::Range;

/// A text that configuration was read from.
#[derive(Clone, Debug)]
pub struct Source {
    /// A path, or the name of a flag such as `--server`.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// A part of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index among the sources.
    pub source: usize,
    /// Bytes of its text.
    pub span: Range<usize>,
}

/// A place as people count: from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
    /// The whole line.
    pub text: String,
}

impl Place {
    pub(crate) fn new(source: usize, span: Range<usize>) -> Self {
        Self { source, span }
    }
}

impl Source {
    /// The line and column of a byte; of the end for a byte beyond it.
    pub fn spot(&self, byte: usize) -> Spot {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &self.text[..byte];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Spot {
            line: before.matches('\n').count() + 1,
            column: self.text[start..byte].chars().count() + 1,
            text: self.text[start..].lines().next().unwrap_or("").to_owned(),
        }
    }
}
