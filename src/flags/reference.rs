//! Flags of the commands that print what belongs to the program: schema, completions, manual.

use clap::{Args, ValueEnum};

/// Flags of `baton schema`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  baton schema > baton.schema.json   # for taplo and editors")]
pub struct Schema {
    /// JSON Schema, or the reference as Markdown
    #[arg(long, value_enum, default_value_t)]
    pub format: SchemaFormat,
}

/// Forms of the list of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SchemaFormat {
    /// JSON Schema 2020-12.
    #[default]
    Json,
    /// docs/configuration.md.
    Markdown,
}

/// Flags of `baton completions`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  baton completions bash > ~/.local/share/bash-completion/completions/baton")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Flags of `baton man`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  baton man                        # the pages there are
  baton man baton | man -l -       # the program's
  baton man explain | man -l -     # a subcommand's")]
pub struct Man {
    /// The page to print: `baton`, or a subcommand; all are listed without one
    #[arg(value_name = "PAGE")]
    pub page: Option<String>,
}
