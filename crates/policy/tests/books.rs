//! The books balance: whatever happens in whatever order, loads are what was begun and not ended.
//!
//! Method: random sequences of assignments, ends, joins, leaves and changes of state, for every row
//! of POLICIES, beside the simplest books there are: the list of open tickets.

mod setup;

use policy::{
    Charge, Class, Cluster, Desk, Held, Instant, Load, Outcome, POLICIES, Params, Policy, Request,
    ServerId, State, TargetId, Ticket,
};
use proptest::prelude::*;
use setup::{at, spec};

#[derive(Clone, Debug)]
enum Step {
    Assign { target: u64, avoid: Option<u16> },
    Part { target: u64, amount: u64 },
    Reweigh { which: usize, amount: u64 },
    Finish { which: usize, ok: bool },
    Join,
    Leave(u16),
    State(u16, State),
    Share(u16, u32, u16),
}

/// A share of a request: often nothing.
fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..Load::ONE.0]
}

fn step() -> impl Strategy<Value = Step> {
    let states = vec![State::Up, State::Down, State::Ejected, State::Draining, State::Left];
    prop_oneof![
        6 => (0u64..20, prop::option::of(0u16..8))
            .prop_map(|(target, avoid)| Step::Assign { target, avoid }),
        1 => (0u64..20, amount()).prop_map(|(target, amount)| Step::Part { target, amount }),
        1 => (any::<usize>(), amount()).prop_map(|(which, amount)| Step::Reweigh { which, amount }),
        6 => (any::<usize>(), any::<bool>()).prop_map(|(which, ok)| Step::Finish { which, ok }),
        1 => Just(Step::Join),
        1 => (0u16..8).prop_map(Step::Leave),
        1 => (0u16..8, prop::sample::select(states)).prop_map(|(id, state)| Step::State(id, state)),
        1 => (0u16..8, 1u32..9, 1u16..=256).prop_map(|(id, weight, warm)| {
            Step::Share(id, weight, warm)
        }),
    ]
}

fn request(target: u64, at: Instant) -> Request {
    Request { at, target: TargetId(target), class: Class((target % 5) as u8), holder: None }
}

fn apply(desk: &mut Desk, open: &mut Vec<Ticket>, step: &Step, now: Instant) {
    match *step {
        Step::Assign { target, avoid } => {
            let avoid: Vec<_> = avoid.map(ServerId).into_iter().collect();
            let usable = desk.cluster().usable().to_vec();
            match desk.assign(&request(target, now), &avoid) {
                Some((answer, ticket)) => {
                    assert!(usable.contains(&answer.server) && !avoid.contains(&answer.server));
                    assert_eq!(ticket.server, answer.server);
                    open.push(ticket);
                }
                None => assert!(usable.iter().all(|id| avoid.contains(id))),
            }
        }
        Step::Part { target, amount } => {
            let request = request(target, now);
            if let Some(answer) = desk.ask(&request, &[]) {
                open.push(desk.begin(answer.server, &request, Load(amount)));
            }
        }
        Step::Reweigh { which, amount } if !open.is_empty() => {
            let which = which % open.len();
            desk.reweigh(&mut open[which], Load(amount), now);
        }
        Step::Reweigh { .. } => {}
        Step::Finish { which, ok } if !open.is_empty() => {
            let ticket = open.swap_remove(which % open.len());
            desk.finish(ticket, Outcome { at: now, ok, first_byte: None });
        }
        Step::Finish { .. } => {}
        Step::Join => drop(desk.join(spec(desk.cluster().slot_count()), State::Up, now)),
        Step::Leave(id) => desk.leave(ServerId(id)),
        Step::State(id, state) => desk.set_state(ServerId(id), state),
        Step::Share(id, weight, warmth) => desk.set_share(ServerId(id), weight, warmth),
    }
}

/// What the cluster says against what the list of open tickets says.
fn check(cluster: &Cluster, open: &[Ticket]) {
    let begun = |id| open.iter().filter(move |ticket| ticket.server == id);
    for slot in 0..cluster.slot_count() {
        let id = ServerId(slot as u16);
        let load = begun(id).map(Ticket::amount).fold(Load::ZERO, Load::plus);
        assert_eq!(cluster.load(id), load);
        let Some(server) = cluster.server(id) else {
            assert_eq!(begun(id).count(), 0, "a slot is kept while it has work");
            continue;
        };
        assert!(server.state != State::Left || begun(id).count() > 0, "or else it is free");
        assert_eq!(cluster.is_usable(id), cluster.usable().contains(&id));
        assert_eq!(
            cluster.is_usable(id),
            server.state == State::Up || (cluster.panic() && server.state == State::Ejected)
        );
    }
    let total = open.iter().map(Ticket::amount).fold(Load::ZERO, Load::plus);
    assert_eq!(cluster.total(), total);
    let rank =
        |id: &ServerId| (cluster.pressure(*id), cluster.server(*id).map(|server| server.chosen));
    assert_eq!(cluster.least_loaded(), cluster.usable().iter().copied().min_by_key(rank));
    for id in cluster.usable() {
        for pressure in [Load::ZERO, Load::of(1), Load(12_345_678), Load::of(65)] {
            check_inverse(cluster, *id, pressure);
        }
    }
}

/// `load_at` gives the largest load whose pressure is not above.
fn check_inverse(cluster: &Cluster, id: ServerId, pressure: Load) {
    let most = cluster.load_at(id, pressure);
    let mut tried = cluster.clone();
    let now = tried.load(id);
    tried.begin(id, most, Instant::ZERO);
    tried.end(id, now, Instant::ZERO);
    assert!(tried.pressure(id) <= pressure);
    tried.begin(id, Load(1), Instant::ZERO);
    assert!(tried.pressure(id) > pressure);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_books_balance_after_any_sequence(
        panic_share in prop_oneof![Just(0.0), Just(0.5), Just(1.0)],
        steps in prop::collection::vec(step(), 0..150),
    ) {
        for entry in POLICIES {
            let policy = (entry.build)(&Params::new(entry.params));
            let mut desk = Desk::new(policy, Cluster::new(panic_share), 7);
            let mut open = Vec::new();
            for number in 0..4 {
                desk.join(spec(number), State::Up, Instant::ZERO);
            }
            for (second, step) in steps.iter().enumerate() {
                apply(&mut desk, &mut open, step, at(second as u64));
                check(desk.cluster(), &open);
            }
            for ticket in open.drain(..) {
                desk.finish(ticket, Outcome { at: at(1000), ok: true, first_byte: None });
            }
            check(desk.cluster(), &[]);
        }
    }
}

/// What a persistent connection does next.
#[derive(Clone, Copy, Debug)]
enum Next {
    Open,
    Batch(usize),
    Serve(usize, u16),
    Move(usize, u16),
    Close(usize),
}

fn next() -> impl Strategy<Value = Next> {
    prop_oneof![
        1 => Just(Next::Open),
        1 => any::<usize>().prop_map(Next::Batch),
        6 => (any::<usize>(), 0u16..4).prop_map(|(which, server)| Next::Serve(which, server)),
        1 => (any::<usize>(), 0u16..4).prop_map(|(which, server)| Next::Move(which, server)),
        1 => any::<usize>().prop_map(Next::Close),
    ]
}

/// The same connection in the plainest form: who has it, and who served what of the batch.
struct Plain {
    held: Held,
    batch: Vec<u16>,
}

impl Plain {
    /// Requests of the batch that others served, over N.
    fn charge(&self, charge: Charge) -> f64 {
        let mut others: Vec<_> =
            self.batch.iter().filter(|server| **server != self.held.holder().0).collect();
        if charge == Charge::PerServer {
            others.sort();
            others.dedup();
        }
        others.len() as f64 / self.batch.len().max(1) as f64
    }
}

fn advance(desk: &mut Desk, conns: &mut Vec<Plain>, charge: Charge, next: Next, now: Instant) {
    if let Next::Open = next {
        let (answer, unit) = desk.assign(&request(1, now), &[]).expect("all are up");
        conns.push(Plain { held: Held::open(unit, charge), batch: vec![answer.server.0] });
        return;
    }
    let (Next::Batch(which) | Next::Serve(which, _) | Next::Move(which, _) | Next::Close(which)) =
        next
    else {
        return;
    };
    if conns.is_empty() {
        return;
    }
    let which = which % conns.len();
    let plain = &mut conns[which];
    match next {
        Next::Open => {}
        Next::Batch(_) => {
            plain.held.batch_begin(desk, now);
            plain.batch.clear();
        }
        Next::Serve(_, server) => {
            plain.held.serve(desk, &request(2, now), ServerId(server));
            plain.batch.push(server);
        }
        Next::Move(_, server) => {
            let before = plain.held.holder().0;
            plain.held.move_to(desk, &request(2, now), ServerId(server));
            // What the holder served was its own and stays uncharged when the connection moves on.
            for served in plain.batch.iter_mut().filter(|served| **served == before) {
                *served = server;
            }
            plain.batch.push(server);
        }
        Next::Close(_) => {
            let outcome = Outcome { at: now, ok: true, first_byte: None };
            conns.swap_remove(which).held.close(desk, outcome);
        }
    }
}

proptest! {
    #[test]
    fn loads_sum_to_connections_and_shares_of_batches(
        per_server in any::<bool>(),
        steps in prop::collection::vec(next(), 0..120),
    ) {
        let charge = if per_server { Charge::PerServer } else { Charge::PerRequest };
        let policy: Box<dyn Policy> = setup::policy("lard-ext", &[]);
        let mut desk = Desk::new(policy, Cluster::new(0.0), 7);
        for number in 0..4 {
            desk.join(spec(number), State::Up, Instant::ZERO);
        }
        let mut conns = Vec::new();
        for (second, next) in steps.iter().enumerate() {
            advance(&mut desk, &mut conns, charge, *next, at(second as u64));
            let held = conns.iter().map(|plain: &Plain| plain.held.charged());
            prop_assert_eq!(desk.cluster().total(), held.fold(Load::ZERO, Load::plus));
            let plain: f64 = conns.iter().map(|plain| 1.0 + plain.charge(charge)).sum();
            let total = desk.cluster().total().as_f64();
            prop_assert!((total - plain).abs() < 1e-3, "{total} against {plain}");
        }
        for plain in conns {
            plain.held.close(&mut desk, Outcome { at: at(1000), ok: true, first_byte: None });
        }
        prop_assert_eq!(desk.cluster().total(), Load::ZERO);
    }
}
