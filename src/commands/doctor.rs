//! `baton doctor`: whether this host can do one-way delivery, and what to do about it.

use super::agent::site as agent_site;
use crate::config::Config;
use crate::exit::{self, Exit, Outcome};
use crate::flags;
use agent::doctor::{Finding, Role, Row, Setting, Site, Verdict, examine, worst};
use agent::host::{Host, System};
use serde_json::json;
use std::io::{self, Write};
use std::net::SocketAddr;

/// Where sysctls are kept over a restart of the host.
const KEPT_IN: &str = "/etc/sysctl.d/60-baton.conf";

/// Looks, repairs if it is to, and shows what was found.
///
/// # Errors
/// When the configuration cannot be read, or the answer cannot be written.
pub fn run(args: &flags::Doctor) -> Outcome {
    let site = site(args)?;
    let mut rows = examine(&site, &System);
    let repairs = if args.fix { repair(&rows, &System) } else { Vec::new() };
    if !repairs.is_empty() {
        rows = examine(&site, &System);
    }
    let mut out = io::stdout().lock();
    if args.answer.json {
        let repairs: Vec<_> = repairs.iter().map(Repair::json).collect();
        let answer = json!({ "checks": rows, "repairs": repairs });
        writeln!(out, "{}", serde_json::to_string_pretty(&answer)?)?;
    } else {
        let words = Words { colour: exit::colour(&out) };
        out.write_all(words.report(&rows).as_bytes())?;
        out.write_all(words.repairs(&rows, &repairs).as_bytes())?;
    }
    Ok(exit_for(worst(&rows)))
}

/// What the configuration and the flags say of the site; flags count for more.
fn site(args: &flags::Doctor) -> anyhow::Result<Site> {
    let role: Option<Role> = args.role.map(Into::into);
    let mut site = match &args.config {
        Some(path) => configured(&agent_site::load(path)?, role)?,
        None => Site::default(),
    };
    site.role = role;
    let given = &args.site;
    if !given.interface.is_empty() {
        site.interfaces = given.interface.clone();
    }
    if !given.vip.is_empty() {
        site.vips = given.vip.clone();
    }
    if !given.port.is_empty() {
        site.ports = given.port.clone();
    }
    site.network = given.network.map_or(site.network, Into::into);
    Ok(site)
}

/// Says what is not as it should be on the host of a switch that hands connections over.
pub(super) fn warn_front(config: &Config) {
    match configured(config, Some(Role::Front)) {
        Ok(site) => {
            let site = Site { role: Some(Role::Front), ..site };
            super::agent::complain(&examine(&site, &System));
        }
        Err(error) => exit::say(format_args!("baton: the doctor cannot look: {error:#}")),
    }
}

/// What a configuration says. The served port is that of this host's own server, where it has one.
fn configured(config: &Config, role: Option<Role>) -> anyhow::Result<Site> {
    let vips: Vec<SocketAddr> = agent_site::vips(config).map(|(vip, _)| vip).collect();
    let server = match role {
        Some(Role::Front) => None,
        _ => agent_site::ours(&config.servers, None, &System).ok(),
    };
    let port = server.and_then(|server| server.resolve().ok()).map(|address| address.port());
    let ports = port.map_or_else(|| vips.iter().map(SocketAddr::port).collect(), |port| vec![port]);
    let mut site = Site {
        vips: vips.iter().map(SocketAddr::ip).collect(),
        ports,
        moves: Some(agent_site::moves(agent_site::vips(config).map(|(_, way)| way))),
        ..Site::default()
    };
    if let Some(oneway) = &config.oneway {
        site.interfaces = agent_site::links(&oneway.interfaces)?;
        site.network = agent_site::place(oneway.network);
    }
    Ok(site)
}

/// The exit code for the worst that was found.
fn exit_for(worst: Verdict) -> Exit {
    match worst {
        Verdict::Ok | Verdict::Skipped | Verdict::Warn => Exit::Done,
        Verdict::Unknown => Exit::Environment,
        Verdict::Fail => Exit::Invalid,
    }
}

/// A sysctl that was to be set, and the system's reason if it was not.
struct Repair {
    setting: Setting,
    refused: Option<io::Error>,
}

impl Repair {
    fn json(&self) -> serde_json::Value {
        let refused = self.refused.as_ref().map(ToString::to_string);
        json!({ "setting": self.setting, "error": refused })
    }
}

fn repair(rows: &[Row], host: &dyn Host) -> Vec<Repair> {
    let set = |setting: Setting| Repair { refused: setting.apply(host).err(), setting };
    settings(rows).into_iter().map(set).collect()
}

/// What would be set, each once.
fn settings(rows: &[Row]) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    for setting in rows.iter().flat_map(|row| &row.finding.settings) {
        if !settings.contains(setting) {
            settings.push(setting.clone());
        }
    }
    settings
}

/// How findings are worded for people.
pub(super) struct Words {
    /// Whether for a terminal.
    pub colour: bool,
}

impl Words {
    /// A line for each check, with the remedy below it, and a sum.
    fn report(&self, rows: &[Row]) -> String {
        let mut out: String = rows.iter().map(|row| self.row(row)).collect();
        let count = |verdict: Verdict| {
            let same = rows.iter().filter(|row| row.finding.verdict == verdict).count();
            (same > 0).then(|| format!("{same} {}", verdict.name()))
        };
        let verdicts =
            [Verdict::Fail, Verdict::Unknown, Verdict::Warn, Verdict::Skipped, Verdict::Ok];
        let counts: Vec<String> = verdicts.into_iter().filter_map(count).collect();
        out.push_str(&format!("\n{}\n", counts.join(", ")));
        out
    }

    /// The lines of one check.
    pub(super) fn row(&self, row: &Row) -> String {
        let Finding { verdict, evidence, remedy, .. } = &row.finding;
        let mut out = format!("{}  {:<18}  {evidence}\n", self.verdict(*verdict), row.name);
        if *verdict >= Verdict::Warn {
            out.push_str(&format!("{:29}why: {}\n", "", row.about));
        }
        if let Some(remedy) = remedy {
            out.push_str(&format!("{:29}do:  {remedy}\n", ""));
        }
        out
    }

    /// The verdict, seven characters wide.
    fn verdict(&self, verdict: Verdict) -> String {
        let code = match verdict {
            Verdict::Ok => "32",
            Verdict::Skipped => "2",
            Verdict::Warn => "33",
            Verdict::Unknown | Verdict::Fail => "1;31",
        };
        let name = verdict.name();
        if self.colour { format!("\x1b[{code}m{name:<7}\x1b[0m") } else { format!("{name:<7}") }
    }

    /// What was set, or would be.
    fn repairs(&self, rows: &[Row], repairs: &[Repair]) -> String {
        let mut out = String::new();
        let mut kept = Vec::new();
        for Repair { setting, refused } in repairs {
            let line = setting.line();
            match refused {
                None => {
                    out.push_str(&format!("set {line}\n"));
                    kept.push(line);
                }
                Some(error) => out.push_str(&format!("could not set {line}: {error}\n")),
            }
        }
        if !kept.is_empty() {
            let lines = kept.join("\n  ");
            out.push_str(&format!("to keep it, write into {KEPT_IN}:\n  {lines}\n"));
        }
        if repairs.is_empty() {
            for setting in settings(rows) {
                out.push_str(&format!("--fix would set {}\n", setting.line()));
            }
        }
        if out.is_empty() { out } else { format!("\n{out}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_has_the_exit_code_that_scripts_rely_on() {
        let codes = [
            (Verdict::Ok, Exit::Done),
            (Verdict::Skipped, Exit::Done),
            (Verdict::Warn, Exit::Done),
            (Verdict::Unknown, Exit::Environment),
            (Verdict::Fail, Exit::Invalid),
        ];
        for (verdict, exit) in codes {
            assert_eq!(exit_for(verdict), exit, "{verdict:?}");
        }
    }

    #[test]
    fn only_a_terminal_gets_colours() {
        let plain = Words { colour: false }.verdict(Verdict::Fail);
        assert_eq!(plain, "fail   ");
        assert!(Words { colour: true }.verdict(Verdict::Fail).starts_with("\x1b[1;31mfail"));
    }
}
