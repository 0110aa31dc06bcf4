//! Who used the CPU: the scheduler's own account of threads, by their names.

use crate::demo::ORIGINS_THREAD;
use anyhow::{Context, Result};
use std::fs;

/// The worker threads of a switch in this process are called so, with a number behind.
const WORKERS: &str = "baton-";

/// CPU time since each thread began, in nanoseconds, and the time of the clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    at_ns: u64,
    front_ns: u64,
    origins_ns: u64,
    rest_ns: u64,
    machine_ns: u64,
}

/// What was used between two readings, in cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// Real time between them, in seconds.
    pub span_s: f64,
    /// What stands before the servers: the switch's workers, or a peer's process.
    pub front: f64,
    /// The emulated servers' thread.
    pub origins: f64,
    /// All else in this process: the client, the switch's control thread.
    pub client: f64,
    /// Everybody else on this machine.
    pub others: f64,
}

impl Reading {
    /// Reads the clocks now; `peers` are the processes that stand before the servers.
    ///
    /// # Errors
    /// When the kernel keeps no such account (`CONFIG_SCHED_INFO`).
    pub fn now(peers: &[u32]) -> Result<Self> {
        let mut reading = Self { at_ns: now_ns(), machine_ns: machine_ns()?, ..Self::default() };
        for task in fs::read_dir("/proc/self/task").context("cannot read /proc/self/task")? {
            let path = task.context("cannot read /proc/self/task")?.path();
            // A thread may end while we look.
            let Ok(name) = fs::read_to_string(path.join("comm")) else { continue };
            let Ok(account) = fs::read_to_string(path.join("schedstat")) else { continue };
            let used = first(&account);
            match name.trim() {
                name if name.starts_with(WORKERS) => reading.front_ns += used,
                ORIGINS_THREAD => reading.origins_ns += used,
                _ => reading.rest_ns += used,
            }
        }
        for peer in peers {
            reading.front_ns += process_ns(*peer);
        }
        Ok(reading)
    }

    /// What was used since `before`.
    pub fn since(&self, before: &Self) -> Usage {
        let span_ns = self.at_ns.saturating_sub(before.at_ns).max(1) as f64;
        let share = |now: u64, then: u64| now.saturating_sub(then) as f64 / span_ns;
        let front = share(self.front_ns, before.front_ns);
        let origins = share(self.origins_ns, before.origins_ns);
        let client = share(self.rest_ns, before.rest_ns);
        let machine = share(self.machine_ns, before.machine_ns);
        let others = (machine - front - origins - client).max(0.0);
        Usage { span_s: span_ns / 1e9, front, origins, client, others }
    }
}

/// The monotonic clock, in nanoseconds.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// CPU time of all threads of a process.
fn process_ns(id: u32) -> u64 {
    let Ok(tasks) = fs::read_dir(format!("/proc/{id}/task")) else { return 0 };
    let account = |task: fs::DirEntry| fs::read_to_string(task.path().join("schedstat")).ok();
    tasks.flatten().filter_map(account).map(|account| first(&account)).sum()
}

fn first(account: &str) -> u64 {
    account.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Hundredths of a second, the unit of /proc/stat.
const TICK_NS: u64 = 10_000_000;

/// CPU time of the whole machine that was not idle.
fn machine_ns() -> Result<u64> {
    let text = fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
    let line = text.lines().next().context("/proc/stat is empty")?;
    let ticks: Vec<u64> = line.split_whitespace().skip(1).flat_map(str::parse).collect();
    // user nice system idle iowait irq softirq steal; guest time is in user time.
    let busy = [0, 1, 2, 5, 6, 7].iter().filter_map(|at| ticks.get(*at)).sum::<u64>();
    Ok(busy * TICK_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is used while this thread works for 50 ms.
    fn at_work() -> Usage {
        let before = Reading::now(&[]).expect("read");
        let mut sum = 0_u64;
        while now_ns() < before.at_ns + 50_000_000 {
            sum = sum.wrapping_mul(31).wrapping_add(7);
        }
        assert!(std::hint::black_box(sum) != 1);
        Reading::now(&[]).expect("read").since(&before)
    }

    #[test]
    fn the_work_of_this_thread_is_the_clients() {
        // Threads of other tests in this process may end meanwhile and take what they had used with
        // them, and their switches may be at work: not each time.
        let seen = (0..100).map(|_| at_work()).find(|usage| usage.client > 0.0);
        let usage = seen.expect("once in a hundred times nobody else ends");
        assert!(usage.span_s >= 0.05, "{usage:?}");
    }

    #[test]
    fn a_process_that_is_gone_has_used_nothing() {
        assert_eq!(process_ns(u32::MAX), 0);
        assert!(process_ns(std::process::id()) > 0);
    }
}
