//! What the P-HTTP paper says, against the figures.

use super::{CURVES, FORWARD, SIMPLE, SIMPLE_PHTTP};
use crate::{Claim, Figure, Figures, Finding, Verdict};

const APACHE: &str = "phttp-7";
const FLASH: &str = "phttp-8";
const SHARED: &str = "phttp-7-shared";

const MULTI: &str = CURVES[4].0;
const IDEAL: &str = CURVES[6].0;

const STRAYS: &str = "30 % of the later requests stray from their page (calibrated to 39 %)";
const COSTS: &str = "C_h = set-up and tear-down, C_f = 0, c_f = 24 us/512 B (chosen); 30 % strays \
                     (calibrated)";
const PROTOTYPE: Verdict =
    Verdict::NotSimulated("a measurement of the prototype, not of the simulator");

pub(in super::super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "PH-C1",
        says: "Simple LARD loses on HTTP/1.1, mostly at small to medium cluster sizes",
        published: "up to 39 % (Apache), 54 % (Flash)",
        needs: &[APACHE, FLASH],
        depends: STRAYS,
        verdict: Verdict::Reproduced,
        judge: loss,
    },
    Claim {
        id: "PH-C2",
        says: "Extended LARD with either mechanism is within 8 % of the ideal one",
        published: "within 8 %",
        needs: &[APACHE, FLASH],
        depends: COSTS,
        verdict: Verdict::NotReproduced(
            "Forwarding stays within 8 % of the ideal at nearly every size. Handing on does not: \
             it herds. Connections gather at nodes with popular objects, up to L_overload, while \
             others idle; at which sizes depends on the admission limit and on chance, and where \
             the ideal mechanism herds, forwarding is above it. The paper's limit and its rule for \
             ties are not known.",
        ),
        judge: near_ideal,
    },
    Claim {
        id: "PH-C3",
        says: "Extended LARD gains over simple LARD on HTTP/1.0",
        published: "up to 20 %",
        needs: &[APACHE, FLASH],
        depends: "2.3 requests a connection (chosen, from real logs); warm-up of 30 %",
        verdict: Verdict::Reproduced,
        judge: gain,
    },
    Claim {
        id: "PH-C4",
        says: "Multiple hand-off and back-end forwarding are close to each other",
        published: "within 6 %",
        needs: &[APACHE, FLASH],
        depends: COSTS,
        verdict: Verdict::NotReproduced(
            "They are where handing on does not herd (see PH-C2): the two costs cross at 11.4 KB \
             with Apache and 5.4 KB with Flash, near the mean reply, as in the paper.",
        ),
        judge: near_each_other,
    },
    Claim {
        id: "PH-C5",
        says: "In large clusters simple LARD on HTTP/1.1 approaches extended LARD and never \
               exceeds it",
        published: "approaches",
        needs: &[APACHE, SHARED],
        depends: "the 150 MB most popular objects belong to all pages (calibrated); with any that \
                  stray it comes half-way",
        verdict: Verdict::Reproduced,
        judge: catching_up,
    },
    Claim {
        id: "PH-C6",
        says: "WRR gains nothing from HTTP/1.1: it is disk bound at every size",
        published: "0 %",
        needs: &[APACHE, FLASH],
        depends: "",
        verdict: Verdict::Reproduced,
        judge: rotation,
    },
    Claim {
        id: "PH-C7",
        says: "Simple LARD beats WRR by a margin that grows with the cluster",
        published: "a large margin",
        needs: &[APACHE, FLASH],
        depends: "",
        verdict: Verdict::Reproduced,
        judge: margin,
    },
    Claim {
        id: "PH-C8",
        says: "On one node HTTP/1.1 equals HTTP/1.0 for all policies: disk bound",
        published: "identical",
        needs: &[APACHE, FLASH],
        depends: "",
        verdict: Verdict::Reproduced,
        judge: one_node,
    },
    Claim {
        id: "PH-C9",
        says: "Flash differs from Apache mainly in simple LARD's larger loss on HTTP/1.1",
        published: "54 % instead of 39 %",
        needs: &[APACHE, FLASH],
        depends: STRAYS,
        verdict: Verdict::Reproduced,
        judge: servers,
    },
    Claim {
        id: "PH-C10",
        says: "A relaying front-end that is no bottleneck gains little over back-end forwarding",
        published: "at most 8 %",
        needs: &[APACHE],
        depends: COSTS,
        verdict: Verdict::Reproduced,
        judge: relay,
    },
    Claim {
        id: "PH-C11",
        says: "One node of the prototype delivers about 151 requests/s on the Rice segment",
        published: "151/s",
        needs: &[],
        depends: "",
        verdict: PROTOTYPE,
        judge: nothing,
    },
    Claim {
        id: "PH-C12",
        says: "Extended LARD with forwarding is four times WRR, and gains from persistence",
        published: "4 times; up to 26 %",
        needs: &[],
        depends: "",
        verdict: PROTOTYPE,
        judge: nothing,
    },
    Claim {
        id: "PH-C13",
        says: "LARD without a mechanism for HTTP/1.1 loses by persistence",
        published: "up to 35 %",
        needs: &[],
        depends: "",
        verdict: PROTOTYPE,
        judge: nothing,
    },
    Claim {
        id: "PH-C14",
        says: "WRR gains modestly from HTTP/1.1 in the prototype",
        published: "modestly",
        needs: &[],
        depends: "",
        verdict: Verdict::NotSimulated("fewer server processes leave more memory: not modelled"),
        judge: nothing,
    },
    Claim {
        id: "PH-C15",
        says: "Six nodes load the front-end to about 60 %, so that it could feed ten",
        published: "60 %, 10 nodes",
        needs: &[],
        depends: "",
        verdict: Verdict::NotSimulated("the front-end's cost was derived from this very figure"),
        judge: nothing,
    },
];

fn nothing(_: &Figures) -> Finding {
    Finding { holds: false, measured: String::new() }
}

/// By cluster size: how much more than `base` (1 is a hundred per cent) `curve` delivers.
fn over(figure: &Figure, curve: &str, base: &str) -> Vec<(f64, f64)> {
    let pairs = figure.curve(curve, "throughput_rps").into_iter();
    let bases = figure.curve(base, "throughput_rps");
    pairs.zip(bases).map(|((nodes, up), (_, down))| (nodes, up / down - 1.0)).collect()
}

fn least(points: &[(f64, f64)]) -> (f64, f64) {
    points.iter().copied().fold((f64::NAN, f64::MAX), |a, b| if b.1 < a.1 { b } else { a })
}

fn most(points: &[(f64, f64)]) -> (f64, f64) {
    points.iter().copied().fold((f64::NAN, f64::MIN), |a, b| if b.1 > a.1 { b } else { a })
}

fn widest(points: &[(f64, f64)]) -> f64 {
    points.iter().fold(0.0, |widest, point| point.1.abs().max(widest))
}

/// The largest loss of simple LARD by HTTP/1.1 in per cent, and at how many nodes it is.
fn worst(figure: &Figure) -> (f64, f64) {
    let (nodes, gain) = least(&over(figure, SIMPLE_PHTTP.0, SIMPLE.0));
    (nodes, -gain * 100.0)
}

fn loss(figures: &Figures) -> Finding {
    let ((apache_at, apache), (flash_at, flash)) =
        (worst(&figures[APACHE]), worst(&figures[FLASH]));
    Finding {
        holds: (25.0..=50.0).contains(&apache)
            && (35.0..=65.0).contains(&flash)
            && apache_at <= 8.0
            && flash_at <= 8.0,
        measured: format!(
            "up to {apache:.0} % (Apache, {apache_at:.0} nodes), {flash:.0} % (Flash, \
             {flash_at:.0} nodes)"
        ),
    }
}

fn near_ideal(figures: &Figures) -> Finding {
    let [apache, flash] = [APACHE, FLASH].map(|id| {
        [MULTI, FORWARD.0].map(|curve| -least(&over(&figures[id], curve, IDEAL)).1 * 100.0)
    });
    Finding {
        holds: apache.iter().chain(&flash).all(|below| *below <= 8.0),
        measured: format!(
            "handing on at most {:.1} % (Apache), {:.1} % (Flash) below the ideal; forwarding \
             {:.1} %, {:.1} %",
            apache[0], flash[0], apache[1], flash[1]
        ),
    }
}

fn gain(figures: &Figures) -> Finding {
    let [apache, flash] = [APACHE, FLASH].map(|id| {
        let gain = |curve| most(&over(&figures[id], curve, SIMPLE.0)).1 * 100.0;
        f64::max(gain(MULTI), gain(FORWARD.0))
    });
    Finding {
        holds: (10.0..=30.0).contains(&apache),
        measured: format!("up to {apache:.0} % (Apache), {flash:.0} % (Flash)"),
    }
}

fn near_each_other(figures: &Figures) -> Finding {
    let apart = [APACHE, FLASH].map(|id| {
        let gaps = over(&figures[id], MULTI, FORWARD.0);
        let near = gaps.iter().filter(|gap| gap.1.abs() <= 0.06).count();
        (widest(&gaps) * 100.0, near, gaps.len())
    });
    let [(apache, near_apache, sizes), (flash, near_flash, _)] = apart;
    Finding {
        holds: apache <= 6.0 && flash <= 6.0,
        measured: format!(
            "at most {apache:.1} % apart (Apache), {flash:.1} % (Flash); within 6 % at \
             {near_apache} and {near_flash} of {sizes} sizes"
        ),
    }
}

fn catching_up(figures: &Figures) -> Finding {
    let [strays, shared] = [APACHE, SHARED].map(|id| {
        let gaps = over(&figures[id], SIMPLE_PHTTP.0, FORWARD.0);
        let last = gaps.last().map_or(f64::NAN, |point| 1.0 + point.1);
        ((1.0 + least(&gaps).1) * 100.0, last * 100.0, most(&gaps).1 * 100.0)
    });
    Finding {
        holds: shared.0 < 75.0 && shared.1 > 80.0 && strays.2.max(shared.2) < 2.0,
        measured: format!(
            "of extended LARD: {:.0} % at worst, {:.0} % in the largest cluster; with any that \
             stray {:.0} and {:.0} %; never more than {:+.1} %",
            shared.0,
            shared.1,
            strays.0,
            strays.1,
            strays.2.max(shared.2)
        ),
    }
}

fn rotation(figures: &Figures) -> Finding {
    let most = [APACHE, FLASH]
        .map(|id| widest(&over(&figures[id], "WRR-PHTTP", "WRR")) * 100.0)
        .into_iter()
        .fold(0.0, f64::max);
    let disk = |id: &str| {
        let points = figures[id].curve("WRR-PHTTP", "disk_share");
        points.iter().map(|point| point.1).fold(1.0, f64::min)
    };
    let busy = disk(APACHE).min(disk(FLASH)) * 100.0;
    Finding {
        holds: most < 3.0 && busy > 90.0,
        measured: format!("at most {most:.1} %; disks busy for at least {busy:.0} %"),
    }
}

fn margin(figures: &Figures) -> Finding {
    let points = over(&figures[APACHE], SIMPLE.0, "WRR");
    let factor = |at: Option<&(f64, f64)>| at.map_or(f64::NAN, |point| point.1 + 1.0);
    let (first, last) = (factor(points.first()), factor(points.last()));
    let absolute = |id: &str| {
        let gap = |curve: &str| figures[id].curve(curve, "throughput_rps");
        let pairs = gap(SIMPLE.0).into_iter().zip(gap("WRR"));
        pairs.map(|(simple, wrr)| simple.1 - wrr.1).collect::<Vec<_>>()
    };
    let grows = [APACHE, FLASH].map(absolute).iter().all(|gaps| gaps.is_sorted());
    Finding {
        holds: grows && last > 2.0,
        measured: format!(
            "{first:.1} times WRR on one node, {last:.1} times in the largest cluster"
        ),
    }
}

fn one_node(figures: &Figures) -> Finding {
    let apart = [APACHE, FLASH].map(|id| {
        let of = |curve: &str| figures[id].at(curve, 1.0, "throughput_rps");
        let all = CURVES.map(|curve| of(curve.0));
        let (low, high) =
            (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(0.0, f64::max));
        (high / low - 1.0) * 100.0
    });
    Finding {
        holds: apart.iter().all(|apart| *apart < 3.0),
        measured: format!("{:.1} % apart (Apache), {:.1} % (Flash)", apart[0], apart[1]),
    }
}

fn servers(figures: &Figures) -> Finding {
    let (apache, flash) = (worst(&figures[APACHE]).1, worst(&figures[FLASH]).1);
    Finding {
        holds: flash > apache + 5.0,
        measured: format!("loss of {apache:.0} % with Apache, {flash:.0} % with Flash"),
    }
}

/// A relay that costs nothing is the ideal mechanism: both only serve.
fn relay(figures: &Figures) -> Finding {
    let (nodes, gain) = most(&over(&figures[APACHE], IDEAL, FORWARD.0));
    Finding {
        holds: gain * 100.0 <= 8.0,
        measured: format!("at most {:.1} % above ({nodes:.0} nodes)", gain * 100.0),
    }
}
