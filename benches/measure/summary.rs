//! What a load says at its end: one line of exact numbers, `summary requests=1234 p99_us=56 ...`.

use anyhow::{Context, Result, ensure};

/// That line.
pub struct Summary<'a>(&'a str);

impl<'a> Summary<'a> {
    /// Of a run in which requests were answered, and in full.
    pub fn of(said: &'a str, body_bytes: usize) -> Result<Self> {
        let line = said.lines().find_map(|line| line.strip_prefix("summary "));
        let summary = Self(line.context("the load printed no summary")?);
        let requests = summary.field("requests")?;
        ensure!(requests > 0, "no request was answered");
        let least = requests * u64::try_from(body_bytes)?;
        ensure!(summary.field("bytes")? > least, "replies were shorter than the file");
        Ok(summary)
    }

    /// One of its numbers.
    pub fn field(&self, name: &str) -> Result<u64> {
        let word = self.0.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let number = word.and_then(|word| word.parse().ok());
        number.with_context(|| format!("no {name} in {:?}", self.0))
    }

    /// Requests answered in a second.
    pub fn requests_per_second(&self) -> Result<f64> {
        Ok(self.field("requests")? as f64 * 1e6 / self.field("duration_us")? as f64)
    }
}
