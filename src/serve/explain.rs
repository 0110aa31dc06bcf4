//! What would become of a request, and why, without serving it.

use super::glass::Glass;
use super::live_of;
use control::Refusal;
use control::view::{CandidateView, ExplainRequest, ExplainView, GuardView};
use distributor::Live;
use policy::{Guard, Instant, Load, Request, ServerId};
use rules::Described;

/// Asks rules and policy; nothing changes.
pub(super) fn explain(glass: &Glass, asked: &ExplainRequest) -> Result<ExplainView, Refusal> {
    let described = Described::new(&asked.method, &asked.url);
    let mut facts = described.map_err(|error| Refusal::Invalid(error.to_string()))?;
    for (name, value) in &asked.headers {
        facts = facts.with_field(name, value);
    }
    let live = live_of(glass);
    let judged = live.rules.explain(&facts);
    let verdict = judged.verdict;
    let now = glass.shared().clock.now();
    let request = Request { at: now, target: verdict.target, class: verdict.class, holder: None };
    let name = |id: ServerId| {
        let backend = live.backends.get(id.index()).and_then(Option::as_ref);
        backend.map_or_else(|| format!("#{}", id.0), |backend| backend.name.to_string())
    };
    let books = glass.shared().ask.books();
    let explanation = books.desk().explain(&request);
    let cluster = books.desk().cluster();
    let candidate = |(id, cost): &(ServerId, Option<f64>)| CandidateView {
        server: name(*id),
        load: cluster.load(*id).as_f64(),
        pressure: cluster.pressure(*id).as_f64(),
        cost: *cost,
    };
    let answer = explanation.answer;
    Ok(ExplainView {
        rule: verdict.rule.and_then(|rule| rule_name(&live, usize::from(rule))),
        class: live.rules.classes().name(verdict.class).to_owned(),
        target: judged.target.to_string(),
        target_text: judged.target_text,
        target_hash: format!("{:016x}", verdict.target.0),
        policy: live.policy.to_string(),
        candidates: explanation.candidates.iter().map(candidate).collect(),
        server: answer.map(|answer| name(answer.server)),
        reason: answer.map(|answer| answer.why.name().to_owned()),
        expect: answer.map(|answer| answer.expect.name().to_owned()),
        guard: answer.and_then(|answer| answer.guard).map(|guard| guard_view(&guard, now)),
    })
}

/// What metrics call a rule too: each listener has its rules in order.
fn rule_name(live: &Live, rule: usize) -> Option<String> {
    live.routes.get(rule)?.rule.as_deref().map(str::to_owned)
}

fn guard_view(guard: &Guard, now: Instant) -> GuardView {
    GuardView {
        load_max: (guard.load_max != Load::MAX).then(|| guard.load_max.as_f64()),
        for_ms: (guard.until != Instant::NEVER)
            .then(|| guard.until.since(now).as_secs_f64() * 1000.0),
        epoch: guard.epoch,
    }
}
