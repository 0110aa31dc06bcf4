//! Whoever enters leaves once, and the books are empty then: whatever the cluster, the policy, the
//! mechanism, the workload and the faults. Method: random setups, audited now and then and at the
//! end.

use core::time::Duration;
use policy::{Admission, AdmissionForm, Charge, Instant, Load};
use proptest::prelude::*;
use sim::cluster::cost::FrontCost;
use sim::cluster::{
    Arrivals, Chooser, Engine, Fault, FaultKind, Limit, Loss, Mechanism, Reports, Script, Setup,
};

const MECHANISMS: [Mechanism; 6] = [
    Mechanism::SingleHandoff,
    Mechanism::MultipleHandoff,
    Mechanism::Forwarding,
    Mechanism::Relaying,
    Mechanism::Splicing,
    Mechanism::Ideal,
];
const FRONTS: [FrontCost; 3] = [FrontCost::FREE, FrontCost::HANDOFF, FrontCost::RELAYING];
const REPORTS: [Reports; 3] = [Reports::None, Reports::Exact, Reports::PiggyBacked];

/// Connections of batches of targets, of 40.
type Asked = Vec<Vec<Vec<u32>>>;

fn asked() -> impl Strategy<Value = Asked> {
    let batch = prop::collection::vec(0_u32..40, 1..5);
    let connection = prop::collection::vec(batch, 1..4);
    prop::collection::vec(connection, 0..80)
}

fn script(asked: &Asked) -> Script {
    let mut script = Script::new((0..40).map(|number| number * number * 97));
    for connection in asked {
        for batch in connection {
            script.batch(batch.iter().copied());
        }
        script.close();
    }
    script
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    let admission = Admission::new(Some(2), Some(5), AdmissionForm::PlusOne);
    prop_oneof![
        (1_u32..20).prop_map(|count| Arrivals::Closed(Limit::PerNode(count))),
        Just(Arrivals::Closed(Limit::Admission(admission))),
        (20.0..2_000.0).prop_map(Arrivals::Poisson),
        (0_u64..50).prop_map(|ms| Arrivals::Every(Duration::from_millis(ms))),
    ]
}

fn faults() -> impl Strategy<Value = Vec<Fault>> {
    let fault = (0_u64..2_000, 0_u16..6, any::<bool>()).prop_map(|(ms, node, down)| Fault {
        at: Instant(ms * 1_000_000),
        node,
        kind: if down { FaultKind::Down } else { FaultKind::Up },
    });
    prop::collection::vec(fault, 0..6)
}

prop_compose! {
    fn setup()(
        nodes in 1_u16..6,
        policy in prop::sample::select(vec!["lb-gc"].into_iter()
            .chain(policy::POLICIES.iter().map(|entry| entry.name)).collect::<Vec<_>>()),
        mechanism in prop::sample::select(&MECHANISMS[..]),
        front in prop::sample::select(&FRONTS[..]),
        reports in prop::sample::select(&REPORTS[..]),
        arrivals in arrivals(),
        faults in faults(),
        per_server in any::<bool>(),
        fail in any::<bool>(),
        (cache_kb, disks, warm_up, tail) in (0_u64..400, 1_usize..3, 0.0..1.0, any::<bool>()),
        global_memory in prop::bool::weighted(0.2),
        seed in any::<u64>(),
    ) -> Setup {
        let chooser = Chooser::named(policy).expect("it is listed");
        let mut setup = Setup::phttp(nodes, model::CpuCost::FLASH, chooser);
        setup.node.cache_bytes = cache_kb << 10;
        setup.node.disks = disks;
        let faults = faults.into_iter().filter(|fault| fault.node < nodes).collect();
        let charge = if per_server { Charge::PerServer } else { Charge::PerRequest };
        let loss = if fail { Loss::Fail } else { Loss::Retry };
        setup = Setup { mechanism, front, reports, arrivals, global_memory, ..setup };
        Setup { faults, charge, loss, warm_up, tail, seed, ..setup }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn who_enters_leaves_once_and_the_books_are_empty(setup in setup(), asked in asked()) {
        let script = script(&asked);
        let mut engine = Engine::new(&setup, &script);
        let mut steps = 0_u64;
        while engine.step() {
            steps += 1;
            if steps.is_multiple_of(16) {
                engine.audit();
            }
            prop_assert!(steps < 200_000, "a cluster without new work comes to rest");
        }
        engine.audit();
        let (report, cluster) = (engine.report(), engine.desk().cluster());
        let totals = report.totals;
        prop_assert_eq!(totals.entered, script.connections() as u64);
        prop_assert_eq!(totals.left, totals.entered);
        prop_assert_eq!(totals.answered + totals.failed, script.requests() as u64);
        prop_assert_eq!(cluster.total(), Load::ZERO);
        let idle = cluster.servers().all(|server| server.load == Load::ZERO);
        prop_assert!(idle, "every load has ended");
        if setup.faults.is_empty() {
            prop_assert_eq!((totals.failed, totals.retried), (0, 0));
        }
        let shares = [report.miss_ratio, report.idle, report.front];
        prop_assert!(shares.iter().all(|share| (0.0..=1.0 + 1e-9).contains(share)), "{shares:?}");
    }
}
