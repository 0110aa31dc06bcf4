//! A MODEL CLUSTER: the switch's own policies on servers on paper, in virtual time.
//!
//! Nothing here decides who serves: every driver asks a [`policy::Desk`], as the switch does, so a
//! policy cannot behave differently in a simulation. Time, chance and workload are arguments; the
//! same seed gives the same rows on every machine. Threads belong to the caller: a [`Study`] hands
//! out independent [`Run`]s.
//!
//! Three drivers, because the papers model clusters at three levels of detail; all of them ask and
//! tell their desk through one [`Clerk`], whom a tape of a live switch holds to account ([`tape`]):
//!
//! - [`cluster`]: connections that enter as others leave, over nodes with a CPU and a disk (LARD,
//!   P-HTTP, the distributed front-end);
//! - [`site`]: users who come, fetch pages and think, over servers with CPU, memory, disk and
//!   network (CAP, ClubWeb);
//! - [`replay`]: a log of the user's own, streamed, over the same nodes ("what if").
//!
//! [`papers`] has one file for each paper: its figures as studies, its claims as rows.

pub mod claim;
mod clerk;
pub mod cluster;
mod histogram;
pub mod papers;
pub mod replay;
pub mod site;
pub mod stats;
pub mod study;
pub mod tape;

pub use claim::{Claim, Finding, Verdict};
pub use clerk::Clerk;
pub use study::{Axis, Figure, Figures, Row, Run, Scale, Study, Traces};
