//! What was found, as text for people.

use super::visit::{Request, Visit};
use super::{Cost, Findings};
use std::fmt::Write;

/// All of it.
pub fn text(findings: &Findings) -> String {
    let visits = table(&findings.one_way, &findings.relay);
    let (sequence, costs) = (findings.sequence.text(), costs(&findings.costs));
    let (capture, picture) = (findings.capture.display(), findings.picture.display());
    format!(
        "
ONE CONNECTION, TWELVE REQUESTS: handed to a server, and moved on to others;
beside it the same over one connection through the relay

{visits}
WHAT TRAVELLED for the first three (== is an envelope between front-end and server)

{sequence}
WHAT IT COSTS beside the relay, without the access log that the table is made from

{costs}
packets: {capture} (for Wireshark)
picture: {picture}

{}
",
        summary(findings)
    )
}

fn table(one_way: &Visit, relay: &Visit) -> String {
    let mut out = String::from(
        "                    one way                                              relay\n  \
         #  target         answered by  how          why          decided by    us   \
         answered by    us\n",
    );
    for (at, (one, other)) in one_way.requests.iter().zip(&relay.requests).enumerate() {
        let line = format!(
            "{:>3}  {:<13}  {:<11}  {:<11}  {:<11}  {:<10} {:>5.0}   {:<11} {:>5.0}",
            at + 1,
            one.path,
            one.answered_by,
            how(one),
            one.reason.as_deref().unwrap_or("?"),
            one.by_kernel.map_or("?", |kernel| if kernel { "kernel" } else { "policy" }),
            one.us,
            other.answered_by,
            other.us
        );
        writeln!(out, "{line}").expect("a string takes all");
    }
    out
}

/// In words; `?`: the switch does not say.
fn how(request: &Request) -> &str {
    match request.delivery.as_deref() {
        Some("handoff") => "handed over",
        Some("relay") => "relayed",
        Some(other) => other,
        None => "?",
    }
}

fn costs(costs: &[Cost]) -> String {
    let mut out = format!(
        "  {:<9}  {:<27}  {:<25}  median response time\n",
        "reply", "delivery", "bytes by the front-end"
    );
    for cost in costs {
        let relay = beside(costs, cost);
        let name = match cost.delivery {
            "relay" => "relayed",
            "stayed" => "handed over, stays",
            _ => "handed over, moves each time",
        };
        let bytes = against(cost.front_bytes, relay.map(|relay| relay.front_bytes), "less");
        let time = against(cost.median_us, relay.map(|relay| relay.median_us), "faster");
        let bytes = format!("{:>7.0} B {bytes}", cost.front_bytes);
        let line = format!(
            "  {:>7} B  {name:<27}  {bytes:<25}  {:>5.0} us {time}",
            cost.reply_bytes, cost.median_us
        );
        writeln!(out, "{}", line.trim_end()).expect("a string takes all");
    }
    out
}

/// The relay with the same replies; `None` of the relay itself.
fn beside<'a>(costs: &'a [Cost], cost: &Cost) -> Option<&'a Cost> {
    let same = |other: &&Cost| other.delivery == "relay" && other.reply_bytes == cost.reply_bytes;
    costs.iter().find(same).filter(|relay| relay.delivery != cost.delivery)
}

/// How many times less it is than `base`, or more.
fn against(value: f64, base: Option<f64>, less: &str) -> String {
    let Some(base) = base.filter(|base| *base > 0.0 && value > 0.0) else { return String::new() };
    if value <= base {
        return format!("({:.1} x {less})", base / value);
    }
    let more = if less == "less" { "more" } else { "slower" };
    format!("({:.1} x {more})", value / base)
}

/// The last line.
fn summary(findings: &Findings) -> String {
    let requests = &findings.one_way.requests;
    let mut servers: Vec<&str> = requests.iter().map(|one| one.answered_by.as_str()).collect();
    servers.sort_unstable();
    servers.dedup();
    let moved = requests.iter().filter(|one| one.delivery.as_deref() == Some("moved")).count();
    let largest = findings.costs.iter().rfind(|cost| cost.delivery == "stayed");
    let saved = largest.and_then(|cost| {
        let relay = beside(&findings.costs, cost)?;
        Some(format!(
            "; for {} B of reply {:.0} B pass the front-end instead of {:.0} B, in {:.0} us \
             instead of {:.0} us",
            cost.reply_bytes, cost.front_bytes, relay.front_bytes, cost.median_us, relay.median_us
        ))
    });
    format!(
        "oneway-demo: {} requests of one connection answered by {} unmodified servers with \
         {moved} moves, every byte right{}",
        requests.len(),
        servers.len(),
        saved.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(delivery: &'static str, front_bytes: f64, median_us: f64) -> Cost {
        Cost { delivery, reply_bytes: 1500, requests: 10, front_bytes, median_us }
    }

    #[test]
    fn ratios_are_against_the_relay_and_say_which_way() {
        let text = costs(&[cost("relay", 4000.0, 100.0), cost("moved", 500.0, 150.0)]);
        assert!(text.contains("(8.0 x less)") && text.contains("(1.5 x slower)"), "{text}");
        let text = costs(&[cost("relay", 400.0, 100.0), cost("stayed", 500.0, 50.0)]);
        assert!(text.contains("(1.2 x more)") && text.contains("(2.0 x faster)"), "{text}");
    }
}
