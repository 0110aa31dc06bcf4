//! The same seed gives the same run, to the last digit, on every machine. Method: two runs side by
//! side, and a fingerprint of everything that was measured that was written down once.

mod asked;

use policy::TargetId;
use sim::cluster::{Arrivals, Chooser, Mechanism, Report, Setup, run};

fn report(seed: u64) -> Report {
    let script = asked::script(&asked::sizes(3_000, 500, 30_000), 1.0, 20_000, 3);
    let mut setup =
        Setup::phttp(5, model::CpuCost::FLASH, Chooser::named("lard-ext").expect("it is listed"));
    setup.mechanism = Mechanism::Forwarding;
    setup.node.cache_bytes = 10 << 20;
    setup.arrivals = Arrivals::Poisson(60.0);
    setup.seed = seed;
    run(&setup, &script)
}

/// A hash of everything in a report, digit by digit.
fn fingerprint(report: &Report) -> u64 {
    let text = format!("{report:?}");
    text.bytes().fold(0, |hash, byte| TargetId(hash ^ u64::from(byte)).mixed(1))
}

/// Changes when the model or a policy changes what it does: then write the new one down.
const FINGERPRINT: u64 = 7_682_783_818_022_730_426;

#[test]
fn the_same_seed_gives_the_same_run() {
    let (one, other) = (report(7), report(7));
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
    assert_ne!(one.span, report(8).span, "another seed is another run");
}

#[test]
fn a_run_gives_what_it_gave_when_it_was_written_down() {
    assert_eq!(fingerprint(&report(7)), FINGERPRINT, "{:#?}", report(7));
}
