//! Method: many numbers are drawn from every distribution, with a fixed seed; their mean is held
//! against `mean()`, and quantiles or variances against what tables and formulas give.

use policy::Dice;
use workload::draw::{
    Draw, Exponential, Hybrid, InverseGaussian, Lognormal, Pareto, Ranks, Weibull,
};

const DRAWS: usize = 200_000;

fn sorted(draw: Draw) -> Vec<f64> {
    let mut dice = Dice::new(7);
    let mut found: Vec<f64> = (0..DRAWS).map(|_| draw.sample(&mut dice)).collect();
    assert!(found.iter().all(|value| value.is_finite() && *value > 0.0), "{draw:?}");
    found.sort_by(f64::total_cmp);
    found
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64
}

fn close(found: f64, expected: f64, percent: f64) -> bool {
    (found - expected).abs() <= expected.abs() * percent / 100.0
}

const LOGNORMAL: Lognormal = Lognormal { mu: 7.63, sigma: 1.001, max: f64::INFINITY };

#[test]
fn what_is_drawn_has_the_mean_that_is_promised() {
    let infinity = f64::INFINITY;
    let body = Lognormal { max: 10_240.0, ..LOGNORMAL };
    let tail = Pareto { alpha: 1.0, min: 10_240.0, max: 1e6 };
    let cases = [
        // The means that the formulas of textbooks give, or their densities summed numerically.
        (Draw::Constant(3.0), 3.0),
        (Draw::Exponential(Exponential { mean: 2.5 }), 2.5),
        (Draw::Weibull(Weibull { scale: 7.64, shape: 1.705 }), 6.8154),
        (Draw::Pareto(Pareto { alpha: 2.5, min: 2.0, max: infinity }), 3.3333),
        (Draw::Pareto(Pareto { alpha: 1.33, min: 2.0, max: 150.0 }), 6.1412),
        (Draw::Pareto(tail), 47_399.0),
        (Draw::Lognormal(LOGNORMAL), 3_398.0),
        (Draw::Lognormal(body), 2_610.2),
        (Draw::InverseGaussian(InverseGaussian { mean: 3.86, shape: 9.46 }), 3.86),
        (Draw::Hybrid(Hybrid { body, tail, tail_share: 0.07 }), 5_745.5),
    ];
    for (draw, expected) in cases {
        let promised = draw.mean().expect("these are finite");
        let found = mean(&sorted(draw));
        assert!(close(found, promised, 2.0), "{draw:?}: drawn {found}, promised {promised}");
        assert!(close(promised, expected, 0.5), "{draw:?}: promised {promised}, not {expected}");
    }
}

#[test]
fn a_tail_without_an_end_has_no_mean() {
    let endless = Draw::Pareto(Pareto { alpha: 1.0, min: 1.0, max: f64::INFINITY });
    assert_eq!(endless.mean(), None);
    let tail = Pareto { alpha: 0.9, min: 1.0, max: f64::INFINITY };
    let hybrid = Hybrid { body: LOGNORMAL, tail, tail_share: 0.1 };
    assert_eq!(Draw::Hybrid(hybrid).mean(), None);
}

#[test]
fn variances_are_those_of_the_formulas() {
    let wald = sorted(Draw::InverseGaussian(InverseGaussian { mean: 3.86, shape: 9.46 }));
    assert!(close(variance(&wald), 3.86_f64.powi(3) / 9.46, 5.0), "{}", variance(&wald));
    let exponential = sorted(Draw::Exponential(Exponential { mean: 2.5 }));
    assert!(close(variance(&exponential), 6.25, 3.0));
    let logs: Vec<f64> = sorted(Draw::Lognormal(LOGNORMAL)).iter().map(|x| x.ln()).collect();
    assert!(close(mean(&logs), 7.63, 0.1) && close(variance(&logs), 1.001 * 1.001, 2.0));
}

#[test]
fn quantiles_are_those_of_the_distribution_functions() {
    let pareto = sorted(Draw::Pareto(Pareto { alpha: 1.4, min: 1.0, max: f64::INFINITY }));
    let weibull = sorted(Draw::Weibull(Weibull { scale: 7.64, shape: 1.705 }));
    let wald = sorted(Draw::InverseGaussian(InverseGaussian { mean: 1.0, shape: 1.0 }));
    for part in [0.1_f64, 0.5, 0.9, 0.99] {
        let at = (part * DRAWS as f64) as usize;
        let expected = (1.0 - part).powf(-1.0 / 1.4);
        assert!(close(pareto[at], expected, 3.0), "{part}: {} {expected}", pareto[at]);
        let expected = 7.64 * (-(1.0 - part).ln()).powf(1.0 / 1.705);
        assert!(close(weibull[at], expected, 3.0), "{part}: {} {expected}", weibull[at]);
    }
    // The median of the inverse Gaussian with mean and shape 1.
    assert!(close(wald[DRAWS / 2], 0.675_84, 1.5), "{}", wald[DRAWS / 2]);
}

#[test]
fn nothing_lies_outside_the_bounds_and_the_bound_is_reached_by_few() {
    let bounded = [
        (Draw::Pareto(Pareto { alpha: 1.0, min: 10.0, max: 100.0 }), 10.0, 100.0),
        (Draw::Lognormal(Lognormal { mu: 0.0, sigma: 2.0, max: 5.0 }), 0.0, 5.0),
    ];
    for (draw, min, max) in bounded {
        let found = sorted(draw);
        assert!(found[0] >= min && found[DRAWS - 1] <= max, "{draw:?}");
        assert!(found[DRAWS - 1] > 0.99 * max, "{draw:?}: it comes near");
        assert!(found.iter().filter(|value| **value == max).count() < 10, "{draw:?}: no heap");
    }
}

#[test]
fn whole_numbers_are_at_least_one() {
    let mut dice = Dice::new(1);
    assert_eq!(Draw::Constant(0.2).whole(&mut dice), 1);
    assert_eq!(Draw::Constant(2.6).whole(&mut dice), 3);
}

#[test]
fn ranks_come_as_often_as_they_weigh() {
    let weights = [5.0, 0.0, 3.0, 2.0];
    let ranks = Ranks::weighted(weights.into_iter());
    let mut dice = Dice::new(3);
    let mut found = [0_u32; 4];
    for _ in 0..DRAWS {
        found[ranks.sample(&mut dice) as usize] += 1;
    }
    assert_eq!(found[1], 0);
    for (found, weight) in found.into_iter().zip(weights) {
        assert!(close(f64::from(found), weight / 10.0 * DRAWS as f64, 2.0), "{weight}: {found}");
    }
    let zipf = Ranks::zipf(1000, 1.0);
    let first = (0..DRAWS).filter(|_| zipf.sample(&mut dice) == 0).count();
    // One over the thousandth harmonic number.
    assert!(close(first as f64 / DRAWS as f64, 1.0 / 7.485_47, 3.0), "{first}");
}
