//! `baton schema`: the keys of the configuration, for editors and for people.

use crate::config::reference;
use crate::exit::{Exit, Outcome};
use crate::flags::{Schema, SchemaFormat};
use std::io::{self, Write};

/// Prints the JSON Schema or the reference.
///
/// # Errors
/// When nothing can be written.
pub fn run(args: &Schema) -> Outcome {
    let text = match args.format {
        SchemaFormat::Json => format!("{:#}\n", reference::schema()),
        SchemaFormat::Markdown => reference::markdown(),
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(Exit::Done)
}
