//! Queueing theory as the judge: a station fed with random arrivals must wait as long as the
//! formulas for M/D/1 and M/M/1 say, and obey Little's law. Seeds are fixed.

use core::time::Duration;
use model::Station;
use policy::{Dice, Instant};

const SERVICE_US: f64 = 1_000.0;
const CUSTOMERS: u64 = 400_000;

fn exponential(dice: &mut Dice, mean_us: f64) -> Duration {
    Duration::from_nanos((-(1.0 - dice.unit()).ln() * mean_us * 1e3) as u64)
}

/// Mean wait in units of the service time, at `rho`, with random or constant service.
fn wait(rho: f64, random: bool, seed: u64) -> f64 {
    let (mut dice, mut station, mut now) = (Dice::new(seed), Station::default(), Instant::ZERO);
    for _ in 0..CUSTOMERS {
        now = now.plus(exponential(&mut dice, SERVICE_US / rho));
        let constant = Duration::from_nanos((SERVICE_US * 1e3) as u64);
        let demand = if random { exponential(&mut dice, SERVICE_US) } else { constant };
        station.enter(now, demand);
    }
    assert!((station.utilisation(now) - rho).abs() < 0.01, "{}", station.utilisation(now));
    station.wait_mean().as_secs_f64() * 1e6 / SERVICE_US
}

#[test]
fn constant_service_waits_as_m_d_1_and_random_service_as_m_m_1() {
    for rho in [0.3, 0.5, 0.8] {
        for seed in 1..=3 {
            let (m_d_1, m_m_1) = (rho / (2.0 * (1.0 - rho)), rho / (1.0 - rho));
            let (constant, random) = (wait(rho, false, seed), wait(rho, true, seed));
            assert!((constant / m_d_1 - 1.0).abs() < 0.05, "{rho}: {constant} against {m_d_1}");
            assert!((random / m_m_1 - 1.0).abs() < 0.05, "{rho}: {random} against {m_m_1}");
        }
    }
}

#[test]
fn the_queue_seen_over_time_is_arrival_rate_times_time_inside() {
    let (mut dice, mut station, mut now) = (Dice::new(9), Station::default(), Instant::ZERO);
    let (mut inside_ns, mut queue_ns) = (0.0, 0.0);
    for _ in 0..50_000 {
        let gap = exponential(&mut dice, SERVICE_US / 0.7);
        // Sample the queue on a fine grid of the gap: the area under its curve.
        for step in 0..20 {
            let at = now.plus(gap * step / 20);
            queue_ns += station.queue(at) as f64 * gap.as_nanos() as f64 / 20.0;
        }
        now = now.plus(gap);
        let done = station.enter(now, exponential(&mut dice, SERVICE_US));
        inside_ns += done.since(now).as_nanos() as f64;
    }
    assert!((queue_ns / inside_ns - 1.0).abs() < 0.03, "{}", queue_ns / inside_ns);
}

#[test]
fn busy_time_is_what_was_served_not_what_was_promised() {
    let (mut station, ms) = (Station::default(), Duration::from_millis);
    let at = |time_ms| Instant::ZERO.plus(ms(time_ms));
    assert_eq!(station.enter(at(10), ms(5)), at(15));
    assert_eq!(station.enter(at(11), ms(5)), at(20));
    assert_eq!(station.busy(at(12)), ms(2));
    assert_eq!(station.queue(at(14)), 2);
    assert_eq!(station.queue(at(15)), 1);
    assert_eq!(station.busy(at(40)), ms(10));
    assert_eq!(station.utilisation(at(40)), 0.25);
    assert_eq!(station.enter(at(40), ms(1)), at(41), "an idle station starts at once");
}

#[test]
fn the_time_inside_is_the_area_under_the_queue_at_every_moment() {
    let (mut station, ms) = (Station::default(), Duration::from_millis);
    let at = |now_ms| Instant::ZERO.plus(ms(now_ms));
    station.enter(at(0), ms(10));
    station.enter(at(0), ms(10));
    assert_eq!(station.inside(at(4)), ms(8));
    station.enter(at(15), ms(10));
    // Two until 10, one until 15, two until 20, one until 30.
    for (now, area) in [(15, 25), (18, 31), (20, 35), (30, 45), (99, 45)] {
        assert_eq!(station.inside(at(now)), ms(area), "at {now} ms");
    }
}
