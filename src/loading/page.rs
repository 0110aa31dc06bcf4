//! The report: one HTML page that needs nothing else, on a light or dark screen.

use super::picture::{course, latency, shown};
use super::plan::Asked;
use super::script;
use super::story::{MEANING, asked, caveats, failed_pages, failures, headline, how, when};
use super::study::{Row, SHARE_NAMES, Study, class_name};
use crate::whatif::page::STYLE;
use crate::whatif::words::{count, figure, ms, percent};
use load::Outcome;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sim::stats::Estimate;

/// What this page has besides.
const OWN_STYLE: &str = "figure { margin: 14px 0; } .along figure { min-width: 760px; } \
    figure .legend { margin: 0 8px 2px; font-size: 13px; } .headline { font-size: 18px; \
    max-width: none; } pre { background: var(--card); border-radius: 6px; padding: 10px 14px; \
    overflow-x: auto; font: 12.5px/1.45 ui-monospace, 'DejaVu Sans Mono', monospace; } \
    pre.command { white-space: pre-wrap; overflow-wrap: anywhere; } \
    summary { cursor: pointer; } h1 { overflow-wrap: anywhere; }";

/// The whole page.
pub fn page(study: &Study) -> String {
    let job = &study.job;
    let title = format!("Load: {}", job.url);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(OWN_STYLE)) }
            }
            body {
                main {
                    h1 { (title) }
                    p class="soft" {
                        (asked(job)) ". " (capital(&when(job))) ". " (how(job)) "."
                    }
                    div class="advice" {
                        p class="headline" { (headline(study)) }
                        @for line in caveats(study) { p class="soft" { (line) } }
                    }
                    (rates(study))
                    (latencies(study))
                    (over_time(study))
                    (classes(study))
                    (failed(&study.whole))
                    (repeat(study))
                    h2 { "What is measured, and what is emulated" }
                    @for line in MEANING { p { (line) } }
                    footer { "Written by baton load " (env!("CARGO_PKG_VERSION")) "." }
                }
            }
        }
    };
    markup.into_string()
}

/// A sentence's beginning.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|char| char.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

fn rates(study: &Study) -> Markup {
    let whole = &study.whole;
    let row = |name: &str, of: fn(&Outcome) -> f64, all: String| {
        let rate = study.estimate(of);
        html! {
            tr { td class="left" { (name) } td { (figure(rate.mean)) (half(&rate, figure)) }
                td { (all) } }
        }
    };
    html! {
        h2 { "Throughput" }
        div class="scroll" {
            table {
                tr { th class="left" { "" } th { "a second" } th { "in all" } }
                (row("connections", Outcome::connections_s, count(whole.connections)))
                (row("requests", Outcome::requests_s, count(whole.answered())))
                (row("pages", Outcome::pages_s, count(whole.pages.done)))
                (row("Mb of bodies", Outcome::body_mbit_s,
                    figure(whole.body_bytes as f64 * 8.0 / 1e6)))
            }
        }
        p class="soft" {
            (count(whole.arrived)) " sessions arrived. "
            (count(whole.cut_off)) " requests, " (count(whole.pages.cut_off)) " pages and "
            (count(whole.sessions.cut_off)) " sessions cut off at the end. "
            @if let Some(failed) = failed_pages(study) { (failed) ". " }
            @if let Some(ratio) = study.hit_ratio() {
                "Caches had " (percent(ratio.mean)) " of what was asked (Cache-Status). "
            }
            @if study.repeated() { "After ±: half the 95 % confidence interval over the runs." }
        }
    }
}

/// Half an interval, where there is one.
fn half(estimate: &Estimate, write: fn(f64) -> String) -> Markup {
    html! {
        @if estimate.half_width.is_finite() { small { " ±" (write(estimate.half_width)) } }
    }
}

fn latencies(study: &Study) -> Markup {
    let rows = study.rows();
    html! {
        h2 { "Latency" }
        @if let Some(picture) = latency(study) {
            div class="scroll along" { (shown(&picture)) }
        }
        div class="scroll" {
            table {
                tr {
                    th class="left" { "" } th { "count" }
                    @for name in SHARE_NAMES { th { (name) } }
                }
                tr class="group" { td colspan="7" { "from when it was due" } }
                @for row in rows.iter().filter(|row| row.class.is_none()) {
                    (latency_row(row, &row.due_ms))
                }
                tr class="group" { td colspan="7" { "from the sending on" } }
                @for row in rows.iter().filter(|row| row.class.is_none()) {
                    (latency_row(row, &row.sent_ms))
                }
            }
        }
    }
}

fn latency_row(row: &Row, found: &[Option<Estimate>]) -> Markup {
    html! {
        tr {
            td class="left" { (row.class.unwrap_or_default()) " " (row.of) }
            td { (count(row.count)) }
            @for one in found {
                td { @match one { Some(it) => { (ms(it.mean)) (half(it, ms)) } None => { "-" } } }
            }
        }
    }
}

fn over_time(study: &Study) -> Markup {
    html! {
        h2 { "How it went" }
        @if study.repeated() { p class="soft" { "The first of the runs." } }
        @for picture in study.outcomes.first().map(course).unwrap_or_default() {
            div class="scroll along" { (shown(&picture)) }
        }
    }
}

fn classes(study: &Study) -> Markup {
    let rows: Vec<Row> = study.rows().into_iter().filter(|row| row.class.is_some()).collect();
    let told = study.whole.classes.iter().any(|class| class.hits + class.misses > 0);
    html! {
        @if !rows.is_empty() {
            h2 { "By class" }
            p class="soft" { "From when they were due. A page is of the class of its HTML." }
            div class="scroll" {
                table {
                    tr {
                        th class="left" { "" } th { "count" }
                        @for name in SHARE_NAMES { th { (name) } }
                    }
                    @for row in &rows { (latency_row(row, &row.due_ms)) }
                }
            }
            @if told {
                p class="soft" {
                    "Caches had of "
                    @for (at, class) in study.whole.classes.iter().enumerate() {
                        @let all = class.hits + class.misses;
                        @if at > 0 { ", " }
                        (class_name(class.class)) ": "
                        @if all > 0 { (percent(class.hits as f64 / all as f64)) } @else { "-" }
                    }
                    "."
                }
            }
        }
    }
}

fn failed(outcome: &Outcome) -> Markup {
    html! {
        @if outcome.failures() > 0 {
            h2 { "Failures" }
            div class="scroll" {
                table {
                    tr {
                        th class="left" { "cause" } th { "requests" }
                        th class="left" { "for example" }
                    }
                    @for (cause, number) in failures(&outcome.failed) {
                        @let example = outcome.examples.iter().find(|one| one.cause == cause);
                        tr {
                            td class="left" { (cause.name()) }
                            td { (count(number)) }
                            td class="url" {
                                @if let Some(one) = example { (one.target) ": " (one.detail) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn repeat(study: &Study) -> Markup {
    html! {
        h2 { "How to repeat it" }
        pre class="command" { (study.command) }
        @if let Asked::Pages(script) = &study.job.asked {
            p class="soft" { (script.source) }
            details {
                summary { "The scenario, as a file for --scenario" }
                pre { (script::text(script)) }
            }
        }
    }
}
