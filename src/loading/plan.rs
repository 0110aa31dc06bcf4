//! From flags to ready values: who is asked what, when and how.

use super::log::logged;
use super::script::{self, Script};
use super::target::{Target, Unaskable};
use crate::config::{Diagnosis, span};
use crate::flags::{ArrivalKind, Load};
use crate::logs::Unfit;
use anyhow::Result;
use load::{Arrivals, Content, Manner, One, Scenario, Site, Users};
use policy::Class;
use std::sync::Arc;
use std::time::Duration;
use workload::draw::{Draw, Weibull};
use workload::{Pick, Plan, Shape, Trace};

/// Users at a time who ask for a single object, when nobody says how many.
const CLIENTS: usize = 64;

/// The shape of Weibull gaps by `--arrivals weibull`: bursts, as the arrivals of sessions at real
/// servers have (0.6 to 0.9 in Web logs; the smaller, the more they cluster).
const WEIBULL_SHAPE: f64 = 0.6;

/// The mean of a Weibull distribution of that shape and scale 1: gamma(1 + 1/0.6).
const WEIBULL_MEAN: f64 = 1.504_575_488_251_556;

/// Sessions a second at most: what a rate beyond would mean, no machine shows.
const RATE_MAX_S: f64 = 1e6;

/// Seconds that stand for no end: thirty years.
const ENDLESS_S: u64 = 1_000_000_000;

/// What is asked.
#[derive(Clone, Debug)]
pub enum Asked {
    /// The pages of a synthetic site.
    Pages(Box<Script>),
    /// A log's sessions.
    Log(Logged),
    /// A single object.
    Object,
}

/// A log that is asked again.
#[derive(Clone, Debug)]
pub struct Logged {
    /// What it is called.
    pub name: String,
    /// Its requests.
    pub plan: Arc<Plan>,
    /// See [`Scenario::classes`].
    pub classes: Arc<[Class]>,
    /// How many times faster; `None` skips the pauses between batches.
    pub speed: Option<f64>,
}

/// All that was asked for.
#[derive(Clone, Debug)]
pub struct Job {
    /// Who is asked.
    pub target: Target,
    /// As the user wrote it.
    pub url: String,
    /// What is asked.
    pub asked: Asked,
    /// When users come.
    pub users: Users,
    /// How requests go out.
    pub manner: Manner,
    /// See [`Scenario::warm_up`].
    pub warm_up: Duration,
    /// See [`Scenario::duration`].
    pub duration: Duration,
    /// Repetitions.
    pub runs: u16,
    /// The first repetition's; each further one adds 1.
    pub seed: u64,
    /// See [`Scenario::threads`].
    pub threads: usize,
    /// See [`Scenario::timeout`].
    pub timeout: Duration,
    /// See [`Scenario::sessions_max`].
    pub sessions_max: usize,
    /// Whether bodies are compared.
    pub verify: bool,
}

/// The scenario that flags name, beside what is odd about it; `None`: none is named.
///
/// # Errors
/// When there is none of that name, or the file is wrong.
pub fn named(args: &Load) -> Result<Option<(Script, Diagnosis)>> {
    if let Some(path) = &args.work.scenario {
        return Ok(Some(Script::load(path)?));
    }
    let Some(name) = &args.work.mix else { return Ok(None) };
    match Script::shipped(name) {
        Some(script) => Ok(Some((script, Diagnosis::default()))),
        None => Err(Unfit::Usage(script::unknown(name)).into()),
    }
}

impl Job {
    /// Everything that `args` ask for, beside what is odd about a scenario file.
    ///
    /// # Errors
    /// [`Unfit`] when flags make no sense, and whatever keeps a file from being read.
    pub fn new(args: &Load) -> Result<(Self, Diagnosis)> {
        let url = args.url.clone().unwrap_or_default();
        let target = Target::new(&url).map_err(|error| match error {
            Unaskable::Written(message) => anyhow::Error::from(Unfit::Usage(message)),
            Unaskable::Unknown(message) => anyhow::Error::msg(message),
        })?;
        let (asked, odd) = asked(args, &target)?;
        let users = users(args, &asked)?;
        let (warm_up_s, duration_s) = match &asked {
            Asked::Pages(_) => (5, 30),
            Asked::Log(_) => (0, ENDLESS_S),
            Asked::Object => (1, 10),
        };
        let warm_up = args.work.warm_up.unwrap_or(Duration::from_secs(warm_up_s));
        let steps = match &users {
            Users::Open(Arrivals::Steps(steps)) => Some(steps.iter().map(|step| step.1).sum()),
            _ => None,
        };
        let duration = args.work.duration.or(steps);
        let ramps = matches!(users, Users::Open(Arrivals::Ramp { .. }));
        if duration.is_none() && ramps && matches!(asked, Asked::Log(_)) {
            return Err(usage("--ramp over a log needs its time: add --duration, such as 2m"));
        }
        let duration = duration.unwrap_or(Duration::from_secs(duration_s));
        if duration.is_zero() {
            return Err(usage("--duration is nothing; write a span such as 30s"));
        }
        let usual = match &asked {
            Asked::Pages(script) => script.manner,
            Asked::Log(_) | Asked::Object => Manner::Parallel(1),
        };
        let manner = args.way.connections.as_deref().map_or(Ok(usual), manner)?;
        Ok((
            Self {
                target,
                url,
                asked,
                users,
                manner,
                warm_up,
                duration,
                runs: args.work.runs,
                seed: args.work.seed,
                threads: args.way.threads.into(),
                timeout: args.way.timeout,
                sessions_max: args.way.sessions_max as usize,
                verify: args.way.verify,
            },
            odd,
        ))
    }

    /// Whether a log is played to its end, however long that takes.
    pub fn is_endless(&self) -> bool {
        self.duration.as_secs() >= ENDLESS_S
    }

    /// The scenario of one repetition, from 0: other users at other times on the same site.
    pub fn scenario(&self, run: u16) -> Scenario {
        let seed = self.seed.wrapping_add(run.into());
        let site = match &self.asked {
            Asked::Pages(script) => {
                Site::Visits(Arc::new(script.visits(self.seed).with_users(seed)))
            }
            Asked::Log(log) => Site::Trace(Arc::clone(&log.plan), log.speed),
            Asked::Object => Site::One(One {
                host: self.target.authority.clone(),
                path: self.target.path.clone(),
                requests: u64::from(matches!(self.users, Users::Open(_))),
                class: origin::Config::default().class(None, &self.target.path),
            }),
        };
        let classes = match &self.asked {
            Asked::Log(log) => Arc::clone(&log.classes),
            Asked::Pages(_) | Asked::Object => Arc::default(),
        };
        Scenario {
            host: self.target.authority.clone(),
            manner: self.manner,
            warm_up: self.warm_up,
            duration: self.duration,
            seed,
            timeout: self.timeout,
            threads: self.threads,
            sessions_max: self.sessions_max,
            classes,
            content: self.verify.then(content),
            ..Scenario::new(self.target.address, site, self.users.clone())
        }
    }
}

/// What bodies of an origin, or of a tree written for it, hold.
fn content() -> Content {
    Content::new(|host, url, offset, bytes| {
        origin::content::verify(origin::content::target(Some(host), url), offset, bytes)
    })
}

/// The classes that `baton origin` gives the targets of a log.
fn classes(trace: &Trace) -> Arc<[Class]> {
    let config = origin::Config::default();
    trace.targets.iter().map(|target| config.class(None, &target.url)).collect()
}

fn usage(message: impl Into<String>) -> anyhow::Error {
    Unfit::Usage(message.into()).into()
}

fn asked(args: &Load, target: &Target) -> Result<(Asked, Diagnosis)> {
    if let Some(path) = &args.work.replay {
        if target.is_object() {
            return Err(usage("a log has its own paths; write the URL without one"));
        }
        let speed = args.work.speed.unwrap_or(1.0);
        if !(0.0..=1e9).contains(&speed) {
            return Err(usage(format!("--speed {speed} is no factor; write one such as 10")));
        }
        let trace = logged(path, args.work.format.as_deref(), &target.authority)?;
        let plan = Plan::new(trace, Pick::All, Shape::default());
        let log = Logged {
            name: path.display().to_string(),
            classes: classes(&plan.trace),
            plan: Arc::new(plan),
            speed: (speed > 0.0).then_some(speed),
        };
        return Ok((Asked::Log(log), Diagnosis::default()));
    }
    match named(args)? {
        Some(_) if target.is_object() => {
            let message = "a scenario has its own paths; write the URL without one";
            Err(usage(message))
        }
        Some((script, odd)) => Ok((Asked::Pages(Box::new(script)), odd)),
        None if target.is_object() => Ok((Asked::Object, Diagnosis::default())),
        None => Ok((Asked::Pages(Box::new(Script::usual())), Diagnosis::default())),
    }
}

fn users(args: &Load, asked: &Asked) -> Result<Users> {
    let work = &args.work;
    if let Some(count) = work.clients {
        return Ok(Users::Closed(count as usize));
    }
    if let Some(text) = &work.ramp {
        let ends = text.split_once("..");
        let (from_s, to_s) = ends
            .and_then(|(from, to)| Some((rate(from)?, rate(to)?)))
            .ok_or_else(|| usage(format!("--ramp {text:?} is no ramp; write one such as 5..80")))?;
        return Ok(Users::Open(Arrivals::Ramp { from_s, to_s }));
    }
    if let Some(text) = &work.steps {
        return steps(text).map(|steps| Users::Open(Arrivals::Steps(steps)));
    }
    let rate_s = work.rate_s.map(|rate_s| match rate_s {
        rate_s if rate_s > 0.0 && rate_s <= RATE_MAX_S => Ok(rate_s),
        _ => Err(usage(format!("--rate {rate_s} is none; write a number above 0, such as 50"))),
    });
    let rate_s = rate_s.transpose()?;
    let is_log = matches!(asked, Asked::Log(_));
    let kind = match (work.arrivals, asked, rate_s) {
        (Some(ArrivalKind::Logged), _, _) if !is_log => {
            return Err(usage("--arrivals logged needs a log: --replay LOG"));
        }
        (Some(ArrivalKind::Logged), _, Some(_)) => {
            return Err(usage("a log has its own rate; --speed changes it"));
        }
        (Some(ArrivalKind::Logged), ..) | (None, Asked::Log(_), None) => {
            return Ok(Users::Open(Arrivals::Logged));
        }
        (None, Asked::Object, None) => return Ok(Users::Closed(CLIENTS)),
        (None, Asked::Pages(script), None) => {
            return Ok(Users::Open(Arrivals::Gaps(script.gap_s)));
        }
        (Some(_), Asked::Log(_), None) => {
            return Err(usage("--arrivals over a log needs --rate, or be it --arrivals logged"));
        }
        (kind, ..) => kind.unwrap_or(ArrivalKind::Poisson),
    };
    // Another shape of the gaps is not another rate.
    let own_s = match asked {
        Asked::Pages(script) => script.gap_s.mean().map(|mean| 1.0 / mean),
        Asked::Log(_) | Asked::Object => None,
    };
    let rate_s = rate_s.or(own_s).unwrap_or(script::RATE_S);
    Ok(Users::Open(Arrivals::Gaps(gaps(kind, rate_s))))
}

fn gaps(kind: ArrivalKind, rate_s: f64) -> Draw {
    match kind {
        ArrivalKind::Constant => Draw::Constant(1.0 / rate_s),
        ArrivalKind::Weibull => {
            let scale = 1.0 / rate_s / WEIBULL_MEAN;
            Draw::Weibull(Weibull { scale, shape: WEIBULL_SHAPE })
        }
        ArrivalKind::Poisson | ArrivalKind::Logged => script::exponential(rate_s),
    }
}

/// A number of sessions a second; 0 is one too.
fn rate(text: &str) -> Option<f64> {
    let rate_s = text.trim().parse().ok()?;
    (0.0..=RATE_MAX_S).contains(&rate_s).then_some(rate_s)
}

fn steps(text: &str) -> Result<Vec<(f64, Duration)>> {
    let step = |part: &str| {
        let (rate_text, span_text) = part.split_once(':')?;
        let time = span(span_text).filter(|span| !span.is_zero())?;
        Some((rate(rate_text)?, time))
    };
    let wrong = |part: &str| {
        usage(format!("{part:?} of --steps is no step; write RATE:SPAN, such as 50:30s"))
    };
    text.split(',').map(|part| step(part).ok_or_else(|| wrong(part))).collect()
}

fn manner(text: &str) -> Result<Manner> {
    match text {
        "pipelined" => Ok(Manner::Pipelined),
        "http10" => Ok(Manner::Closing(6)),
        number => match number.parse() {
            Ok(count @ 1..=6) => Ok(Manner::Parallel(count)),
            _ => Err(usage(format!(
                "--connections {text:?} is none; write 1 to 6, pipelined or http10"
            ))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weibull_gaps_have_the_rate_that_was_asked_for() {
        for kind in [ArrivalKind::Poisson, ArrivalKind::Weibull, ArrivalKind::Constant] {
            let mean = gaps(kind, 50.0).mean().unwrap();
            assert!((mean - 0.02).abs() < 1e-9, "{kind:?}: {mean}");
        }
    }

    #[test]
    fn steps_are_rates_with_spans() {
        let wanted = [(10.0, Duration::from_secs(30)), (0.5, Duration::from_millis(1500))];
        assert_eq!(steps("10:30s,0.5:1.5s").unwrap(), wanted);
        for text in ["", "10", "10:", "10:0s", "x:1s", "10:1s,", "-1:1s"] {
            assert!(steps(text).is_err(), "{text}");
        }
    }

    #[test]
    fn connections_are_a_number_or_a_word() {
        assert_eq!(manner("1").unwrap(), Manner::Parallel(1));
        assert_eq!(manner("pipelined").unwrap(), Manner::Pipelined);
        assert_eq!(manner("http10").unwrap(), Manner::Closing(6));
        for text in ["0", "7", "many", ""] {
            assert!(manner(text).is_err(), "{text}");
        }
    }
}
