//! What would become of a request, and why, without serving it.

use super::glass::Glass;
use super::live_of;
use crate::config::Config;
use crate::config::ready::{Delivery, Listener};
use crate::oneway::Local;
use control::Refusal;
use control::view::{CandidateView, DeliveryView, ExplainRequest, ExplainView, GuardView};
use distributor::Live;
use policy::{Assignment, Guard, Instant, Load, Request, ServerId};
use rules::{Described, Verdict};

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
    let wheel = books.desk().wheel(verdict.class).is_some();
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
        deliveries: deliveries(&glass.config(), &verdict, answer.as_ref(), wheel),
    })
}

/// How the request would reach its server, by listener: they may differ.
fn deliveries(
    config: &Config,
    verdict: &Verdict,
    answer: Option<&Assignment>,
    wheel: bool,
) -> Vec<DeliveryView> {
    let view = |listener: &Listener| {
        let one_way = listener.delivery.one_way();
        let (delivery, why) = match (one_way, answer) {
            (false, _) => (listener.delivery, "the listener's delivery".to_owned()),
            (true, _) if verdict.relay => (Delivery::Relay, words(Local::RuleSaysRelay)),
            (true, None) => (Delivery::Relay, words(Local::NoServer)),
            (true, Some(_)) => (
                listener.delivery,
                "the listener's delivery, if the request comes whole in one segment".to_owned(),
            ),
        };
        DeliveryView {
            listener: listener.name.clone(),
            delivery: delivery.name().to_owned(),
            why,
            repeat: one_way.then(|| repeat(verdict, answer, wheel)),
        }
    };
    config.listeners.iter().map(view).collect()
}

fn words(why: Local) -> String {
    format!("the relay takes it: {}", why.name())
}

/// What the kernel may answer by itself after this request.
fn repeat(verdict: &Verdict, answer: Option<&Assignment>, wheel: bool) -> String {
    let text = match answer {
        _ if !verdict.by_line => {
            "nothing: header fields had a part in it, and the kernel reads the request line and \
             Host alone"
        }
        _ if verdict.relay => "the same, whatever the load",
        None => "nothing: no server is up",
        Some(_) if wheel => "the next turns of the rotation, as long as the cluster stays as it is",
        Some(answer) if answer.guard.is_some() => "the same, as long as the guard holds",
        Some(_) => "nothing: the policy promises nothing and is asked each time",
    };
    text.to_owned()
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
