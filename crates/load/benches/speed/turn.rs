//! One turn: the client asks for a while, or wrk does.

use super::Load;
use super::cpus::{children_us, process_us};
use super::server::Served;
use load::{One, Scenario, Site, Users, run};
use policy::Class;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Has wrk print exact numbers at its end; while it runs no script does.
const SCRIPT: &str = "../../benches/measure/load.lua";

/// What one of them did in one turn.
pub struct Figures {
    pub requests: f64,
    pub requests_s: f64,
    /// CPU time of the whole process for a request.
    pub cpu_us: f64,
    /// Share of the time in which it had its CPU, and the server had its own.
    pub busy: f64,
    pub server_busy: f64,
    pub p50_us: f64,
    pub p99_us: f64,
}

pub fn by_us(served: &Served<'_>, load: Load) -> Result<Figures, Box<dyn Error>> {
    let (host, path) = (served.address.to_string(), served.path.to_owned());
    let site = Site::One(One { host, path, requests: 0, class: Class::STATIC });
    let users = Users::Closed(usize::try_from(load.connections)?);
    let (warm_up, duration) = (Duration::ZERO, Duration::from_secs(load.seconds));
    let scenario = Scenario { warm_up, duration, ..Scenario::new(served.address, site, users) };
    let (began, own_us, served_us) = (Instant::now(), process_us(), served.cpu_us()?);
    let outcome = run(&scenario, |_| {}, &AtomicBool::new(false))?;
    let (took_us, own_us) = (began.elapsed().as_secs_f64() * 1e6, process_us() - own_us);
    if outcome.failures() > 0 {
        return Err(format!("requests failed: {:?}", outcome.examples).into());
    }
    if outcome.answered() == 0 {
        return Err(format!(
            "nothing was answered in {:?}: {} connections were open, {} requests under way, and \
             the client had its CPU for {own_us:.0} us, the server for {:.0} us",
            outcome.took,
            outcome.connections,
            outcome.cut_off,
            served.cpu_us()? - served_us
        )
        .into());
    }
    let requests = outcome.answered() as f64;
    // As wrk does it, see the head of `main.rs`.
    let usual_us = took_us * load.connections as f64 / requests;
    let times_us = outcome.requests.sent_us.clone_correct(usual_us as u64);
    Ok(Figures {
        requests,
        requests_s: outcome.requests_s(),
        cpu_us: own_us / requests,
        busy: own_us / took_us,
        server_busy: (served.cpu_us()? - served_us) / took_us,
        p50_us: times_us.value_at_quantile(0.5) as f64,
        p99_us: times_us.value_at_quantile(0.99) as f64,
    })
}

pub fn by_wrk(served: &Served<'_>, load: Load) -> Result<Figures, Box<dyn Error>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPT);
    let (began, before_us, served_us) = (Instant::now(), children_us()?, served.cpu_us()?);
    let said = Command::new("wrk")
        .args(["-t", "1", "-c", &load.connections.to_string()])
        .args(["-d", &format!("{}s", load.seconds), "-s"])
        .arg(script)
        .arg(format!("http://{}{}", served.address, served.path))
        .output()?;
    let (took_us, cpu_us) = (began.elapsed().as_secs_f64() * 1e6, children_us()? - before_us);
    let said = String::from_utf8(said.stdout)?;
    let line = said.lines().find_map(|line| line.strip_prefix("summary "));
    let line = line.ok_or_else(|| format!("wrk printed no summary:\n{said}"))?;
    let field = |name: &str| -> Result<f64, Box<dyn Error>> {
        let word = line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        Ok(word.ok_or_else(|| format!("no {name} in {line:?}"))?.parse()?)
    };
    let requests = field("requests")?;
    for kind in ["connect", "read", "write", "timeout", "status"] {
        if requests == 0.0 || field(kind)? > 0.0 {
            return Err(format!("requests failed: {line}").into());
        }
    }
    Ok(Figures {
        requests,
        requests_s: requests * 1e6 / field("duration_us")?,
        cpu_us: cpu_us / requests,
        busy: cpu_us / took_us,
        server_busy: (served.cpu_us()? - served_us) / took_us,
        p50_us: field("p50_us")?,
        p99_us: field("p99_us")?,
    })
}
