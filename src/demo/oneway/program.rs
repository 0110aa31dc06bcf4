//! A program that the demonstration starts: heard while it lives, and killed when it is dropped.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// Lines that wait to be heard; of more, the later are lost.
const LINES_MAX: usize = 64;
/// How long anything may take that is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked meanwhile whether to stop.
pub(super) const STEP: Duration = Duration::from_millis(50);

/// A running program.
pub(super) struct Program(Child);

impl Program {
    /// Starts it and waits until it says `word` on standard error. What a terminal's Ctrl-C ends is
    /// this process, which then ends what it started.
    ///
    /// # Errors
    /// When it cannot be started; when it ends without the word, with what it said instead; when
    /// it takes too long, or this is to stop.
    pub(super) fn start(
        name: &str,
        command: &mut Command,
        word: &str,
        stop: &AtomicBool,
    ) -> Result<Self> {
        command.process_group(0).stdin(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let mut program = Self(child);
        let lines = program.lines();
        let mut said = Vec::new();
        let mut patience = PATIENCE;
        loop {
            go_on(stop)?;
            match lines.recv_timeout(STEP) {
                Ok(line) if line.contains(word) => return Ok(program),
                Ok(line) => said.push(line),
                Err(RecvTimeoutError::Timeout) if patience > STEP => patience -= STEP,
                Err(RecvTimeoutError::Timeout) => bail!("{name} does not get ready"),
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("{name} has ended: {}", said.join("; "))
                }
            }
        }
    }

    /// What it says on standard error, line by line. It is read as long as the program runs,
    /// heard or not.
    fn lines(&mut self) -> Receiver<String> {
        let stderr = self.0.stderr.take().expect("its standard error is a pipe");
        let mut stderr = BufReader::new(stderr);
        let (tell, lines) = sync_channel(LINES_MAX);
        thread::spawn(move || {
            let mut line = Vec::new();
            while stderr.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                let _unheard = tell.try_send(String::from_utf8_lossy(&line).trim_end().to_owned());
                line.clear();
            }
        });
        lines
    }

    /// Has it finish what it is at, and waits until it has ended.
    ///
    /// # Errors
    /// When it takes too long, or this is to stop; then it is killed.
    pub(super) fn end(mut self, stop: &AtomicBool) -> Result<()> {
        let id = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        let id = id.context("it has no number")?;
        // Nobody has waited for it yet, so the number is still its own.
        kill_process(id, Signal::TERM).context("cannot end a program")?;
        wait("the end of a program", stop, || Ok(self.0.try_wait()?)).map(drop)
    }

    /// What it writes to standard output, if that is a pipe and nobody has it yet.
    pub(super) fn output(&mut self) -> Option<ChildStdout> {
        self.0.stdout.take()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// # Errors
/// [`testbed::Error::Interrupted`] if this is to stop.
pub(super) fn go_on(stop: &AtomicBool) -> Result<()> {
    match stop.load(Ordering::Relaxed) {
        true => Err(testbed::Error::Interrupted.into()),
        false => Ok(()),
    }
}

/// Waits until `look` gives something, or says that it never will.
///
/// # Errors
/// Its own; when it takes too long, or this is to stop.
pub(super) fn wait<T>(
    what: &str,
    stop: &AtomicBool,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let mut patience = PATIENCE;
    while patience > STEP {
        go_on(stop)?;
        if let Some(found) = look()? {
            return Ok(found);
        }
        thread::park_timeout(STEP);
        patience -= STEP;
    }
    bail!("{what} does not come")
}
