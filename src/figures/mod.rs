//! The papers' figures, made again: runs on all cores, pictures, numbers, and the claims beside
//! what was published.

mod plot;
mod pool;
mod results;
mod store;

pub use plot::draw;
pub(crate) use plot::{Area, Painted, colour, wrapped};
pub use pool::make;
pub use results::{Verdicts, render, table};
pub use store::{load, save};

use sim::{Study, papers};

/// The studies with these names; all of them for none.
///
/// # Errors
/// The first name that is no study's.
pub fn choose(names: &[String]) -> Result<Vec<&'static Study>, &str> {
    if names.is_empty() {
        return Ok(papers::studies().collect());
    }
    let named = |name: &String| papers::studies().find(|study| study.id == name);
    names.iter().map(|name| named(name).ok_or(name.as_str())).collect()
}
