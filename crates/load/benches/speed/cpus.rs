//! Two CPUs, and who had them.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::fs;

/// `USER_HZ`: what times in /proc are counted in.
const TICK_US: f64 = 10_000.0;

/// Numbers of the CPUs.
pub struct Cpus {
    pub client: usize,
    pub server: usize,
}

impl Cpus {
    /// The first two that this process may use; it, and whoever it starts, then stays on the first
    /// one. `None` if there is one only.
    pub fn take() -> Result<Option<Self>, Box<dyn Error>> {
        let allowed = sched_getaffinity(None)?;
        let mut numbers = (0..CpuSet::MAX_CPU).filter(|number| allowed.is_set(*number));
        let (Some(client), Some(server)) = (numbers.next(), numbers.next()) else {
            return Ok(None);
        };
        let mut own = CpuSet::new();
        own.set(client);
        sched_setaffinity(None, &own)?;
        Ok(Some(Self { client, server }))
    }
}

/// Who had the two CPUs: until now, or as shares of the time since.
pub struct Spent {
    /// What the hypervisor gave to others.
    pub stolen: f64,
    /// Programs that are none of ours, and interrupts.
    pub others: f64,
    all: f64,
    own: f64,
}

impl Spent {
    /// Since the system was started, in microseconds; of ours all but the server.
    pub fn now(cpus: &Cpus) -> Result<Self, Box<dyn Error>> {
        let text = fs::read_to_string("/proc/stat")?;
        let (mut stolen, mut others, mut all) = (0.0, 0.0, 0.0);
        for cpu in [cpus.client, cpus.server] {
            let name = format!("cpu{cpu} ");
            let line = text.lines().find_map(|line| line.strip_prefix(&name));
            let line = line.ok_or_else(|| format!("/proc/stat has no {name}"))?;
            let ticks: Vec<f64> =
                line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
            // user nice system idle iowait irq softirq steal, then what is in them already.
            let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = ticks[..] else {
                return Err(format!("/proc/stat: {line}").into());
            };
            stolen += steal * TICK_US;
            others += (user + nice + system + irq + softirq) * TICK_US;
            all += (idle + iowait) * TICK_US;
        }
        all += stolen + others;
        Ok(Self { stolen, others, all, own: process_us() + children_us()? })
    }

    /// Shares of the time since `before`, in which the server used so much.
    pub fn since(&self, before: &Self, served_us: f64) -> Self {
        let all = self.all - before.all;
        let own = self.own - before.own + served_us;
        Self {
            stolen: (self.stolen - before.stolen) / all,
            // Ticks are coarser than what programs were charged.
            others: ((self.others - before.others - own) / all).max(0.0),
            all,
            own,
        }
    }
}

/// CPU time of this process in microseconds.
pub fn process_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// CPU time of the processes that we started and that have ended, in microseconds; counted in
/// hundredths of a second.
pub fn children_us() -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name, in parentheses, may hold spaces; cutime and cstime are fields 16 and 17.
    let (_, fields) = stat.rsplit_once(')').ok_or("no stat")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    Ok((fields[13].parse::<f64>()? + fields[14].parse::<f64>()?) * TICK_US)
}
