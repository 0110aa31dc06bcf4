//! The site of a scenario as files, so that a real server can serve it.

use super::plan::{Asked, Job};
use anyhow::{Context, Result, bail};
use origin::content;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Bytes of all files at most: what is larger is hardly meant.
const BYTES_MAX: u64 = 100 << 30;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Files.
    pub files: u64,
    /// All of them, in bytes.
    pub bytes: u64,
    /// Whether programs answer some requests: of them no file is written.
    pub programs: bool,
}

/// Writes every file of the site under `folder`, by its path in the URL. What is in them is what
/// `baton origin` would answer, for the host of the job's URL.
///
/// # Errors
/// When nothing but a single object or a log is asked for, or a file cannot be written.
pub fn write(job: &Job, folder: &Path) -> Result<Written> {
    let Asked::Pages(script) = &job.asked else {
        bail!("a single object and a log have no site; write the URL without a path");
    };
    let visits = script.visits(job.seed);
    let site_bytes = visits.site_bytes();
    if site_bytes > BYTES_MAX {
        bail!("the site would be of {site_bytes} bytes; give [site] fewer documents and objects");
    }
    let answers = script.services.iter().flat_map(|kind| {
        std::iter::once(kind.html).chain(kind.embedded.iter().map(|(_, answer)| *answer))
    });
    let mut written =
        Written { programs: answers.into_iter().any(|a| a.program), ..Written::default() };
    for (url, bytes, _) in load::files(&visits) {
        let path = folder.join(url.trim_start_matches('/'));
        file(&path, content::target(Some(&job.target.authority), &url), bytes)
            .with_context(|| format!("cannot write {}", path.display()))?;
        written.files += 1;
        written.bytes += bytes;
    }
    Ok(written)
}

fn file(path: &Path, target: policy::TargetId, bytes: u64) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = BufWriter::new(File::create(path)?);
    let mut done = 0;
    while done < bytes {
        let piece = content::slice(target, done, bytes - done);
        file.write_all(piece)?;
        done += piece.len() as u64;
    }
    file.flush()
}
