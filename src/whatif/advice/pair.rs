//! Two clusters that differ in their policy alone.

use super::super::cell::Cell;
use super::super::lead::Lead;
use super::super::study::Study;
use super::super::words::times;
use super::{PARTS_MIN, Sure};
use sim::replay::Strain;

/// A lead in capacity below this is not worth a change.
pub(super) const LEAD_MIN: f64 = 1.05;

/// A p99 that is not at least so much shorter is the same to users.
const P99_MIN: f64 = 0.9;

/// Two clusters that differ in their policy alone.
pub(super) struct Pair<'a> {
    pub(super) blind: &'a Cell,
    pub(super) aware: &'a Cell,
    /// Capacity of the second in parts of that of the first.
    pub(super) lead: Lead,
}

/// Whether the better policy brings anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matters {
    Yes,
    No,
    /// The log cannot tell.
    Open,
}

/// The clusters of both policies, by their number of servers.
pub(super) fn pairs<'a>(
    study: &'a Study,
    blind: &str,
    aware: &str,
    cache_bytes: u64,
) -> Vec<Pair<'a>> {
    let pair = |servers: u16| {
        let blind = study.cell(blind, servers, cache_bytes)?;
        let aware = study.cell(aware, servers, cache_bytes)?;
        Some(Pair { blind, aware, lead: aware.lead(blind) })
    };
    study.counts(cache_bytes).into_iter().filter_map(pair).collect()
}

impl Pair<'_> {
    pub(super) fn servers(&self) -> u16 {
        self.aware.servers
    }

    /// Whether the policy matters here.
    pub(super) fn matters(&self) -> Matters {
        let (blind, aware) = (&self.blind.figures, &self.aware.figures);
        // In a closed loop, latencies say no more than the throughput does.
        let shorter = !self.aware.outcomes.iter().any(|outcome| outcome.closed)
            && aware.strain == Strain::None
            && blind.strain == Strain::None
            && aware.p99_ms.mean < P99_MIN * blind.p99_ms.mean;
        let measured = aware.p99_ms.half_width.is_finite() && blind.p99_ms.half_width.is_finite();
        let sustains = self.blind.overloaded() && !self.aware.overloaded();
        let clearly = shorter && measured && aware.p99_ms.differs(&blind.p99_ms);
        match self.lead.interval {
            _ if sustains || clearly => Matters::Yes,
            Some((low, _)) if low > LEAD_MIN => Matters::Yes,
            Some((_, high)) if high < LEAD_MIN && !shorter => Matters::No,
            _ => Matters::Open,
        }
    }

    /// How sure it is which of the two can do more, or that neither can, and why.
    pub(super) fn sureness(&self) -> (Sure, String) {
        let lead = &self.lead;
        let Some((low, high)) = lead.interval else {
            let requests = self.aware.outcomes.first().map_or(0, |outcome| outcome.requests);
            let because = format!("{}: too few to tell", super::requests(requests));
            return (Sure::Open, because);
        };
        let apart = low > 1.0 || high < 1.0;
        let even = low > 1.0 / LEAD_MIN && high < LEAD_MIN;
        let sure = match apart || even {
            true if even || lead.parts_agree(PARTS_MIN) => Sure::Sure,
            true => Sure::Likely,
            false => Sure::Open,
        };
        if lead.parts == 0 {
            return (sure, "both do the same in every part of the log".to_owned());
        }
        let because = format!(
            "with warm caches the lead is {} to {} (95 %, by the parts of the log); {} in {} of \
             {} parts",
            times(low),
            times(high),
            if lead.mean >= 1.0 { "ahead" } else { "behind" },
            if lead.mean >= 1.0 { lead.ahead } else { lead.parts - lead.ahead },
            lead.parts
        );
        (sure, because)
    }
}
