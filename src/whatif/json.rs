//! The comparison as one JSON object: the same figures as the table, with their intervals.

use super::advice::{Advice, advice};
use super::cell::Cell;
use super::csv::strain;
use super::lead::Lead;
use super::logs::Read;
use super::study::Study;
use super::words::thousandths;
use policy::Why;
use serde_json::{Map, Value, json};
use sim::replay::{Pace, ServerOutcome, Slice, Times};
use sim::stats::Estimate;

/// The version of the object's form: it changes when a key changes its meaning or goes.
pub const VERSION: u32 = 1;

/// One JSON object on one line. `live` adds what the log itself measured.
pub fn json(study: &Study, live: bool) -> String {
    let survey = &study.survey;
    let (lines, rejects) = study.lines();
    let mut object = json!({
        "version": VERSION,
        "logs": study.logs.iter().map(log).collect::<Vec<_>>(),
        "log": {
            "lines": lines,
            "rejected_lines": rejects,
            "requests": survey.requests,
            "cacheable": survey.cacheable,
            "clients": survey.clients,
            "targets": survey.targets(),
            "footprint_bytes": survey.footprint_bytes(),
            "reply_bytes": survey.reply_bytes,
            "span_s": survey.span_s(),
            "rate_rps": survey.rate_rps(),
            "late": survey.late,
            "strays": survey.strays,
            "sizes": {
                "requests": survey.sizes.requests,
                "partial": survey.sizes.partial,
                "unknown": survey.sizes.unknown,
            },
        },
        "caveats": study.caveats(),
        "setup": setup(study),
        "clusters": study.cells.iter().map(|one| cell(study, one)).collect::<Vec<_>>(),
        "hottest": study.hot.iter().enumerate().map(|(at, hot)| json!({
            "url": hot.url,
            "requests": hot.requests,
            "size_bytes": hot.size_bytes,
            "homes": homes(study, at),
        })).collect::<Vec<_>>(),
        "advice": advice(study).iter().map(piece).collect::<Vec<_>>(),
    });
    if live {
        let measured = &survey.measured;
        let compare = |cell: &Cell| {
            let rows: Vec<_> = measured
                .compare(cell)
                .iter()
                .map(|one| {
                    json!({
                        "figure": one.name,
                        "logged": thousandths(one.logged),
                        "simulated": thousandths(one.simulated),
                        "error": thousandths(one.error()),
                        "error_unit": if one.difference { "points" } else { "percent" },
                    })
                })
                .collect();
            json!({
                "policy": cell.policy,
                "servers": cell.servers,
                "cache_bytes": cell.cache_bytes,
                "figures": rows,
            })
        };
        object["live"] = study.cells.iter().map(compare).collect();
    }
    object.to_string()
}

fn log(read: &Read) -> Value {
    let rejected: Map<String, Value> = read
        .tally
        .rejected
        .iter()
        .map(|(cause, count)| (cause.to_string(), (*count).into()))
        .collect();
    json!({
        "name": read.name,
        "format": read.format,
        "confidence": read.confidence,
        "lines": read.tally.lines,
        "requests": read.tally.records,
        "skipped": read.tally.skipped,
        "rejected": rejected,
    })
}

fn setup(study: &Study) -> Value {
    let (hit, miss) = match study.learnt.times {
        Times::Costs => (study.costs.hit, study.costs.miss),
        Times::Logged { hit, miss } => {
            (study.costs.hit.or(Some(hit)), study.costs.miss.or(Some(miss)))
        }
    };
    let ms = |span: std::time::Duration| thousandths(span.as_secs_f64() * 1e3);
    json!({
        "pace": match study.pace {
            Pace::Open { speed } => json!({ "open": { "speed": speed } }),
            Pace::Closed { limit } => json!({ "closed": { "limit": limit } }),
        },
        "seeds": study.seeds,
        "times": if study.learnt.times == Times::Costs { "costs" } else { "log" },
        "costs": study.costs_name,
        "hit_ms": hit.map(ms),
        "miss_ms": miss.map(ms),
        "cores": study.lanes.0,
        "disks": study.lanes.1,
        "cache_policy": study.cache_policy.name(),
        "grain_ms": ms(study.learnt.grain),
    })
}

fn cell(study: &Study, cell: &Cell) -> Value {
    let figures = &cell.figures;
    let whys = cell.whys();
    let all: u64 = whys.iter().sum::<u64>().max(1);
    let reasons: Map<String, Value> = Why::ALL
        .iter()
        .filter(|why| whys[why.index()] > 0)
        .map(|why| (why.name().to_owned(), (whys[why.index()] as f64 / all as f64).into()))
        .collect();
    let slices = cell.outcomes.first().map_or(&[][..], |outcome| &outcome.slices);
    json!({
        "policy": cell.policy,
        "servers": cell.servers,
        "cache_bytes": cell.cache_bytes,
        "throughput_rps": estimate(&figures.throughput_rps),
        "capacity_rps": estimate(&figures.capacity_rps),
        "hit_ratio": estimate(&figures.hit_ratio),
        "byte_hit_ratio": estimate(&figures.byte_hit_ratio),
        "p50_ms": estimate(&figures.p50_ms),
        "p90_ms": estimate(&figures.p90_ms),
        "p99_ms": estimate(&figures.p99_ms),
        "imbalance": estimate(&figures.imbalance),
        "replicated_targets": estimate(&figures.replicated),
        "work": estimate(&figures.work),
        "refused": estimate(&figures.refused),
        "strain": strain(cell),
        "peak_work": figures.peak,
        "lead": study.lead(cell).map(lead),
        "servers_each": cell.outcomes.first().map_or(&[][..], |outcome| &outcome.servers)
            .iter().map(server).collect::<Vec<_>>(),
        "reasons": reasons,
        "parts": slices.iter().map(part).collect::<Vec<_>>(),
    })
}

/// The capacity in parts of that of the policy that it is held against.
fn lead((against, lead): (&'static str, Lead)) -> Value {
    json!({
        "against": against,
        "mean": lead.mean,
        "low": lead.interval.map(|(low, _)| low),
        "high": lead.interval.map(|(_, high)| high),
        "parts_ahead": lead.ahead,
        "parts": lead.parts,
    })
}

/// What one server did, with the first seed.
fn server(server: &ServerOutcome) -> Value {
    json!({
        "requests": server.requests,
        "hits": server.hits,
        "cpu_s": server.cpu.as_secs_f64(),
        "disk_s": server.disk.as_secs_f64(),
        "load_mean": server.load_mean,
        "cached_bytes": server.cached_bytes,
        "cached_targets": server.cached_targets,
    })
}

fn part(slice: &Slice) -> Value {
    json!({
        "requests": slice.requests,
        "hit_ratio": slice.hit_ratio(),
        "latency_mean_ms": slice.latency.as_secs_f64() * 1e3 / slice.requests.max(1) as f64,
        "span_s": slice.span.as_secs_f64(),
        "work": slice.work(),
    })
}

fn estimate(estimate: &Estimate) -> Value {
    let half = estimate.half_width.is_finite().then_some(estimate.half_width);
    json!({ "mean": estimate.mean, "half_width": half })
}

/// Where the target at a place of the list lives: servers by cluster, of the first seed.
fn homes(study: &Study, at: usize) -> Vec<Value> {
    let of_cell = |cell: &Cell| {
        let homes = cell.outcomes.first().and_then(|outcome| outcome.homes.get(at));
        json!({
            "policy": cell.policy,
            "servers": cell.servers,
            "cache_bytes": cell.cache_bytes,
            "in": homes.into_iter().flatten().map(|at| format!("s{}", at + 1)).collect::<Vec<_>>(),
        })
    };
    study.cells.iter().map(of_cell).collect()
}

fn piece(advice: &Advice) -> Value {
    json!({ "text": advice.text, "sure": advice.sure.name(), "because": advice.because })
}
