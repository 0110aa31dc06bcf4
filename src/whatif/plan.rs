//! What is to be compared: the command line as ready values.

use crate::config::{Config, Flag, nearest, span};
use crate::flags::{Capacity, Sim, TimesFrom};
use crate::logs::Unfit;
use anyhow::Result;
use policy::{Class, Entry, POLICIES, Params};
use rules::Rules;
use sim::replay::{Costs, Pace, Times};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Clusters in one comparison, seeds included: more is a mistake rather than a wish.
const RUNS_MAX: usize = 20_000;

/// Servers of a cluster.
const SERVERS_MAX: u16 = 1024;

/// A policy with its parameters.
#[derive(Clone)]
pub struct Choice {
    /// Its row.
    pub entry: &'static Entry,
    /// Its parameters.
    pub params: Params,
}

/// Everything that is to be compared, and how.
pub struct Plan {
    /// In the order given.
    pub policies: Vec<Choice>,
    /// Numbers of servers, ascending.
    pub servers: Vec<u16>,
    /// Whether a range was doubled through, so that answers may be narrowed down in between.
    pub doubling: bool,
    /// Sizes of caches in bytes, ascending.
    pub caches: Vec<u64>,
    /// What a full cache gives up.
    pub cache_policy: model::CachePolicy,
    /// Repetitions.
    pub seeds: u16,
    /// What requests cost, before the log has been looked at.
    pub costs: Costs,
    /// The name of the costs.
    pub costs_name: String,
    /// Whether the log's own times are used.
    pub times: TimesFrom,
    /// See [`sim::replay::Setup`].
    pub cores: u16,
    /// See [`sim::replay::Setup`].
    pub disks: u16,
    /// When requests come.
    pub pace: Pace,
    /// Whether each cluster has a run in a closed loop beside those in an open one.
    pub full_load: bool,
    /// Memory that clusters may take together before some are put off, in bytes.
    pub memory_bytes: usize,
    /// What gives requests their class and target.
    pub rules: Option<Arc<Rules>>,
}

impl Plan {
    /// What the command line asks for.
    ///
    /// # Errors
    /// [`Unfit::Usage`] for a word that means nothing, and those of the configuration.
    pub fn new(args: &Sim) -> Result<Self> {
        let configured = match &args.rules {
            Some(path) => Some(Config::load(path, &[])?.config),
            None => None,
        };
        let rules = configured.as_ref().map(|config| Arc::clone(&config.rules));
        let servers = servers(&args.servers)?;
        let caches: Vec<u64> =
            args.cache.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let policies = policies(args, configured.as_ref())?;
        let runs = policies.len() * servers.len() * caches.len() * (usize::from(args.seeds) + 1);
        if runs > RUNS_MAX {
            let message = format!("that would be {runs} runs, more than {RUNS_MAX}: ask for less");
            return Err(Unfit::Usage(message).into());
        }
        Ok(Self {
            policies,
            servers,
            doubling: args
                .servers
                .split(',')
                .any(|part| part.contains("..") && !part.contains('/')),
            caches,
            cache_policy: named("cache policy", &model::CachePolicy::ALL, &args.cache_policy)?,
            seeds: args.seeds,
            costs: costs(args, rules.as_deref())?,
            costs_name: args.costs.costs.clone(),
            times: args.costs.times,
            cores: args.costs.cores,
            disks: args.costs.disks,
            pace: pace(args)?,
            memory_bytes: usize::try_from(args.memory_bytes).unwrap_or(usize::MAX),
            full_load: args.closed.is_none() && args.capacity == Capacity::Measured,
            rules,
        })
    }

    /// How often each cluster is played: for every seed, and once at full load.
    pub fn runs_per_cell(&self) -> usize {
        usize::from(self.seeds) + usize::from(self.full_load)
    }

    /// How many clusters there are.
    pub fn cells(&self) -> usize {
        self.policies.len() * self.servers.len() * self.caches.len()
    }
}

fn pace(args: &Sim) -> Result<Pace> {
    if let Some(limit) = args.closed {
        let limit = limit.map(|limit| limit as usize);
        if limit == Some(0) {
            return Err(
                Unfit::Usage("--closed 0 would let nothing in; give at least 1".into()).into()
            );
        }
        return Ok(Pace::Closed { limit });
    }
    if !(args.speed.is_finite() && (1e-6..=1e6).contains(&args.speed)) {
        let message = format!("--speed {} is no factor; give 0.000001 to 1000000", args.speed);
        return Err(Unfit::Usage(message).into());
    }
    Ok(Pace::Open { speed: args.speed })
}

/// `2,5..7/1,8..64`: numbers and ranges. A range doubles from its beginning, its end included, or
/// goes on by the step behind the slash.
fn servers(text: &str) -> Result<Vec<u16>> {
    let mut found = BTreeSet::new();
    for part in text.split(',').map(str::trim) {
        let number = |text: &str| {
            let count = text.trim().parse::<u16>().ok();
            let count = count.filter(|count| (1..=SERVERS_MAX).contains(count));
            count.ok_or_else(|| no_servers(part))
        };
        let Some((from, to)) = part.split_once("..") else {
            found.insert(number(part)?);
            continue;
        };
        let (to, step) = match to.split_once('/') {
            Some((to, step)) => (to, Some(number(step)?)),
            None => (to, None),
        };
        let (from, to) = (number(from)?, number(to.trim_start_matches('='))?);
        if from > to {
            let why = format!("is no number of servers: smaller first, write {to}..{from}");
            return Err(Unfit::Usage(format!("{part:?} {why}")).into());
        }
        let mut next = Some(from);
        while let Some(count) = next.filter(|count| *count <= to) {
            found.insert(count);
            next = count.checked_add(step.unwrap_or(count));
        }
        found.insert(to);
    }
    Ok(found.into_iter().collect())
}

/// What is wrong with a part of `--servers`.
fn no_servers(part: &str) -> Unfit {
    let remedy = match part.split_once('-') {
        Some((from, to)) if from.parse::<u16>().is_ok() && to.parse::<u16>().is_ok() => {
            format!("write {from}..{to}")
        }
        _ => format!("write 8, a list, 2..16 or 2..16/2, each of 1 to {SERVERS_MAX}"),
    };
    Unfit::Usage(format!("{part:?} is no number of servers; {remedy}"))
}

/// The policies, each checked by the configuration itself: a mistake is shown as it is there.
fn policies(args: &Sim, configured: Option<&Config>) -> Result<Vec<Choice>> {
    args.set.iter().try_for_each(|set| parameter(set))?;
    let mut names: Vec<&str> = Vec::new();
    for name in args.policy.iter().map(|name| name.trim()) {
        if name == "all" {
            names.extend(POLICIES.iter().map(|entry| entry.name));
        } else {
            names.push(listed(name));
        }
    }
    let mut choices: Vec<Choice> = Vec::new();
    for name in names {
        let choice = choice(name, args, configured)?;
        if choices.iter().all(|known| known.entry.name != choice.entry.name) {
            choices.push(choice);
        }
    }
    Ok(choices)
}

/// The name of a policy as it is listed, for one that was written as in the papers (LARD/R); what
/// is none stays, for the configuration says what is wrong with it.
fn listed(name: &str) -> &str {
    let plain = name.to_ascii_lowercase().replace(['/', '_'], "-");
    policy::entry(&plain).map_or(name, |entry| entry.name)
}

/// Refuses a parameter whose name is nearly right: with several policies, the one that happens to
/// be checked first is not to be blamed.
fn parameter(set: &str) -> Result<(), Unfit> {
    let name = set.split('=').next().unwrap_or("").trim();
    let all = || POLICIES.iter().flat_map(|entry| entry.params).map(|param| param.name);
    let wanted = match name.strip_prefix("policy.") {
        Some(key) if key == "name" || all().any(|known| known == key) => None,
        Some(key) => nearest(key, &all().collect::<Vec<_>>()),
        None => all().find(|known| *known == name),
    };
    wanted.map_or(Ok(()), |key| {
        Err(Unfit::Usage(format!("there is no parameter {name}; did you mean policy.{key}?")))
    })
}

fn choice(name: &str, args: &Sim, configured: Option<&Config>) -> Result<Choice> {
    let entry = policy::entry(name);
    let mine = configured.map(|config| &config.policy);
    if let (Some(entry), Some(mine), true) = (entry, mine, args.set.is_empty())
        && mine.entry.name == entry.name
    {
        return Ok(Choice { entry, params: mine.params.clone() });
    }
    let mut flags = vec![
        Flag::Listen("127.0.0.1:1".to_owned()),
        Flag::Server("s1=127.0.0.1:1".to_owned()),
        Flag::Policy(name.to_owned()),
    ];
    let declares = |entry: &Entry, key: &str| entry.params.iter().any(|param| param.name == key);
    for set in &args.set {
        let key = set.split('=').next().unwrap_or("").trim().trim_start_matches("policy.");
        let known = POLICIES.iter().any(|other| declares(other, key));
        // A parameter of some policy is no mistake for the others that are compared with it.
        if entry.is_none_or(|entry| declares(entry, key)) || !known {
            flags.push(Flag::Set(set.clone()));
        }
    }
    let config = Config::from_flags(&flags)?.config;
    Ok(Choice { entry: config.policy.entry, params: config.policy.params })
}

fn costs(args: &Sim, rules: Option<&Rules>) -> Result<Costs> {
    let mut services = model::Services::default();
    let mut stated = Vec::new();
    for text in &args.costs.demand {
        let (class, service) = demand(text, rules).map_err(Unfit::Usage)?;
        services.set(class, service);
        stated.push(class);
    }
    let disk = args.costs.disk.as_deref().map(disk).transpose().map_err(Unfit::Usage)?;
    Ok(Costs {
        cpu: named("cost set", &model::CpuCost::SETS, &args.costs.costs)?,
        disk: disk.unwrap_or(model::DiskCost::ASPLOS),
        hit: args.costs.hit,
        miss: args.costs.miss,
        services,
        stated,
        times: Times::Costs,
    })
}

/// `CLASS=cpu:5ms,disk:40ms,cacheable:0.3`: a class, and what its requests cost beyond a file.
fn demand(text: &str, rules: Option<&Rules>) -> Result<(Class, model::Service), String> {
    let help = "write CLASS=cpu:5ms,disk:40ms,cacheable:0.3";
    let (name, parts) = text.split_once('=').ok_or_else(|| format!("{text:?}: {help}"))?;
    let none = Rules::none();
    let classes = rules.unwrap_or(&none).classes();
    let class = classes.class(name).ok_or_else(|| {
        let known: Vec<&str> = classes.iter().collect();
        format!("there is no class {name:?}; there are {}", known.join(", "))
    })?;
    let mut service = model::Service::STATIC;
    for part in parts.split(',') {
        let (key, value) = part.split_once(':').ok_or_else(|| format!("{part:?}: {help}"))?;
        let time = || span(value).ok_or_else(|| format!("{value:?} is no span; {help}"));
        match key.trim() {
            "cpu" => service.cpu = time()?,
            "cpu_per_kib" => service.cpu_kib = time()?,
            "disk" => {
                service.disk = time()?;
                service.reads = false;
            }
            "cacheable" => {
                let share = value.trim().parse::<f64>().ok();
                let share = share.filter(|share| (0.0..=1.0).contains(share));
                service.cacheable = share.ok_or_else(|| format!("{value:?}: give 0 to 1"))?;
            }
            _ => return Err(format!("{key:?}: {help} (or cpu_per_kib)")),
        }
    }
    Ok((class, service))
}

/// `first:4ms,page:0.1ms,again:4ms`: an access, each 4 KiB, and each further block of 44 KiB; what
/// is left out costs nothing.
fn disk(text: &str) -> Result<model::DiskCost, String> {
    let help = "write first:4ms,page:0.1ms,again:4ms";
    let zero = Duration::ZERO;
    let mut cost = model::DiskCost { first: zero, page: zero, again: zero };
    for part in text.split(',') {
        let (key, value) = part.split_once(':').ok_or_else(|| format!("{part:?}: {help}"))?;
        let time = span(value).ok_or_else(|| format!("{value:?} is no span; {help}"))?;
        match key.trim() {
            "first" => cost.first = time,
            "page" => cost.page = time,
            "again" => cost.again = time,
            _ => return Err(format!("{key:?}: {help}")),
        }
    }
    Ok(cost)
}

fn named<T: Copy>(what: &str, rows: &[(&str, T)], name: &str) -> Result<T> {
    let known = rows.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    known.ok_or_else(|| {
        let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
        Unfit::Usage(format!("there is no {what} {name}; known: {}", names.join(", "))).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_servers_double_or_step() {
        let table: [(&str, &[u16]); 7] = [
            ("8", &[8]),
            ("2..16", &[2, 4, 8, 16]),
            ("3..10", &[3, 6, 10]),
            ("2..5/1", &[2, 3, 4, 5]),
            ("2..=6/3", &[2, 5, 6]),
            ("16, 1,4", &[1, 4, 16]),
            ("1024", &[1024]),
        ];
        for (text, wanted) in table {
            assert_eq!(servers(text).unwrap(), wanted, "{text}");
        }
        for text in ["", "0", "x", "5..2", "2..", "..3", "2..8/0", "1025", "2,,3"] {
            let error = servers(text).unwrap_err();
            assert!(error.downcast_ref::<Unfit>().is_some(), "{text}: {error}");
        }
    }

    #[test]
    fn a_number_of_servers_that_is_none_comes_with_what_to_write() {
        let table = [("100000", "1 to 1024"), ("16..2", "write 2..16"), ("2-16", "write 2..16")];
        for (text, remedy) in table {
            let said = servers(text).unwrap_err().to_string();
            assert!(said.ends_with(remedy), "{said}");
        }
    }

    #[test]
    fn a_policy_is_known_by_its_name_in_the_papers_too() {
        assert_eq!(["LARD/R", "lard_r", "Lard-R", "lard-r"].map(listed), ["lard-r"; 4]);
        assert_eq!(listed("LRAD"), "LRAD", "what is no policy is shown as it was written");
    }

    #[test]
    fn a_parameter_that_is_nearly_right_is_named() {
        for set in ["t_high=80", "policy.t_hgih=80"] {
            let said = parameter(set).unwrap_err().to_string();
            assert!(said.ends_with("did you mean policy.t_high?"), "{said}");
        }
        assert!(parameter("policy.t_high=80").is_ok());
    }

    #[test]
    fn a_class_costs_what_the_command_line_says() {
        let (class, service) = demand("disk=disk:40ms,cpu:5ms", None).unwrap();
        assert_eq!(class, Class::DISK);
        assert_eq!(
            (service.cpu, service.disk),
            (Duration::from_millis(5), Duration::from_millis(40))
        );
        assert!(!service.reads, "what a query reads is in its time");
        for text in
            ["disk", "none=cpu:1ms", "disk=cpu", "disk=cpu:1", "disk=x:1ms", "disk=cacheable:2"]
        {
            assert!(demand(text, None).is_err(), "{text}");
        }
    }

    #[test]
    fn a_disk_is_what_the_command_line_says() {
        let ms = Duration::from_millis;
        let found = disk("first:4ms,page:1ms").unwrap();
        assert_eq!(found, model::DiskCost { first: ms(4), page: ms(1), again: Duration::ZERO });
        assert_eq!(found.read(8 * 1024), ms(6), "an access and two pages");
        for text in ["", "4ms", "first", "first:4", "seek:4ms"] {
            assert!(disk(text).is_err(), "{text}");
        }
    }
}
