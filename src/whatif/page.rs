//! The report: one HTML page that needs nothing else, on a light or dark screen.

use super::advice::{Sure, advice};
use super::cell::Cell;
use super::live::section;
use super::plot::{self, Line, Picture};
use super::study::Study;
use super::table::{busy, refused, setting, sureness};
use super::words::{count, figure, ms, percent, size};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use policy::Why;
use sim::replay::{Outcome, Strain};
use sim::stats::Estimate;

pub(crate) const STYLE: &str = include_str!("page.css");

/// How the servers are played, for whoever wants to judge the figures.
const MODEL: [&str; 4] = [
    "The policy is asked for every request by the same code that runs in the switch, and is told \
     when each ends; a client's last server counts as its holder for 15 s.",
    "A server is a CPU and a disk, each first come, first served, and a cache of whole targets \
     that begins empty. Every request takes the CPU for its reading and sending; a miss then takes \
     the disk; requests for a target that is being read wait for that read.",
    "Times within one stamp of the log are drawn anew for every seed, alike for all clusters. \
     Intervals are 95 % over the seeds. They say nothing of other days: the parts of the log do. A \
     capacity is that of one run, with the first seed, and the first fifth of the log left out, \
     while caches fill.",
    "Not modelled: the network, clients that give up or come back, failing servers, replies that \
     change, and caches that were warm at the beginning.",
];

/// The whole page; `live` adds what the log itself measured.
pub fn page(study: &Study, live: bool) -> String {
    let short = |name: &'_ str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let names: Vec<String> = study.logs.iter().map(|log| short(&log.name)).collect();
    let title = format!("What if: {}", names.join(", "));
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (title) }
                    @for line in setting(study) { p class="soft" { (line) } }
                    (advised(study))
                    (over_servers(study))
                    (over_caches(study))
                    (along(study))
                    (table(study))
                    (mix(study))
                    (hottest(study))
                    @if live { (section(study)) }
                    (modelled(study))
                    footer { "Written by baton sim " (env!("CARGO_PKG_VERSION")) "." }
                }
            }
        }
    };
    markup.into_string()
}

fn advised(study: &Study) -> Markup {
    html! {
        h2 { "Advice" }
        @for one in advice(study) {
            div class="advice" {
                p { (one.text) }
                p class="soft" { span class="sure" { (sure(one.sure)) } ": " (one.because) "." }
            }
        }
    }
}

fn sure(sure: Sure) -> &'static str {
    match sure {
        Sure::Sure => "Sure",
        Sure::Likely => "Likely",
        Sure::Open => "Not sure",
    }
}

fn legend(study: &Study) -> Markup {
    html! {
        ul class="legend" {
            @for (at, name) in study.policies.iter().enumerate() {
                li { i class=(plot::style(at)) {} (name) }
            }
        }
    }
}

/// What is drawn of a cell.
struct Measure {
    title: &'static str,
    value: fn(&Cell) -> Option<f64>,
    write: fn(f64) -> String,
    top_max: f64,
}

fn measures(study: &Study) -> [Measure; 3] {
    let rate = if study.closed() { "Requests per second" } else { "Capacity, requests per second" };
    [
        Measure {
            title: rate,
            value: |cell| Some(cell.figures.capacity_rps.mean),
            write: figure,
            top_max: f64::INFINITY,
        },
        Measure {
            title: "Hit ratio of the caches",
            value: |cell| Some(cell.figures.hit_ratio.mean),
            write: |share| format!("{:.0} %", share * 100.0),
            top_max: 1.0,
        },
        Measure {
            title: "99 in 100 requests took at most",
            value: |cell| (!cell.overloaded()).then_some(cell.figures.p99_ms.mean),
            write: ms,
            top_max: f64::INFINITY,
        },
    ]
}

fn drawn<'a>(study: &'a Study, measure: &Measure, cells: &[(u16, u64)]) -> Vec<Line<'a>> {
    let line = |(style, name): (usize, &&'a str)| {
        let value = |(servers, cache): &(u16, u64)| {
            study.cell(name, *servers, *cache).and_then(measure.value)
        };
        Line { name, style, values: cells.iter().map(value).collect() }
    };
    study.policies.iter().enumerate().map(line).collect()
}

fn over_servers(study: &Study) -> Markup {
    html! {
        h2 { "Over the number of servers" }
        (legend(study))
        @for &cache in &study.caches {
            h3 { "Cache of " (size(cache)) " for each server" }
            div class="row" {
                @for measure in measures(study) {
                    @let cells: Vec<_> = study.servers.iter().map(|n| (*n, cache)).collect();
                    (plot::lines(&Picture {
                        title: measure.title,
                        across: "servers",
                        places: study.servers.iter().map(u16::to_string).collect(),
                        lines: drawn(study, &measure, &cells),
                        points: true,
                        write: measure.write,
                        top_max: measure.top_max,
                        wide: false,
                    }))
                }
            }
        }
        @if study.cells.iter().any(Cell::overloaded) {
            p class="soft" {
                "No latency is drawn where more came than the servers can do."
            }
        }
    }
}

fn over_caches(study: &Study) -> Markup {
    let servers = shown_servers(study);
    html! {
        h2 { "Over the size of the cache" }
        @if study.caches.len() < 2 {
            p class="soft" { "One size was tried; give --cache a list to see more." }
        } @else {
            p class="soft" { "With " (servers) " servers." }
            div class="row" {
                @for measure in measures(study) {
                    @let cells: Vec<_> = study.caches.iter().map(|c| (servers, *c)).collect();
                    (plot::lines(&Picture {
                        title: measure.title,
                        across: "cache of each server",
                        places: study.caches.iter().map(|cache| size(*cache)).collect(),
                        lines: drawn(study, &measure, &cells),
                        points: true,
                        write: measure.write,
                        top_max: measure.top_max,
                        wide: false,
                    }))
                }
            }
        }
    }
}

/// The number of servers that is looked at more closely: that of the advice.
fn shown_servers(study: &Study) -> u16 {
    let eight = study.servers.iter().find(|count| **count == 8);
    eight.or(study.servers.last()).copied().unwrap_or(1)
}

/// The clusters that are looked at more closely: one for each policy, with the smallest cache.
fn shown(study: &Study) -> Vec<(usize, &Cell)> {
    let (servers, cache) = (shown_servers(study), study.caches[0]);
    let cells = study.policies.iter().enumerate();
    cells.filter_map(|(at, name)| Some((at, study.cell(name, servers, cache)?))).collect()
}

fn cluster(study: &Study) -> String {
    format!("{} servers of {}", shown_servers(study), size(study.caches[0]))
}

fn along(study: &Study) -> Markup {
    let cells = shown(study);
    let first = |cell: &&Cell| cell.outcomes.first().map_or(0, |outcome| outcome.slices.len());
    let parts = cells.iter().map(|(_, cell)| first(cell)).min().unwrap_or(0);
    let value = |outcome: &Outcome| {
        outcome.slices.iter().take(parts).map(|slice| Some(slice.hit_ratio())).collect()
    };
    let lines = cells.iter().filter_map(|(style, cell)| {
        Some(Line { name: cell.policy, style: *style, values: value(cell.outcomes.first()?) })
    });
    html! {
        h2 { "Along the log" }
        p class="soft" {
            "Hit ratio in " (parts) " parts of equally many requests, with " (cluster(study))
            ". Caches are empty at the beginning."
        }
        div class="scroll along" {
            (plot::lines(&Picture {
                title: "Hit ratio",
                across: "part of the log",
                places: (1..=parts).map(|part| part.to_string()).collect(),
                lines: lines.collect(),
                points: false,
                write: |share| format!("{:.0} %", share * 100.0),
                top_max: 1.0,
                wide: true,
            }))
        }
    }
}

fn table(study: &Study) -> Markup {
    html! {
        h2 { "All figures" }
        p class="soft" { (sureness(study)) }
        @if let Some(refused) = refused(study) { p class="soft" { (refused) } }
        div class="scroll" {
            table {
                tr {
                    th class="left" { "policy" } th { "servers" }
                    th { @if study.closed() { "req/s" } @else { "capacity/s" } }
                    th { "hits" } th { "bytes" } th { "p50" } th { "p90" } th { "p99" }
                    th { "max/mean load" } th { "replicated" } th { "busy" }
                }
                @for &cache in &study.caches {
                    tr class="group" { td colspan="11" { "cache of " (size(cache)) } }
                    @for cell in study.cells.iter().filter(|cell| cell.cache_bytes == cache) {
                        (row(cell))
                    }
                }
            }
        }
    }
}

fn row(cell: &Cell) -> Markup {
    let f = &cell.figures;
    let passing = matches!(f.strain, Strain::Passing(_));
    html! {
        tr {
            td class="left" { (cell.policy) }
            td { (cell.servers) }
            td { (figure(f.capacity_rps.mean)) (half(&f.capacity_rps, figure)) }
            td { (percent(f.hit_ratio.mean)) (half(&f.hit_ratio, |v| format!("{:.1}", v * 100.0))) }
            td { (percent(f.byte_hit_ratio.mean)) }
            @if cell.overloaded() {
                td colspan="3" { "not sustainable" }
            } @else {
                td { (ms(f.p50_ms.mean)) }
                td { (ms(f.p90_ms.mean)) }
                td { (ms(f.p99_ms.mean)) @if passing { "*" } (half(&f.p99_ms, ms)) }
            }
            td { (format!("{:.2}", f.imbalance.mean)) }
            td { (count(f.replicated.mean.round() as u64)) }
            td { (busy(f.work.mean)) }
        }
    }
}

/// Half an interval, where there is one that can be seen.
fn half(estimate: &Estimate, write: fn(f64) -> String) -> Markup {
    let seen =
        estimate.half_width.is_finite() && estimate.half_width > 0.0005 * estimate.mean.abs();
    html! { @if seen { small { " ±" (write(estimate.half_width)) } } }
}

fn mix(study: &Study) -> Markup {
    let cells = shown(study);
    let used: Vec<Why> = Why::ALL
        .iter()
        .copied()
        .filter(|why| cells.iter().any(|(_, cell)| cell.whys()[why.index()] > 0))
        .collect();
    html! {
        h2 { "Why servers were chosen" }
        p class="soft" { "With " (cluster(study)) "." }
        ul class="legend mix" {
            @for (at, why) in used.iter().enumerate() {
                li { i class=(plot::style(at)) {} (why.name()) }
            }
        }
        table class="mixes" {
            @for (_, cell) in &cells {
                @let whys = cell.whys();
                @let all = whys.iter().sum::<u64>().max(1) as f64;
                @let shares: Vec<_> = used.iter().enumerate()
                    .map(|(at, why)| (why.name(), at, whys[why.index()] as f64 / all)).collect();
                tr { td class="left" { (cell.policy) } td class="mix" { (plot::bar(&shares)) } }
            }
        }
    }
}

fn hottest(study: &Study) -> Markup {
    let cells = shown(study);
    html! {
        h2 { "The hottest targets and where they live" }
        p class="soft" {
            "The caches that have them at the end, with " (cluster(study)) "."
        }
        div class="scroll" {
            table {
                tr {
                    th class="left" { "target" } th { "requests" } th { "share" } th { "size" }
                    @for (_, cell) in &cells { th class="left" { (cell.policy) } }
                }
                @for (at, hot) in study.hot.iter().enumerate() {
                    tr {
                        td class="url" { (hot.url) }
                        td { (count(hot.requests)) }
                        td { (percent(hot.requests as f64 / study.survey.requests.max(1) as f64)) }
                        td { @if hot.size_bytes > 0 { (size(hot.size_bytes)) } @else { "unknown" } }
                        @for (_, cell) in &cells { td class="left" { (homes(cell, at)) } }
                    }
                }
            }
        }
    }
}

/// The servers that have a target: all of them, or by name as far as they fit.
fn homes(cell: &Cell, at: usize) -> String {
    let homes = cell.outcomes.first().and_then(|outcome| outcome.homes.get(at));
    let homes = homes.map_or(&[][..], Vec::as_slice);
    match homes.len() {
        0 => "none".to_owned(),
        len if len == usize::from(cell.servers) && len > 1 => format!("all {len}"),
        len if len > 4 => format!("{len} of {}", cell.servers),
        _ => homes.iter().map(|home| format!("s{}", home + 1)).collect::<Vec<_>>().join(" "),
    }
}

fn modelled(study: &Study) -> Markup {
    html! {
        h2 { "How it was played" }
        @for line in MODEL { p { (line) } }
        p { "Of the figures, " (study.capacity_means()) "." }
        h3 { "The log" }
        dl {
            @for log in &study.logs {
                dt { (log.name) }
                dd {
                    "format " (log.format)
                    @if let Some(sure) = log.confidence { " (found out, " (percent(sure)) " sure)" }
                    ": " (count(log.tally.lines)) " lines, " (count(log.tally.records)) " requests"
                    @if log.tally.rejects() > 0 {
                        ", " (count(log.tally.rejects())) " lines that are none:"
                        @for (cause, lines) in &log.tally.rejected {
                            " " (count(*lines)) " with " (cause.to_string()) ";"
                        }
                    }
                }
            }
            dt { "stamps" }
            dd { "tell " (ms(study.learnt.grain.as_secs_f64() * 1e3)) " apart" }
            dt { "busiest CPU or disk" }
            dd { "up to " (percent(busiest(study))) " of what it can do" }
        }
    }
}

/// The work of the busiest CPU or disk of all clusters, in parts of what it can do.
fn busiest(study: &Study) -> f64 {
    study.cells.iter().map(|cell| cell.figures.work.mean).fold(0.0, f64::max)
}
