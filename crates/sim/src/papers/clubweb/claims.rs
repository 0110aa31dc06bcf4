//! What the paper claims, against our figures.

use crate::{Claim, Figures, Finding, Verdict};

const STRESS: &str = "CPU of the servers and of the TCP gateway (calibrated to the published \
                      saturation), hand-off cost scaled by clock (derived)";
const REALISTIC: &str = "CPU and disk demands of the programs, share of the caches, popularity, \
                         Apache's CPU costs (chosen)";

pub(in crate::papers) const CLAIMS: &[Claim] = &[
    not_simulated(
        "CW-C1",
        "files of one packet: no overhead against a server addressed directly",
        "none",
        "the model has no measured response times to compare with",
    ),
    not_simulated(
        "CW-C2",
        "the switch leaves throughput alone; its delay grows to 6.71 % at 3 KB",
        "6.71 %",
        "the delay of their kernel module is not in the text: a model gives back what it is given",
    ),
    not_simulated(
        "CW-C3",
        "above 5 KB the Fast Ethernet saturates",
        "89.1 Mb/s",
        "one server addressed directly is not a cluster",
    ),
    Claim {
        id: "CW-C4",
        says: "a 1.5 KB file: near-linear scaling until the LAN saturates; the switch is never the \
               bottleneck",
        published: "near-linear",
        needs: &["clubweb-8"],
        depends: STRESS,
        verdict: Verdict::Reproduced,
        judge: scales,
    },
    Claim {
        id: "CW-C5",
        says: "the TCP gateway does not scale beyond two servers",
        published: "about 600 connections/s",
        needs: &["clubweb-8"],
        depends: STRESS,
        verdict: Verdict::Reproduced,
        judge: gateway,
    },
    not_simulated(
        "CW-C6",
        "switches with one and two CPUs were both measured",
        "no difference given",
        "nothing is claimed; clubweb-8 shows both",
    ),
    Claim {
        id: "CW-C7",
        says: "connections per second when the LAN is full",
        published: "5,000 to 5,900, derived from 89.1 Mb/s and 1.9 to 2.2 KB on the wire",
        needs: &["clubweb-8"],
        depends: STRESS,
        verdict: Verdict::Reproduced,
        judge: saturates,
    },
    Claim {
        id: "CW-C8",
        says: "realistic load: the switch's CPU is never busier than 0.5",
        published: "0.5",
        needs: &["clubweb-9"],
        depends: REALISTIC,
        verdict: Verdict::Reproduced,
        judge: switch_idles,
    },
    Claim {
        id: "CW-C9",
        says: "CAP is better than LARD under both models at every offered load",
        published: "clearly better",
        needs: &["clubweb-9"],
        depends: REALISTIC,
        verdict: Verdict::Reproduced,
        judge: cap_beats_lard,
    },
    not_simulated(
        "CW-C10",
        "layer-4 switches are one to two orders of magnitude faster",
        "10 to 100 times",
        "no layer-4 switch was measured in the paper",
    ),
    not_simulated(
        "CW-C11",
        "one-way in the kernel beats two-way in the kernel beats two-way in user space",
        "order",
        "of the sibling paper (NCA 2003), whose costs are not known",
    ),
];

const fn not_simulated(
    id: &'static str,
    says: &'static str,
    published: &'static str,
    why: &'static str,
) -> Claim {
    let judge = |_: &Figures| Finding { holds: false, measured: String::new() };
    let verdict = Verdict::NotSimulated(why);
    Claim { id, says, published, needs: &[], depends: "", verdict, judge }
}

/// The wire is full from here on, in Mb/s.
const FULL_MEGABITS_S: f64 = 97.0;

fn scales(figures: &Figures) -> Finding {
    let figure = &figures["clubweb-8"];
    let curve = "one-way, 1 CPU";
    let rates = figure.curve(curve, "connections_s");
    let wires = figure.curve(curve, "wire_megabits_s");
    let one = rates[0].1;
    let linear = rates.iter().zip(&wires).filter(|(_, wire)| wire.1 < FULL_MEGABITS_S);
    let worst = linear.map(|(rate, _)| rate.1 / (one * rate.0)).fold(f64::INFINITY, f64::min);
    let most = wires.iter().map(|wire| wire.1).fold(0.0, f64::max);
    let switch = figure.curve(curve, "switch").iter().map(|point| point.1).fold(0.0, f64::max);
    let measured = format!(
        "at least {worst:.3} of linear until {most:.0} Mb/s on the wire; switch with one CPU at \
         most {switch:.2} busy"
    );
    Finding { holds: worst > 0.95 && most > FULL_MEGABITS_S && switch < 0.9, measured }
}

fn gateway(figures: &Figures) -> Finding {
    let rates = figures["clubweb-8"].curve("TCP gateway", "connections_s");
    let at = |servers: f64| rates.iter().find(|rate| rate.0 >= servers).map_or(0.0, |rate| rate.1);
    let (two, most) = (at(2.0), rates.iter().map(|rate| rate.1).fold(0.0, f64::max));
    let measured = format!("{two:.0}/s with two servers, {most:.0}/s at most");
    Finding { holds: most < two * 1.03 && (550.0..650.0).contains(&most), measured }
}

fn saturates(figures: &Figures) -> Finding {
    let rates = figures["clubweb-8"].curve("one-way, 2 CPUs", "connections_s");
    let most = rates.iter().map(|rate| rate.1).fold(0.0, f64::max);
    Finding { holds: (5000.0..5900.0).contains(&most), measured: format!("{most:.0}/s") }
}

fn switch_idles(figures: &Figures) -> Finding {
    let figure = &figures["clubweb-9"];
    let curves = figure.curves();
    let points = curves.iter().flat_map(|curve| figure.curve(curve, "switch"));
    let most = points.map(|point| point.1).fold(0.0, f64::max);
    Finding { holds: most < 0.5, measured: format!("at most {most:.2}, with one CPU") }
}

fn cap_beats_lard(figures: &Figures) -> Finding {
    let figure = &figures["clubweb-9"];
    let mut holds = true;
    let mut measured = Vec::new();
    for model in ["CPU bound", "disk bound"] {
        let cap = figure.curve(&format!("cap, {model}"), "p90_s");
        for lard in ["lard", "lard-connections"] {
            let lard = figure.curve(&format!("{lard}, {model}"), "p90_s");
            holds &= cap.iter().zip(&lard).all(|(cap, lard)| cap.1 < lard.1);
        }
        let last = |policy: &str| {
            figure.curve(&format!("{policy}, {model}"), "p90_s").last().map_or(f64::NAN, |p| p.1)
        };
        measured.push(format!(
            "{model}, greatest load: CAP {:.2} s, LARD {:.1} s (on connections {:.2} s)",
            last("cap"),
            last("lard"),
            last("lard-connections")
        ));
    }
    Finding { holds, measured: measured.join("; ") }
}
