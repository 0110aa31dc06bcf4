//! Where a trace is written: a file, packed by its name, that appears when it is whole.

use crate::logs::Unfit;
use anyhow::{Context, Result};
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// How hard zstd tries: its own default.
const ZSTD_LEVEL: i32 = 3;

/// Writes a file, or standard output for `-`, by `write`. Another file of that name stays as it was
/// until the new one is whole.
///
/// # Errors
/// When that is not possible; those of `write`.
pub fn create(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    if path.as_os_str() == "-" {
        let mut out = BufWriter::new(io::stdout().lock());
        write(&mut out)?;
        return Ok(out.flush()?);
    }
    let cannot = || format!("cannot write {}", path.display());
    // What is there and no file, such as /dev/null, cannot be replaced.
    let special = path.metadata().is_ok_and(|meta| !meta.is_file());
    let part = if special { path.to_owned() } else { beside(path) };
    let file = File::create(&part).with_context(cannot)?;
    let written = packed(path, file, write);
    if special {
        return written;
    }
    match written {
        Ok(()) => fs::rename(&part, path).with_context(cannot),
        Err(error) => {
            // The trouble that is reported is the first one.
            let _leftover = fs::remove_file(&part);
            Err(error)
        }
    }
}

/// Refuses to write over what is read.
///
/// # Errors
/// [`Unfit::Usage`].
pub fn is_none_of(path: &Path, inputs: &[PathBuf]) -> Result<(), Unfit> {
    let same = |input: &PathBuf| match (input.canonicalize(), path.canonicalize()) {
        (Ok(input), Ok(path)) => input == path && input.is_file(),
        _ => false,
    };
    if inputs.iter().any(same) {
        let path = path.display();
        return Err(Unfit::Usage(format!("{path} is read: give --out another name")));
    }
    Ok(())
}

fn packed(path: &Path, file: File, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let mut file = BufWriter::new(file);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("zst") => {
            let encoder = zstd::Encoder::new(&mut file, ZSTD_LEVEL).with_context(cannot)?;
            let mut buffer = BufWriter::new(encoder);
            write(&mut buffer)?;
            let encoder = buffer.into_inner().map_err(io::IntoInnerError::into_error);
            encoder.and_then(zstd::Encoder::finish).with_context(cannot)?;
        }
        Some("gz") => {
            let encoder = GzEncoder::new(&mut file, flate2::Compression::default());
            let mut buffer = BufWriter::new(encoder);
            write(&mut buffer)?;
            let encoder = buffer.into_inner().map_err(io::IntoInnerError::into_error);
            encoder.and_then(GzEncoder::finish).with_context(cannot)?;
        }
        _ => write(&mut file)?,
    }
    file.flush().with_context(cannot)
}

/// A name beside the file's, in the same folder, so that it can be renamed.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".part{}", std::process::id()));
    path.with_file_name(name)
}
