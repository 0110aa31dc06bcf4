//! What the desk and a kernel that delivers one way say to each other.
//!
//! The kernel opens and closes connections by itself. It repeats answers that the policy has
//! promised to give again (see [`policy::Guard`]): these are its *memos*. For rotations it turns
//! *wheels* (see [`policy::Wheel`]). All else it puts to the desk by [`super::Ask::decide`]. There
//! is no second policy: without memo or wheel the kernel knows nobody to send a request to.

use crate::journal::Choice;
use policy::{Assignment, Class, Elsewhere, Guard, Load, ServerId, TargetId, Wheel};
use std::time::Duration;

/// The memory that the desk shares with a kernel, or with what stands for one in a test.
///
/// Everything here is called with the desk's lock held, so calls come one after the other, and each
/// must be as short as a few writes to memory. The kernel reads and counts at any time, without the
/// lock: what it does between two calls it has done before the second.
pub trait Kernel: Send + Sync {
    /// Adds to `into` what the kernel counts for each server, also for slots that are free now.
    /// Called before each decision.
    fn elsewhere(&self, into: &mut Vec<(ServerId, Elsewhere)>);

    /// Sets the part of a server's load that the kernel does not count. A memo's `load_max` is
    /// compared with this and the open connections of the kernel's own count, together.
    fn set_load(&self, server: ServerId, here: Load);

    /// From here on only memos of this epoch are good. No memo is of epoch 0, which is set while
    /// servers change. Epochs begin anew with the process: who takes over memory from another
    /// process clears its memos first.
    fn set_epoch(&self, epoch: u64);

    /// Keeps a memo: the target goes to `server` as long as `guard` holds. Takes the place of one
    /// kept before. It may be dropped at any time, for instance for lack of room.
    fn remember(&self, target: TargetId, server: ServerId, guard: &Guard);

    /// Drops the memos of these targets, where there are any.
    fn forget(&self, targets: &[TargetId]);

    /// Puts a wheel out, with its cursor at the beginning, and this class on it. No wheel of this
    /// number is out. Before [`Wheel::until`], requests of the class take its turns; later ones are
    /// put to the desk.
    fn set_wheel(&self, class: Class, wheel: &Wheel);

    /// Puts another class on the wheel of this number, which is out.
    fn join_wheel(&self, class: Class, number: u8);

    /// Takes the next turn of a wheel, as the kernel does: no turn is given twice. `None` if there
    /// is no such wheel.
    fn take_turn(&self, number: u8) -> Option<ServerId>;

    /// Turns that anybody took of a wheel since it was put out.
    fn turns(&self, number: u8) -> u64;

    /// Takes a wheel back and all classes off it. Returns the turns that anybody took; when it
    /// returns, nobody takes another one.
    fn revoke_wheel(&self, number: u8) -> u64;
}

/// An answer for a request that is delivered one way.
#[derive(Clone, Copy, Debug)]
pub struct Decided {
    /// Who serves, and why.
    pub assignment: Assignment,
    /// What the decision was between, for the log.
    pub choice: Choice,
    /// Version of the server table that the slot refers to.
    pub version: u64,
    /// What the kernel may do without asking from now on; it has been told already.
    pub repeat: Repeat,
}

/// What may be repeated of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The same for the same target, while this holds: a memo is kept.
    Target(Guard),
    /// The next turns for the same class: its wheel is out.
    Wheel,
    /// Nothing: the next request of this kind has to be asked for.
    Nothing,
}

/// How long a memo is good for at most.
///
/// The policy's table forgets the targets not asked for longest, and does not hear of those that
/// the kernel answers. Asked for once in this time, a target that is hot stays among the recent
/// ones: with the default table, as long as it is asked for fewer than 750,000 others meanwhile.
/// Shorter would only add questions; at one for each target in ten seconds they do not show.
pub const REPEAT_MAX: Duration = Duration::from_secs(10);
