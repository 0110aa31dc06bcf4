//! Distributions as a scenario writes them: `{ pareto = { alpha = 1.4, min = 1, max = 600 } }`.

use super::table::{Table, number};
use crate::config::{Entry, Raw, nearest, quoted};
use workload::draw::{Draw, Exponential, Hybrid, InverseGaussian, Lognormal, Pareto, Weibull};

/// The distributions by name, each with its keys: the only list.
const KINDS: [&str; 6] =
    ["exponential", "weibull", "pareto", "lognormal", "inverse-gaussian", "hybrid"];

const ABOVE_ZERO: (f64, f64) = (f64::MIN_POSITIVE, f64::INFINITY);
const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// What a mean that is infinite does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Endless {
    /// It is said: figures then depend on how long is drawn.
    Odd,
    /// It is refused: something would never end.
    Wrong,
}

/// Reads the distribution of a key, if it is there.
pub(super) fn read(table: &mut Table<'_>, key: &'static str, endless: Endless) -> Option<Draw> {
    let entry = table.take(key)?;
    let (place, draw) = (entry.place.clone(), draw(table, entry)?);
    if draw.mean().is_none_or(|mean| !mean.is_finite()) {
        let message = format!("the mean of {key} is infinite");
        let remedy = "give the tail an end: max = ...";
        match endless {
            Endless::Odd => {
                let message = format!("{message}, so every figure depends on how long is drawn");
                table.odd(place, message, remedy);
            }
            Endless::Wrong => {
                table.wrong(place, format!("{message}: a visit might never end"), remedy);
                return None;
            }
        }
    }
    Some(draw)
}

fn draw(table: &mut Table<'_>, entry: Entry) -> Option<Draw> {
    if let Some(value) = number(&entry.value) {
        if value.is_finite() && value >= 0.0 {
            return Some(Draw::Constant(value));
        }
        table.unfit(&entry, "a number that is not below 0, or a distribution");
        return None;
    }
    let one = match &entry.value {
        Raw::Table(entries) if entries.len() == 1 => entries[0].clone(),
        _ => {
            let wanted = "a number, or one distribution such as { exponential = { mean = 5 } }";
            table.unfit(&entry, wanted);
            return None;
        }
    };
    let Some(kind) = KINDS.iter().find(|kind| **kind == one.key) else {
        let remedy = match nearest(&one.key, &KINDS) {
            Some(near) => format!("did you mean {near:?}?"),
            None => format!("there are {}", quoted(&KINDS)),
        };
        table.wrong(one.key_place, format!("there is no distribution {:?}", one.key), remedy);
        return None;
    };
    let Raw::Table(entries) = one.value else {
        table.unfit(&one, "the distribution's parameters in braces");
        return None;
    };
    let name = format!("{kind} of {}", entry.key);
    let mut inner = table.inner(name, entry.place, entries);
    let draw = kind_of(kind, &mut inner);
    inner.finish();
    draw
}

fn kind_of(kind: &str, table: &mut Table<'_>) -> Option<Draw> {
    match kind {
        "exponential" => Some(Draw::Exponential(Exponential { mean: needed(table, "mean")? })),
        "weibull" => {
            let (scale, shape) = (needed(table, "scale"), needed(table, "shape"));
            Some(Draw::Weibull(Weibull { scale: scale?, shape: shape? }))
        }
        "pareto" => pareto(table).map(Draw::Pareto),
        "lognormal" => lognormal(table).map(Draw::Lognormal),
        "inverse-gaussian" => {
            let (mean, shape) = (needed(table, "mean"), needed(table, "shape"));
            Some(Draw::InverseGaussian(InverseGaussian { mean: mean?, shape: shape? }))
        }
        "hybrid" => hybrid(table),
        other => unreachable!("{other} is in the list of kinds and is not read"),
    }
}

fn hybrid(table: &mut Table<'_>) -> Option<Draw> {
    let mut body = table.table("body");
    let lognormal = lognormal(&mut body);
    body.finish();
    let mut tail = table.table("tail");
    let pareto = pareto(&mut tail);
    tail.finish();
    let share = table.needed("tail_share", (0.0, 1.0));
    Some(Draw::Hybrid(Hybrid { body: lognormal?, tail: pareto?, tail_share: share? }))
}

fn pareto(table: &mut Table<'_>) -> Option<Pareto> {
    let (alpha, min) = (needed(table, "alpha"), needed(table, "min"));
    let max = table.number("max", ABOVE_ZERO).unwrap_or(f64::INFINITY);
    let (alpha, min) = (alpha?, min?);
    if max <= min {
        let message = format!("{} ends at {max}, before it begins", table.name);
        table.wrong(table.place.clone(), message, format!("give it a max above {min}"));
        return None;
    }
    Some(Pareto { alpha, min, max })
}

fn lognormal(table: &mut Table<'_>) -> Option<Lognormal> {
    let mu = table.needed("mu", ANY);
    let (sigma, max) = (needed(table, "sigma"), table.number("max", ABOVE_ZERO));
    let (mu, sigma, max) = (mu?, sigma?, max.unwrap_or(f64::INFINITY));
    let median = mu.exp();
    if max < median {
        let message = format!("{} ends at {max}, below its median of {median:.1}", table.name);
        let remedy = "give it a larger max: what lies above is drawn again";
        table.wrong(table.place.clone(), message, remedy);
        return None;
    }
    Some(Lognormal { mu, sigma, max })
}

/// A parameter above 0 that must be there.
fn needed(table: &mut Table<'_>, key: &'static str) -> Option<f64> {
    table.needed(key, (f64::MIN_POSITIVE, f64::MAX))
}

/// Writes a distribution as [`read`] reads it.
pub(super) fn text(draw: &Draw) -> String {
    match draw {
        Draw::Constant(value) => value.to_string(),
        Draw::Exponential(Exponential { mean }) => {
            format!("{{ exponential = {{ mean = {mean} }} }}")
        }
        Draw::Weibull(Weibull { scale, shape }) => {
            format!("{{ weibull = {{ scale = {scale}, shape = {shape} }} }}")
        }
        Draw::Pareto(kind) => format!("{{ pareto = {} }}", pareto_text(kind)),
        Draw::Lognormal(kind) => format!("{{ lognormal = {} }}", lognormal_text(kind)),
        Draw::InverseGaussian(InverseGaussian { mean, shape }) => {
            format!("{{ inverse-gaussian = {{ mean = {mean}, shape = {shape} }} }}")
        }
        Draw::Hybrid(Hybrid { body, tail, tail_share }) => format!(
            "{{ hybrid = {{ tail_share = {tail_share}, body = {}, tail = {} }} }}",
            lognormal_text(body),
            pareto_text(tail)
        ),
    }
}

fn pareto_text(Pareto { alpha, min, max }: &Pareto) -> String {
    format!("{{ alpha = {alpha}, min = {min}{} }}", end(*max))
}

fn lognormal_text(Lognormal { mu, sigma, max }: &Lognormal) -> String {
    format!("{{ mu = {mu}, sigma = {sigma}{} }}", end(*max))
}

fn end(max: f64) -> String {
    if max.is_finite() { format!(", max = {max}") } else { String::new() }
}
