//! The status page: one HTML document rendered here, readable on a phone and in the dark.
//!
//! No external request and no inline script or style, so that the strictest content policy holds;
//! bars are SVG for the same reason. Everything that comes from the network or the configuration
//! is escaped by [`Text`].

mod oneway;
mod text;

use crate::events::unix_ms_now;
use crate::history::Recent;
use crate::metrics::load_imbalance;
use crate::view::{Histogram, ServerReport, ServerState, Status, Totals};
use crate::{Event, Supervisor};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
pub use text::Age;
use text::{Bar, Count, Share, Span, Text, Trend};

/// The page's style sheet.
pub(crate) const STYLE: &str = include_str!("page.css");
/// The page's script: refreshes the figures.
pub(crate) const SCRIPT: &str = include_str!("page.js");

/// Events shown.
const EVENTS_SHOWN: usize = 8;
/// Rows of routes shown.
const ROUTES_SHOWN: usize = 20;

/// The page as it is now.
pub(crate) fn render(supervisor: &Supervisor, recent: &Recent) -> String {
    let view = View {
        status: supervisor.switch().status(),
        totals: supervisor.switch().totals(),
        servers: supervisor.reports(),
        events: supervisor.events(EVENTS_SHOWN),
        ready: supervisor.ready(),
        recent,
    };
    let mut html = String::with_capacity(16 * 1024);
    view.document(&mut html).expect("writing to a string does not fail");
    html
}

/// All that the page shows.
struct View<'a> {
    status: Status,
    totals: Totals,
    servers: Vec<ServerReport>,
    events: Vec<Event>,
    ready: Result<(), (&'static str, &'static str)>,
    recent: &'a Recent,
}

impl View<'_> {
    fn document(&self, html: &mut String) -> fmt::Result {
        let (word, _) = self.health();
        write!(
            html,
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\
             <title>{word} · Baton</title><link rel=\"stylesheet\" href=\"/page.css\">\
             <link rel=\"icon\" href=\"data:,\"><script src=\"/page.js\" defer></script>\
             </head><body><main>"
        )?;
        self.heading(html)?;
        self.figures(html)?;
        self.server_table(html)?;
        html.push_str("<div class=\"columns\">");
        self.decisions(html)?;
        self.routes(html)?;
        html.push_str("</div>");
        if let Some(view) = &self.status.oneway {
            oneway::section(html, view)?;
        }
        oneway::agents(html, &self.status.agents)?;
        self.event_table(html)?;
        self.footing(html)?;
        html.push_str("</main></body></html>");
        Ok(())
    }

    /// The state of the switch in a word, and its colour.
    fn health(&self) -> (&'static str, &'static str) {
        let up = self.count_up();
        match self.ready {
            Err(_) => ("Not ready", "bad"),
            Ok(()) if up < self.servers.len() => ("Degraded", "draining"),
            Ok(()) => ("Healthy", "ok"),
        }
    }

    fn count_up(&self) -> usize {
        self.servers.iter().filter(|r| r.standing.state == ServerState::Up).count()
    }

    fn heading(&self, html: &mut String) -> fmt::Result {
        let Status { version, policy, uptime_s, config, panic, .. } = &self.status;
        let (word, colour) = self.health();
        let (up, all) = (self.count_up(), self.servers.len());
        write!(
            html,
            "<header><h1>Baton <span class=\"{colour}\">● {word}</span></h1>\
             <p>{up} of {all} servers up · policy <b>{}</b> · running for {} · version {}",
            Text(policy),
            Age(*uptime_s),
            Text(version),
        )?;
        if let Err((error, remedy)) = self.ready {
            write!(html, " · <b class=\"bad\">{error}: {remedy}</b>")?;
        }
        if *panic {
            html.push_str(" · <b class=\"bad\">too few servers up: ejections are ignored</b>");
        }
        if let Some(last) = config.reload_last.as_ref().filter(|last| !last.ok) {
            let message = Text(&last.message);
            write!(html, " · <b class=\"bad\">last reload refused: {message}</b>")?;
        }
        html.push_str("</p></header>");
        Ok(())
    }

    fn figures(&self, html: &mut String) -> fmt::Result {
        let Recent { rate, error_share, hit_share, duration, rates, .. } = self.recent;
        html.push_str("<h2>Last minute</h2><div class=\"figures\">");
        write!(
            html,
            "<div><span>requests/s</span><b>{}</b>{}</div>",
            Count(rate.round() as u64),
            Trend(rates),
        )?;
        let quantile = |q| Span(duration.quantile_s(q));
        let (p90, p99) = (quantile(0.9), quantile(0.99));
        write!(
            html,
            "<div><span>median reply</span><b>{}</b><small>90 % within {p90}<br>\
             99 % within {p99}</small></div>",
            quantile(0.5),
        )?;
        let bad = if error_share.is_some_and(|share| share > 0.01) { " class=\"bad\"" } else { "" };
        write!(
            html,
            "<div><span>errors (5xx)</span><b{bad}>{}</b><small>{} since the start\
             </small></div>",
            Share(*error_share),
            Count(self.status.replies.server_error),
        )?;
        write!(
            html,
            "<div><span>expected hits</span><b>{}</b><small>{} targets, {} on several \
             servers</small></div>",
            Share(*hit_share),
            Count(self.totals.targets),
            Count(self.totals.replicated_targets),
        )?;
        write!(
            html,
            "<div><span>load, max/mean</span><b>{:.2}</b><small>1.00 is perfect\
             </small></div>",
            load_imbalance(&self.servers),
        )?;
        write!(
            html,
            "<div><span>in flight</span><b>{}</b><small>{} client connections<br>{} requests \
             since the start</small></div></div>",
            Count(self.status.in_flight),
            Count(self.status.connections_open()),
            Count(self.status.requests),
        )
    }

    fn server_table(&self, html: &mut String) -> fmt::Result {
        html.push_str(
            "<section><h2>Servers</h2><table class=\"servers\"><thead><tr><th>server<th>state\
             <th>load<th class=\"n\">waiting<th class=\"n\">first byte p50<th class=\"n\">p90\
             <th class=\"n\">expected hits<th class=\"n\">requests<th class=\"n\">failed\
             <th class=\"n\">weight</tr></thead><tbody>",
        );
        let greatest = self.servers.iter().map(|report| report.server.load).fold(1.0, f64::max);
        for report in &self.servers {
            server_row(html, report, greatest)?;
        }
        html.push_str("</tbody></table></section>");
        Ok(())
    }

    fn decisions(&self, html: &mut String) -> fmt::Result {
        let mut reasons = BTreeMap::new();
        for count in &self.totals.decisions {
            *reasons.entry(count.reason.as_str()).or_insert(0) += count.count;
        }
        let total: u64 = reasons.values().sum();
        let mut reasons: Vec<_> = reasons.into_iter().filter(|(_, count)| *count > 0).collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        html.push_str("<section><h2>Why servers were chosen</h2><table class=\"mix\"><tbody>");
        if reasons.is_empty() {
            html.push_str("<tr><td class=\"quiet\">no decision yet</td></tr>");
        }
        for (reason, count) in reasons {
            let share = count as f64 / total as f64;
            write!(
                html,
                "<tr><td>{}<td class=\"load\">{}<td class=\"n\">{}<td class=\"n quiet\">{}</tr>",
                Text(reason),
                Bar { share, warn: false },
                Share(Some(share)),
                Count(count),
            )?;
        }
        html.push_str("</tbody></table></section>");
        Ok(())
    }

    fn routes(&self, html: &mut String) -> fmt::Result {
        html.push_str(
            "<section><h2>Reply times since the start</h2><table><thead><tr><th>route\
             <th class=\"n\">p50<th class=\"n\">p90<th class=\"n\">p99<th class=\"n\">requests</tr>\
             </thead><tbody>",
        );
        let mut routes: BTreeMap<(&str, Option<&str>), Histogram> = BTreeMap::new();
        for timed in &self.totals.durations {
            let route = (timed.listener.as_str(), timed.route.as_deref());
            // Histograms of one switch share their buckets.
            routes.entry(route).or_default().merge(&timed.duration);
        }
        let mut timed: Vec<_> = routes.into_iter().collect();
        timed.sort_by_key(|(_, duration)| std::cmp::Reverse(duration.count()));
        for ((listener, route), duration) in timed.into_iter().take(ROUTES_SHOWN) {
            let (route, listener) = (Text(route.unwrap_or("(no rule)")), Text(listener));
            write!(html, "<tr><td>{route} <small>{listener}</small>")?;
            quantiles(html, &duration, &[0.5, 0.9, 0.99])?;
            write!(html, "<td class=\"n\">{}</tr>", Count(duration.count()))?;
        }
        html.push_str("</tbody></table></section>");
        Ok(())
    }

    fn event_table(&self, html: &mut String) -> fmt::Result {
        html.push_str("<section><h2>Events</h2><table><tbody>");
        if self.events.is_empty() {
            html.push_str("<tr><td class=\"quiet\">none yet</td></tr>");
        }
        let now = unix_ms_now();
        for event in &self.events {
            let age = Age(now.saturating_sub(event.at_unix_ms) as f64 / 1000.0);
            write!(html, "<tr><td class=\"quiet\">{age} ago<td>{}</tr>", Text(&event.line()))?;
        }
        html.push_str("</tbody></table></section>");
        Ok(())
    }

    fn footing(&self, html: &mut String) -> fmt::Result {
        let config = &self.status.config;
        html.push_str("<footer>Listening on ");
        for (index, listener) in self.status.listeners.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(html, "{comma}{}", Text(&listener.address))?;
        }
        let (source, hash) = (Text(&config.source), Text(&config.hash));
        write!(html, " · configuration {source} ({hash})<br>")?;
        for path in ["/metrics", "/v1/status", "/v1/servers", "/v1/decisions?n=50", "/v1/events"] {
            write!(html, "<a href=\"{path}\">{path}</a> ")?;
        }
        html.push_str("</footer>");
        Ok(())
    }
}

fn server_row(html: &mut String, report: &ServerReport, greatest: f64) -> fmt::Result {
    let ServerReport { server, standing } = report;
    let state = standing.state.name();
    let glyph = match standing.state {
        ServerState::Up => "●",
        ServerState::Down => "✕",
        ServerState::Ejected => "◐",
        ServerState::Draining | ServerState::Left => "◌",
    };
    let since = match standing.since_unix_ms {
        0 => String::new(),
        since => format!("for {}", Age(unix_ms_now().saturating_sub(since) as f64 / 1000.0)),
    };
    write!(
        html,
        "<tr><td><b>{}</b><br><small>{}</small><td><span class=\"state {state}\">{glyph} {state}\
         </span> <small>{since}</small><br><small>{}</small>",
        Text(&server.name),
        Text(&server.address),
        Text(&standing.why),
    )?;
    // A bar against what the server may hold, or else against the busiest.
    let limit = server.in_flight_max.or(server.capacity).map(f64::from);
    let share = server.load / limit.unwrap_or(greatest);
    let of = limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
    let bar = Bar { share, warn: limit.is_some() && share >= 0.9 };
    let load = (server.load * 10.0).round() / 10.0;
    write!(html, "<td class=\"load\">{load}{of}{bar}")?;
    write!(html, "<td class=\"n\" data-label=\"waiting\">{}", Count(server.queued))?;
    let quantile = |q| Span(server.first_byte.quantile_s(q));
    write!(html, "<td class=\"n\" data-label=\"first byte p50\">{}", quantile(0.5))?;
    write!(html, "<td class=\"n\" data-label=\"p90\">{}", quantile(0.9))?;
    let expected = server.expected_hits + server.expected_misses;
    let hits = (expected > 0).then(|| server.expected_hits as f64 / expected as f64);
    write!(html, "<td class=\"n\" data-label=\"expected hits\">{}", Share(hits))?;
    write!(html, "<td class=\"n\" data-label=\"requests\">{}", Count(server.begun))?;
    let bad = if server.failed > 0 { " bad" } else { "" };
    write!(html, "<td class=\"n{bad}\" data-label=\"failed\">{}", Count(server.failed))?;
    write!(html, "<td class=\"n\" data-label=\"weight\">{}", server.weight)?;
    if server.warmth < policy::WARM {
        let warm = Share(Some(f64::from(server.warmth) / f64::from(policy::WARM)));
        write!(html, "<br><small>warming up: {warm}</small>")?;
    }
    html.push_str("</tr>");
    Ok(())
}

fn quantiles(html: &mut String, duration: &Histogram, shares: &[f64]) -> fmt::Result {
    for q in shares {
        write!(html, "<td class=\"n\">{}", Span(duration.quantile_s(*q)))?;
    }
    Ok(())
}
