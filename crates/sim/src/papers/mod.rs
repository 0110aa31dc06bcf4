//! One paper, one file: its figures as studies, its claims as rows.

mod cap;
mod clubweb;
mod lard;
mod phttp;
mod scalable;

use crate::{Claim, Study};

/// Every figure that can be made, paper by paper.
pub fn studies() -> impl Iterator<Item = &'static Study> {
    let papers = [lard::STUDIES, phttp::STUDIES, scalable::STUDIES, cap::STUDIES, clubweb::STUDIES];
    papers.into_iter().flatten()
}

/// Every claim, paper by paper.
pub fn claims() -> impl Iterator<Item = &'static Claim> {
    let papers = [lard::CLAIMS, phttp::CLAIMS, scalable::CLAIMS, cap::CLAIMS, clubweb::CLAIMS];
    papers.into_iter().flatten()
}
