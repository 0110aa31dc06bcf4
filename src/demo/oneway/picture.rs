//! The sequence diagram as a picture: SVG that follows the reader's choice of light or dark.

use super::sequence::{Sequence, Step};
use std::fmt::Write;

/// Pixels between machines' lines, above the first packet, between packets, and around it all.
const LANE: usize = 140;
const TOP: usize = 64;
const ROW: usize = 22;
const MARGIN: usize = 24;
/// Pixels for the times on the left, and for what is said on the right.
const LEFT: usize = 64;
const RIGHT: usize = 400;

/// Colours that people with any colour vision tell apart (Okabe and Ito, 2008), lighter on dark.
const STYLE: &str = "
text { font: 13px ui-monospace, monospace; fill: #1b1f24 }
.ground { fill: #ffffff } .machine { font-weight: bold; text-anchor: middle }
.time, .note { fill: #57606a } .time { text-anchor: end }
.lane { stroke: #b8bfc7; stroke-width: 1 }
.request, .reply { stroke-width: 1.5 } .asks { font-weight: bold }
.request { stroke: #0072b2; fill: #0072b2 } .reply { stroke: #b35900; fill: #b35900 }
.envelope { stroke: #007a55; fill: #007a55; stroke-width: 2.5 }
.label { text-anchor: middle; font-size: 11px; font-weight: bold; fill: #007a55 }
.label { paint-order: stroke; stroke: #ffffff; stroke-width: 4px }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .ground { fill: #0d1117 } .time, .note { fill: #9aa4af }
.lane { stroke: #4a525c }
.request { stroke: #56b4e9; fill: #56b4e9 } .reply { stroke: #e69f00; fill: #e69f00 }
.envelope { stroke: #2fd6a0; fill: #2fd6a0 } .label { stroke: #0d1117; fill: #2fd6a0 }
}";

/// Draws it.
pub(super) fn svg(sequence: &Sequence) -> String {
    let machines = sequence.machines();
    let lane = |name: &str| {
        let at = machines.iter().position(|machine| *machine == name).unwrap_or(0);
        LEFT + 2 * MARGIN + at * LANE
    };
    let words_at = LEFT + 3 * MARGIN + (machines.len() - 1) * LANE;
    let (width, bottom) = (words_at + RIGHT, TOP + sequence.steps.len() * ROW);
    let height = bottom + MARGIN + ROW;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"Packets of a connection that is handed over and moved on\">\n\
         <style>{STYLE}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"time\" x=\"{LEFT}\" y=\"34\">us</text>\n"
    );
    for name in &machines {
        let x = lane(name);
        let shown = if *name == "front" { "front-end" } else { name };
        line(&mut out, "lane", (x, 44), (x, bottom));
        text(&mut out, "machine", (x, 34), shown);
    }
    for (at, step) in sequence.steps.iter().enumerate() {
        let y = TOP + at * ROW;
        let (from, to) = (lane(&step.from), lane(&step.to));
        text(&mut out, "time", (LEFT, y + 4), &format!("{:.0}", step.us));
        arrow(&mut out, class(step), (from, to), y);
        if let Some(name) = step.envelope {
            text(&mut out, "label", (from.midpoint(to), y - 5), name);
        }
        let asks = step.from == "client" && step.line.is_some();
        let class = if asks { "asks" } else { "words" };
        text(&mut out, class, (words_at, y + 4), &step.words());
    }
    let note = "Replies cross the front-end's line and do not stop there: they go from the server \
                to the client.";
    text(&mut out, "note", (LEFT, bottom + ROW), note);
    out + "</svg>\n"
}

/// A request's side, a reply's, or an envelope between front-end and servers.
fn class(step: &Step) -> &'static str {
    match (&step.envelope, step.to.as_str()) {
        (Some(_), _) => "envelope",
        (None, "client") => "reply",
        (None, _) => "request",
    }
}

fn arrow(out: &mut String, class: &str, (from, to): (usize, usize), y: usize) {
    line(out, class, (from, y), (to, y));
    let back = if from < to { to - 8 } else { to + 8 };
    let (above, below) = (y - 4, y + 4);
    writeln!(out, "<path class=\"{class}\" d=\"M{to} {y} L{back} {above} L{back} {below} Z\"/>")
        .expect("a string takes all");
}

fn line(out: &mut String, class: &str, (x1, y1): (usize, usize), (x2, y2): (usize, usize)) {
    writeln!(out, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>")
        .expect("a string takes all");
}

fn text(out: &mut String, class: &str, (x, y): (usize, usize), words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    writeln!(
        out,
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" xml:space=\"preserve\">{words}</text>"
    )
    .expect("a string takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_packet_says_cannot_break_out_of_the_picture() {
        let step = Step {
            us: 1.0,
            from: "client".to_owned(),
            to: "front".to_owned(),
            envelope: None,
            flags: "ACK".to_owned(),
            seq: 0,
            ack: Some(0),
            payload_bytes: 1,
            line: Some("GET /<script>&amp; HTTP/1.1".to_owned()),
        };
        let drawn = svg(&Sequence { steps: vec![step], more: 0 });
        assert!(drawn.contains("GET /&lt;script&gt;&amp;amp;") && !drawn.contains("<script"));
        assert!(drawn.contains("prefers-color-scheme: dark") && drawn.ends_with("</svg>\n"));
    }
}
