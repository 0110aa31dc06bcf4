//! The Web cluster of CAP. Method: sites so small that theory says what they must give (sums of
//! service times, the laws of queues, the width of a wire), and conservation under every policy
//! while servers fail. That every book is empty at the end, the run itself asserts.

use model::CpuCost;
use policy::{Class, Value};
use sim::site::scenario::{
    self, CAP, LARD_CONNECTIONS, RANDOM, ROUND_ROBIN, cap_audience, cap_setup,
};
use sim::site::{Audience, Contender, Delivery, Demand, Fault, Layer, Outcome, Setup, cost, run};
use std::time::Duration;
use workload::draw::{Draw, Exponential};
use workload::visits::{self, Answer, Mix, Service, Site};

const US: fn(u64) -> Duration = Duration::from_micros;
const NO_CPU: CpuCost = CpuCost {
    connect: Duration::ZERO,
    close: Duration::ZERO,
    request: Duration::ZERO,
    send_512: Duration::ZERO,
};

/// Pages of one object answered by programs of the class, or files where it is static.
const fn one_class(class: Class) -> Mix<'static> {
    const fn service(html: Answer) -> [Service<'static>; 1] {
        [Service { share: 1.0, html, secure: false, embedded: NONE }]
    }
    const NONE: &[(f64, Answer)] = &[(1.0, Answer { class: Class::STATIC, program: false })];
    const FILES: &[Service] = &service(Answer { class: Class::STATIC, program: false });
    const CPU: &[Service] = &service(Answer { class: Class::CPU, program: true });
    const DISK: &[Service] = &service(Answer { class: Class::DISK, program: true });
    let services = match class {
        Class::CPU => CPU,
        Class::DISK => DISK,
        _ => FILES,
    };
    Mix {
        pages: Draw::Constant(1.0),
        objects: Draw::Constant(1.0),
        html_bytes: Draw::Constant(1000.0),
        services,
        site: Site { documents: 1, objects: 1, programs: 1, exponent: 0.0 },
        ..visits::PUBLISHING_STATIC
    }
}

/// Pages of one object come by chance, so many a second.
fn audience(class: Class, pages_s: f64) -> Audience {
    let gap = Draw::Exponential(Exponential { mean: 1.0 / pages_s });
    Audience { mix: one_class(class), gap }
}

fn setup(servers: usize, span_s: u64) -> Setup {
    let setup = cap_setup(Duration::from_secs(20), Duration::from_secs(span_s));
    Setup { servers, cache_share: 1.0, ..setup }
}

/// Every way in which the papers ran a policy, and the rest of POLICIES by page.
fn everybody() -> Vec<Contender> {
    let mut all = scenario::contenders();
    all.extend([RANDOM, ROUND_ROBIN, scenario::wrr_time(scenario::GATHER)]);
    let is_new = |entry: &&policy::Entry| all.iter().all(|known| known.policy != entry.name);
    let rest: Vec<_> = policy::POLICIES.iter().filter(is_new).collect();
    all.extend(rest.iter().map(|entry| Contender::new(entry.name, entry.name, Layer::Seven)));
    all
}

#[test]
fn a_page_alone_takes_the_sum_of_its_parts() {
    let machine = cost::SERVER;
    let wire = |bytes: u64| cost::at_rate(bytes * 8, cost::ETHERNET_BITS_S);
    let body = 1000 + cost::HEAD_BYTES;
    let way = cost::LAN_DELAY * 5; // Handshake and request, to the server, and the reply back.
    let cpu = machine.connect + machine.request + machine.send(body);
    let network = wire(body + cost::SEGMENT_EXTRA_BYTES + cost::CONNECTION_EXTRA_BYTES);
    let memory = cost::at_rate(1000, cost::MEMORY_BYTES_S);
    let disk = cost::DISK_ACCESS + cost::at_rate(1000, cost::DISK_BYTES_S);
    let hit = way + cost::SwitchCost::PENTIUM_II.handoff + cpu + network + memory;

    let alone = Audience { gap: Draw::Constant(5.0), ..audience(Class::STATIC, 1.0) };
    let setup = Setup { warm_up: Duration::ZERO, ..setup(1, 60) };
    let outcome = run(&setup, &alone, &CAP, 1);
    assert_eq!(outcome.measured(), 12);
    assert_eq!((outcome.lookups, outcome.hits), (12, 11), "the first one is read");
    assert!((outcome.shortest() - hit.as_secs_f64()).abs() < 1e-9);
    assert!((outcome.percentile(1.0) - (hit + disk).as_secs_f64()).abs() < 1e-9);
}

/// What no page can do without: its way through the network, the switch and an idle CPU.
fn shortest_possible() -> Duration {
    let switch = cost::SwitchCost::PENTIUM_II.packet;
    cost::LAN_DELAY * 5 + switch + cost::SERVER.connect + cost::SERVER.request
}

#[test]
fn no_page_is_faster_than_its_round_trips_and_every_one_takes_a_time() {
    let outcome = run(
        &cap_setup(Duration::from_secs(20), Duration::from_secs(20)),
        &cap_audience(&visits::COMMERCE_C, 100.0),
        &LARD_CONNECTIONS,
        1,
    );
    let least = shortest_possible();
    assert!(outcome.shortest() > least.as_secs_f64(), "{}", outcome.shortest());
    assert!(outcome.percentile(0.5) < outcome.percentile(0.9));
}

/// Pollaczek and Khinchin: at a load of r and a service time of s one waits r s / 2 (1 - r). To be
/// sent, an answer needs the CPU once more, if only for a moment, and waits for all that it left
/// behind when it was worked out: r + r^2 / 2 (1 - r) requests.
fn wait_s_of(class: Class, load: f64, service_s: f64) -> f64 {
    let wait_s = load * service_s / (2.0 * (1.0 - load));
    let left = load + load * load / (2.0 * (1.0 - load));
    if class == Class::CPU { wait_s + left * service_s } else { wait_s }
}

#[test]
fn waiting_at_a_component_is_that_of_poisson_arrivals_at_a_constant_service() {
    let query = cost::DISK_ACCESS + cost::at_rate(cost::DATABASE_PAGE_BYTES, cost::DISK_BYTES_S);
    let mut setup = Setup { machine: NO_CPU, ..setup(1, 2000) };
    setup.demands[Class::CPU.index()] = Demand::program(US(10_000), 0);
    setup.demands[Class::DISK.index()] = Demand::program(Duration::ZERO, 1);
    for (class, service_s) in [(Class::CPU, 0.01), (Class::DISK, query.as_secs_f64())] {
        for load in [0.3, 0.7] {
            let audience = audience(class, load / service_s);
            let outcome = run(&setup, &audience, &RANDOM, 1);
            // The shortest page waited for nobody.
            let measured_s = outcome.latency_mean_s() - outcome.shortest();
            let expected_s = wait_s_of(class, load, service_s);
            let off = measured_s / expected_s - 1.0;
            assert!(off.abs() < 0.06, "{class:?} at {load}: {measured_s}, {expected_s}");
            let busiest = outcome.mean(|server| server.busiest());
            assert!((busiest - load).abs() < 0.02, "utilisation is rate times demand: {busiest}");
        }
    }
}

#[test]
fn random_choice_splits_poisson_arrivals_and_taking_turns_beats_it() {
    let mut setup = Setup { machine: NO_CPU, ..setup(4, 500) };
    setup.demands[Class::CPU.index()] = Demand::program(US(10_000), 0);
    let wait_s = |contender: &Contender| {
        let outcome = run(&setup, &audience(Class::CPU, 280.0), contender, 1);
        outcome.latency_mean_s() - outcome.shortest()
    };
    let random_s = wait_s(&RANDOM);
    assert!((random_s / wait_s_of(Class::CPU, 0.7, 0.01) - 1.0).abs() < 0.06, "{random_s}");
    let turns_s = wait_s(&ROUND_ROBIN);
    assert!(turns_s < 0.7 * random_s, "turns make arrivals regular: {turns_s}");
}

#[test]
fn connections_are_rate_times_the_time_that_each_takes() {
    // Little's law, between the desk's books and the latencies that users saw. Before a connection
    // is in the books there is its call and the switch's work on it, which nobody waits for here.
    let mut setup = Setup { warm_up: Duration::ZERO, ..setup(3, 300) };
    setup.demands[Class::CPU.index()] = Demand::program(US(10_000), 0);
    setup.switch.handoff = Duration::ZERO;
    let outcome = run(&setup, &audience(Class::CPU, 200.0), &CAP, 1);
    let pages = outcome.measured() as f64;
    assert!(pages > 50_000.0);
    let before = cost::LAN_DELAY * 3;
    let spent_s = pages * (outcome.latency_mean_s() - before.as_secs_f64());
    let booked_s = outcome.load * outcome.drained.as_secs_f64();
    assert!((booked_s / spent_s - 1.0).abs() < 1e-3, "{booked_s} against {spent_s}");
}

#[test]
fn a_wire_carries_a_hundred_megabits_and_no_more() {
    let mut many = audience(Class::STATIC, 30.0);
    many.mix.html_bytes = Draw::Constant(1e6);
    let megabits_s = |outcome: &Outcome| outcome.wire_bytes as f64 * 8.0 / 1e6 / 20.0;
    let one = run(&setup(1, 20), &many, &ROUND_ROBIN, 1);
    let own = megabits_s(&one);
    assert!((99.0..100.5).contains(&own), "a server's card: {own}");
    assert!(one.mean(|server| server.nic) > 0.999);

    let three = megabits_s(&run(&setup(3, 20), &many, &ROUND_ROBIN, 1));
    assert!(three > 2.0 * own, "with three cards: {three}");
    let shared = Setup { delivery: Delivery::OneWayShared, ..setup(3, 20) };
    let lan = megabits_s(&run(&shared, &many, &ROUND_ROBIN, 1));
    assert!((99.0..100.5).contains(&lan), "three servers on one LAN: {lan}");
}

#[test]
fn a_gateway_is_as_fast_as_its_cpu() {
    let setup = Setup { delivery: Delivery::Gateway, ..setup(4, 10) };
    let outcome = run(&setup, &audience(Class::STATIC, 900.0), &ROUND_ROBIN, 1);
    let most = 1.0 / cost::GATEWAY.as_secs_f64();
    assert!((outcome.pages_s() / most - 1.0).abs() < 0.01, "{}", outcome.pages_s());
    assert!(outcome.switch > 0.999);
}

#[test]
fn keys_are_exchanged_once_a_session_and_bytes_are_enciphered_every_time() {
    let mut mix = one_class(Class::STATIC);
    mix.pages = Draw::Constant(4.0);
    mix.services = &[Service {
        share: 1.0,
        html: Answer { class: Class::STATIC, program: false },
        secure: true,
        embedded: &[(1.0, Answer { class: Class::STATIC, program: false })],
    }];
    let sessions = Audience { mix, gap: Draw::Constant(0.5) };
    let cpu_s = |key_exchange| {
        let outcome = run(&Setup { key_exchange, ..setup(1, 400) }, &sessions, &CAP, 1);
        outcome.servers[0].cpu * 400.0
    };
    let (without, with) = (cpu_s(Duration::ZERO), cpu_s(US(10_000)));
    assert!((with - without - 8.0).abs() < 0.1, "800 sessions of 10 ms: {}", with - without);

    let plain = run(
        &setup(1, 400),
        &Audience { mix: Mix { pages: mix.pages, ..one_class(Class::STATIC) }, ..sessions },
        &CAP,
        1,
    );
    let ciphering = without - plain.servers[0].cpu * 400.0;
    let page = cost::cipher(1000 + cost::HEAD_BYTES + cost::RECORD_HEAD_BYTES);
    let expected = 3200.0 * page.as_secs_f64();
    assert!((ciphering / expected - 1.0).abs() < 0.05, "{ciphering} against {expected}");
}

#[test]
fn every_page_ends_once_and_all_policies_are_offered_the_same() {
    let small = Setup { servers: 8, ..cap_setup(Duration::from_secs(10), Duration::from_secs(15)) };
    let mut begun = None;
    for contender in everybody() {
        let outcome = run(&small, &cap_audience(&visits::COMMERCE_C, 40.0), &contender, 7);
        let pages = outcome.pages;
        let name = contender.curve;
        assert_eq!(pages.begun, pages.complete, "{name}: nobody failed");
        assert_eq!((pages.broken, pages.refused), (0, 0), "{name}");
        assert_eq!(*begun.get_or_insert(pages.begun), pages.begun, "{name}");
        let given: u64 = outcome.given.iter().flatten().sum();
        assert_eq!(given, pages.begun, "{name}: each page was given to one server first");
        assert!(outcome.hits <= outcome.lookups, "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_outcome_and_another_one_another() {
    let small = Setup { servers: 4, ..cap_setup(Duration::from_secs(5), Duration::from_secs(10)) };
    let site = cap_audience(&visits::COMMERCE_B, 20.0);
    for contender in [scenario::lard(), RANDOM] {
        let told = |seed| format!("{:?}", run(&small, &site, &contender, seed));
        assert!(told(1) == told(1));
        assert!(told(1) != told(2));
    }
}

#[test]
fn cap_gives_every_server_its_share_of_each_class() {
    let small = Setup { servers: 7, ..cap_setup(Duration::from_secs(5), Duration::from_secs(10)) };
    let outcome = run(&small, &cap_audience(&visits::COMMERCE_C, 30.0), &CAP, 3);
    for class in 0..Class::NAMES.len() {
        let counts: Vec<_> = outcome.given.iter().map(|counts| counts[class]).collect();
        let (least, most) = (counts.iter().min(), counts.iter().max());
        assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{counts:?}");
    }
    assert!(outcome.given[0].iter().all(|count| *count > 0), "every class was seen");
}

#[test]
fn with_one_class_cap_is_round_robin() {
    let small = Setup { servers: 5, ..cap_setup(Duration::from_secs(5), Duration::from_secs(10)) };
    let site = cap_audience(&visits::PUBLISHING_STATIC, 30.0);
    let turns = Contender { layer: Layer::Seven, ..ROUND_ROBIN };
    let [cap, turns] = [CAP, turns].map(|contender| run(&small, &site, &contender, 1));
    assert_eq!(format!("{cap:?}"), format!("{turns:?}"));
}

#[test]
fn lard_on_utilisation_moves_a_program_when_its_server_reports_that_it_is_busy() {
    let mut setup = setup(4, 60);
    setup.demands[Class::CPU.index()] = Demand::program(US(10_000), 0);
    let servers_used = |pages_s: f64| {
        let outcome = run(&setup, &audience(Class::CPU, pages_s), &scenario::lard(), 1);
        outcome.given.iter().filter(|counts| counts.iter().sum::<u64>() > 0).count()
    };
    assert_eq!(servers_used(20.0), 1, "a fifth busy: one program, one server");
    assert!(servers_used(80.0) > 1, "nine tenths busy, and others below 0.3");
    // A threshold that no report reaches: it stays, whatever happens.
    let never = scenario::lard().with("u_high", Value::Real(1.0));
    let outcome = run(&setup, &audience(Class::CPU, 80.0), &never, 1);
    assert_eq!(outcome.handed_on, 0);
    assert_eq!(outcome.given.iter().filter(|counts| counts[2] > 0).count(), 1);
}

#[test]
fn a_server_that_fails_loses_its_pages_and_nobody_elses() {
    let faults = vec![
        Fault { server: 1, at: Duration::from_secs(12), lasts: Duration::from_secs(6) },
        Fault { server: 2, at: Duration::from_secs(14), lasts: Duration::from_secs(2) },
    ];
    let times = cap_setup(Duration::from_secs(10), Duration::from_secs(20));
    let small = Setup { servers: 4, faults, ..times };
    let site = cap_audience(&visits::COMMERCE_C, 15.0);
    for contender in everybody() {
        let outcome = run(&small, &site, &contender, 5);
        let pages = outcome.pages;
        let name = contender.curve;
        assert_eq!(pages.begun, pages.complete + pages.broken + pages.refused, "{name}");
        assert!(pages.broken > 0, "{name}: they were working");
        assert_eq!(pages.refused, 0, "{name}: others were up");
        assert!(pages.broken < pages.begun / 10, "{name}: {pages:?}");
    }
}

#[test]
fn whatever_fails_and_whoever_decides_every_page_ends_once() {
    let sites = [visits::TRANSACTION, visits::COMMERCE_C, visits::PUBLISHING_LIGHT];
    let all = everybody();
    for seed in 0..64_u64 {
        let mut dice = policy::Dice::new(seed);
        let fault = |dice: &mut policy::Dice| Fault {
            server: dice.below(3) as u16,
            at: Duration::from_millis(dice.below(6000) as u64),
            lasts: Duration::from_millis(1 + dice.below(3000) as u64),
        };
        let mut faults: Vec<_> = (0..dice.below(4)).map(|_| fault(&mut dice)).collect();
        // A server fails once only: while it is down it cannot.
        faults.sort_by_key(|fault| fault.server);
        faults.dedup_by_key(|fault| fault.server);
        let times = cap_setup(Duration::from_secs(2), Duration::from_secs(3));
        let setup = Setup { servers: 3, faults, ..times };
        let contender = &all[dice.below(all.len())];
        let site = cap_audience(&sites[dice.below(sites.len())], 10.0);
        let pages = run(&setup, &site, contender, seed).pages;
        let ended = pages.complete + pages.broken + pages.refused;
        assert!(pages.begun > 0 && pages.begun == ended, "seed {seed}: {pages:?}");
    }
}

#[test]
fn a_user_whose_page_broke_thinks_before_asking_for_the_next() {
    let mut mix = one_class(Class::CPU);
    (mix.pages, mix.think_s) = (Draw::Constant(2.0), Draw::Constant(10.0));
    let alone = Audience { mix, gap: Draw::Constant(1000.0) };
    let fault = Fault { server: 0, at: Duration::from_secs(1), lasts: Duration::from_secs(1) };
    let mut setup = Setup { warm_up: Duration::ZERO, faults: vec![fault], ..setup(1, 5) };
    setup.demands[Class::CPU.index()] = Demand::program(Duration::from_secs(3), 0);
    let outcome = run(&setup, &alone, &CAP, 1);
    assert_eq!((outcome.pages.broken, outcome.pages.complete), (1, 1));
    // The page began at 0 and broke after 1 s; 10 s of thinking, 3 s for the second.
    assert_eq!(outcome.drained.as_secs(), 14, "a step of the broken connection is not its own");
}

#[test]
fn a_server_that_is_back_works_again_and_without_servers_pages_are_refused() {
    let dead = |lasts| Fault { server: 0, at: Duration::from_secs(5), lasts };
    let alone = |lasts| Setup { faults: vec![dead(lasts)], ..setup(1, 20) };
    let pages = |setup: &Setup| run(setup, &audience(Class::STATIC, 50.0), &CAP, 1).pages;
    let short = pages(&alone(Duration::from_secs(10)));
    // Five seconds of 25 a second, in the first half of the warm-up, and five of 50.
    assert!((320..430).contains(&short.refused), "for ten seconds: {short:?}");
    assert!(short.complete > 700, "before and after: {short:?}");
    let long = pages(&alone(Duration::from_secs(3600)));
    assert!(long.complete < 300, "before: {long:?}");
}
