//! Programs that run beside us: measured, and gone when we are.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How often a child is looked at while we wait for it.
pub const GLANCE: Duration = Duration::from_millis(20);

/// Somebody asked us to stop.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Turns SIGINT, SIGTERM and SIGHUP into an error of the next [`go_on`], so that every guard runs.
pub fn watch_signals() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut signals = {
        let _inside = runtime.enter();
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        kinds.map(signal).into_iter().collect::<Result<Vec<_>, _>>()?
    };
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            let [interrupt, terminate, hang_up] = &mut signals[..] else { return };
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
        });
        STOPPED.store(true, Ordering::Relaxed);
    })?;
    Ok(())
}

/// An error once we were asked to stop.
pub fn go_on() -> Result<()> {
    if STOPPED.load(Ordering::Relaxed) {
        bail!("stopped by a signal; nothing was recorded");
    }
    Ok(())
}

/// Words of a command that dies with us.
pub const WITH_US: [&str; 4] = ["setpriv", "--pdeathsig", "KILL", "--"];

/// A running program; it is killed when this is dropped, and by the kernel when we are killed.
pub struct Child {
    pub name: String,
    process: std::process::Child,
    log: PathBuf,
}

impl Child {
    /// Starts a program; what it says goes to a file in `dir`. `around` is what it is started by: a
    /// command that takes another behind it, does something to itself, and becomes that other, so
    /// that the child's id is the program's.
    pub fn start(name: &str, dir: &Path, mut around: Command, program: &[&str]) -> Result<Self> {
        let log = dir.join(format!("{name}.log"));
        let file = File::create(&log)?;
        let process = around
            .args(program)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("cannot start {name} by {:?}", around.get_program()))?;
        Ok(Self { name: name.to_owned(), process, log })
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Everything it has said.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Whether it ended, and well.
    pub fn ended(&mut self) -> Result<Option<bool>> {
        Ok(self.process.try_wait()?.map(|status| status.success()))
    }

    /// An error with its last words when it has ended.
    pub fn must_run(&mut self) -> Result<()> {
        go_on()?;
        if self.ended()?.is_some() {
            bail!("{} ended by itself; it said:\n{}", self.name, self.said());
        }
        Ok(())
    }

    /// Waits until it has done its work.
    pub fn finish(mut self) -> Result<String> {
        loop {
            go_on()?;
            match self.ended()? {
                None => thread::sleep(GLANCE),
                Some(true) => return Ok(self.said()),
                Some(false) => bail!("{} failed; it said:\n{}", self.name, self.said()),
            }
        }
    }

    /// CPU time of all its threads so far, user and system, in nanoseconds. The scheduler's own
    /// count: `utime + stime` of `/proc/PID/stat` is this, rounded to hundredths of a second.
    pub fn cpu_ns(&self) -> Result<u64> {
        let tasks = format!("/proc/{}/task", self.id());
        let mut sum = 0;
        for task in fs::read_dir(&tasks).with_context(|| format!("cannot read {tasks}"))? {
            let path = task?.path().join("schedstat");
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {} (CONFIG_SCHED_INFO)", path.display()))?;
            let first = text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
            sum += first.with_context(|| format!("{}: {text:?}", path.display()))?;
        }
        Ok(sum)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Already gone is as good; and it must be reaped either way.
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}
