//! What the paper claims. Its curves are pictures; the claims are its sentences.

use super::{DISTRIBUTED, SINGLE, SMALL};
use crate::{Claim, Figures, Finding, Verdict};

const SPLIT: &str = "that a third of the published 300 us a connection is the hand-off itself \
                     (chosen); 40 us for a message to the dispatcher (calibrated to SC-C7)";

pub(in crate::papers) const CLAIMS: &[Claim] = &[
    Claim {
        id: "SC-C1",
        says: "On small cached files, throughput of the distributed cluster grows linearly with \
               the number of nodes",
        published: "linear (Fig. 9)",
        needs: &["scalable-9"],
        depends: SPLIT,
        verdict: Verdict::Reproduced,
        judge: |figures| {
            let rate = |nodes| at(figures, "scalable-9", DISTRIBUTED, nodes, "connections/s");
            // From two nodes on: one alone hands nothing over.
            let each = |nodes| rate(nodes) / nodes;
            let gain = each(12.0) / each(2.0);
            Finding {
                holds: (0.9..=1.1).contains(&gain),
                measured: format!(
                    "{:.0} a node at 2, {:.0} at 12: {:.0} %",
                    each(2.0),
                    each(12.0),
                    gain * 100.0
                ),
            }
        },
    },
    Claim {
        id: "SC-C2",
        says: "In that run the dispatcher is far from saturated",
        published: "far from saturated (Fig. 10)",
        needs: &["scalable-9"],
        depends: SPLIT,
        verdict: Verdict::Reproduced,
        judge: |figures| {
            let busy = at(figures, "scalable-9", DISTRIBUTED, 12.0, "dispatcher");
            Finding {
                holds: busy < 0.5,
                measured: format!("busy {:.0} % at 12 nodes", busy * 100.0),
            }
        },
    },
    Claim {
        id: "SC-C3",
        says: "N nodes of the distributed design deliver what N-1 back-ends deliver behind a \
               conventional front-end, before that saturates",
        published: "N against N-1 (Fig. 9)",
        needs: &["scalable-9"],
        depends: SPLIT,
        verdict: Verdict::Reproduced,
        judge: |figures| {
            let rate = |curve, nodes| at(figures, "scalable-9", curve, nodes, "connections/s");
            let ratio = |nodes: f64| rate(DISTRIBUTED, nodes) / rate(SINGLE, nodes - 1.0);
            let [three, four, five] = [3.0, 4.0, 5.0].map(ratio);
            // Of fewer nodes one is too large a part for the equation to mean anything.
            Finding {
                holds: [four, five].iter().all(|ratio| (0.9..=1.1).contains(ratio)),
                measured: format!(
                    "4 against 3: x {four:.2}; 5 against 4: x {five:.2} (3 against 2: x {three:.2})"
                ),
            }
        },
    },
    Claim {
        id: "SC-C4",
        says: "IBM trace: the single front-end is faster below 5 nodes and saturates at 5 and \
               above; the distributed cluster goes on growing",
        published: "crossing at 5 nodes (Fig. 12)",
        needs: &["scalable-12"],
        depends: SPLIT,
        verdict: Verdict::Reproduced,
        judge: |figures| {
            let rate = |curve, nodes| at(figures, "scalable-12", curve, nodes, "connections/s");
            let ahead = |nodes| rate(SINGLE, nodes) > rate(DISTRIBUTED, nodes);
            let busy = at(figures, "scalable-12", SINGLE, 5.0, "front-end");
            let flat = rate(SINGLE, 12.0) / rate(SINGLE, 5.0);
            let grows = rate(DISTRIBUTED, 12.0) / rate(DISTRIBUTED, 5.0);
            let sizes = SMALL.iter().map(|nodes| f64::from(*nodes));
            let crossing = sizes.clone().find(|nodes| !ahead(*nodes)).unwrap_or(f64::INFINITY);
            let below = sizes.take_while(|nodes| *nodes < 5.0).all(ahead);
            Finding {
                holds: below && busy > 0.95 && flat < 1.1 && grows > 1.7,
                measured: format!(
                    "ahead below 5 nodes: {below}; busy {:.0} % at 5; from 5 to 12 nodes x \
                     {flat:.2} against x {grows:.2}; overtaken by {crossing} nodes",
                    busy * 100.0
                ),
            }
        },
    },
    Claim {
        id: "SC-C5",
        says: "Rice trace: the same tendency, weaker, because the disk limits; throughput lower \
               than on IBM",
        published: "less pronounced; significantly lower (Fig. 13)",
        needs: &["scalable-12", "scalable-13"],
        depends: SPLIT,
        verdict: Verdict::Reproduced,
        judge: |figures| {
            let rate = |id, curve, nodes| at(figures, id, curve, nodes, "connections/s");
            let lead = |id| rate(id, DISTRIBUTED, 12.0) / rate(id, SINGLE, 12.0);
            let (rice, ibm) = (lead("scalable-13"), lead("scalable-12"));
            let share = |nodes: f64| {
                rate("scalable-13", DISTRIBUTED, nodes) / rate("scalable-12", DISTRIBUTED, nodes)
            };
            let lower = SMALL.iter().all(|nodes| share(f64::from(*nodes)) < 0.95);
            let percent = |nodes| share(nodes) * 100.0;
            Finding {
                holds: rice >= 1.0 && rice < ibm && lower,
                measured: format!(
                    "at 12 nodes x {rice:.2} (IBM x {ibm:.2}); Rice has {:.0} % of IBM's \
                     throughput at 1 node, {:.0} % at 3, {:.0} % at 6, {:.0} % at 12",
                    percent(1.0),
                    percent(3.0),
                    percent(6.0),
                    percent(12.0)
                ),
            }
        },
    },
    Claim {
        id: "SC-C6",
        says: "Rice trace on 800 MHz nodes: more than 13,000 connections/s at 16 nodes and still \
               growing; the single front-end stays below 7,000",
        published: "> 13,000; < 7,000 (Fig. 14)",
        needs: &["scalable-14"],
        depends: SPLIT,
        verdict: Verdict::Reproduced,
        judge: |figures| {
            let rate = |curve, nodes| at(figures, "scalable-14", curve, nodes, "connections/s");
            let (most, single) = (rate(DISTRIBUTED, 16.0), rate(SINGLE, 16.0));
            let grows = most / rate(DISTRIBUTED, 12.0);
            Finding {
                holds: most > 13_000.0 && single < 7_000.0 && grows > 1.15,
                measured: format!("{most:.0} and {single:.0}; x {grows:.2} from 12 to 16 nodes"),
            }
        },
    },
    Claim {
        id: "SC-C7",
        says: "The dispatcher's utilisation in that run is consistent with at least 50,000 \
               connections/s",
        published: "at least 50,000",
        needs: &[],
        depends: "",
        verdict: Verdict::NotSimulated(
            "the dispatcher's cost of a message is calibrated to this claim, so that its coming \
             out would show nothing; scalable-load shows where batches take it from there",
        ),
        judge: |_| Finding { holds: false, measured: String::new() },
    },
    Claim {
        id: "SC-C8",
        says: "An 800 MHz node delivers at least 812 connections/s of the Rice trace in a cluster \
               of 16",
        published: "13,000 / 16 = 812 (derived)",
        needs: &["scalable-14"],
        depends: SPLIT,
        verdict: Verdict::Reproduced,
        judge: |figures| {
            let each = at(figures, "scalable-14", DISTRIBUTED, 16.0, "connections/s") / 16.0;
            Finding { holds: each >= 812.0, measured: format!("{each:.0} a node") }
        },
    },
    Claim {
        id: "SC-C9",
        says: "The dispatcher's peak was measured with a small program that floods it",
        published: "the number was not recovered",
        needs: &[],
        depends: "",
        verdict: Verdict::NotSimulated("a way of measuring, whose result is not known"),
        judge: |_| Finding { holds: false, measured: String::new() },
    },
    Claim {
        id: "SC-C10",
        says: "Only a minimal latency penalty is paid for the extra hop",
        published: "minimal (abstract)",
        needs: &["scalable-delay"],
        depends: SPLIT,
        verdict: Verdict::Reproduced,
        judge: |figures| {
            let delay = |curve| at(figures, "scalable-delay", curve, 8.0, "delay ms");
            let more = delay(DISTRIBUTED) - delay(SINGLE);
            Finding {
                holds: more < 0.5,
                measured: format!(
                    "{:.2} ms against {:.2} ms at 8 nodes, lightly loaded: {more:+.2} ms",
                    delay(DISTRIBUTED),
                    delay(SINGLE)
                ),
            }
        },
    },
];

fn at(figures: &Figures, id: &str, curve: &str, x: f64, column: &str) -> f64 {
    figures[id].at(curve, x, column)
}
