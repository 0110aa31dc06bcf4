//! What may befall frames, and the line they pass: no clock and no socket, so it can be tested.
//!
//! The words are those of netem (Hemminger, *Network Emulation with NetEm*, linux.conf.au 2005),
//! which not every kernel has. Unlike it, each frame's fate depends on the seed and on how many
//! frames went before it in this direction, and on nothing else.

use crate::Error;
use policy::Dice;
use std::collections::VecDeque;
use std::time::Duration;

/// Most later frames that overtake one.
const OVERTAKERS_MAX: usize = 3;

/// A frame that is to be overtaken waits at most so long for others to do so.
const OVERTAKEN_WITHIN: Duration = Duration::from_millis(3);

/// Frames that one direction holds back at most; what comes on top is lost and counted. It is
/// 100 Mbit/s for a second, in full frames.
pub(super) const HELD_MAX: usize = 8192;

/// What befalls the frames of one direction of a link. Shares are of 1; the default is a good link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Adversity {
    /// Share of frames that are lost.
    pub loss: f64,
    /// Share of frames that come twice.
    pub duplicate: f64,
    /// Share of frames that one to three later ones overtake.
    pub reorder: f64,
    /// How much later each frame comes.
    pub delay: Duration,
    /// The same seed decides alike on the same sequence of frames.
    pub seed: u64,
}

impl Adversity {
    /// Looks whether shares are shares.
    pub(super) fn check(&self) -> Result<(), Error> {
        let shares = [self.loss, self.duplicate, self.reorder];
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        let why = || Error::Plan("loss, duplication and reordering are shares: 0 to 1".to_owned());
        shares.iter().all(is_share).then_some(()).ok_or_else(why)
    }
}

/// What has befallen the frames of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames that came to the link.
    pub frames: u64,
    /// Of these, lost as wanted.
    pub lost: u64,
    /// Of these, sent twice as wanted.
    pub duplicated: u64,
    /// Of these or their copies, held back until others had overtaken them.
    pub overtaken: u64,
    /// Lost because more were held than the link can hold, or because the kernel did not take them:
    /// a measurement with such losses has another loss than was asked for.
    pub refused: u64,
}

/// A frame that others are to overtake.
struct Late {
    frame: Box<[u8]>,
    /// After how many frames of the line it may go.
    after: u64,
    /// When it goes in any case, since the line began.
    until: Duration,
}

/// One direction of a link.
pub(super) struct Line {
    adversity: Adversity,
    dice: Dice,
    /// Frames and copies that got past the dice.
    past: u64,
    late: VecDeque<Late>,
    /// What is under way, in order, with the time since the line began when it arrives.
    delayed: VecDeque<(Duration, Box<[u8]>)>,
    pub counts: Counts,
}

impl Line {
    pub fn new() -> Self {
        Self {
            adversity: Adversity::default(),
            dice: Dice::new(0),
            past: 0,
            late: VecDeque::new(),
            delayed: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// From now on this befalls frames; those under way arrive as they would have.
    pub fn set(&mut self, adversity: Adversity) {
        self.dice = Dice::new(adversity.seed);
        self.adversity = adversity;
    }

    /// Takes a frame, and gives `out` what leaves the line now.
    pub fn take(&mut self, now: Duration, frame: &[u8], out: &mut impl FnMut(&[u8])) {
        self.counts.frames += 1;
        // All dice are thrown for every frame, so that one share does not change another's luck.
        let [loss, duplicate, reorder] = std::array::from_fn(|_| self.dice.unit());
        let overtakers = 1 + self.dice.below(OVERTAKERS_MAX) as u64;
        if loss < self.adversity.loss {
            self.counts.lost += 1;
            return;
        }
        let twice = duplicate < self.adversity.duplicate;
        self.counts.duplicated += u64::from(twice);
        if reorder < self.adversity.reorder && self.has_room() {
            self.counts.overtaken += 1;
            let (after, until) = (self.past + overtakers, now + OVERTAKEN_WITHIN);
            self.late.push_back(Late { frame: frame.into(), after, until });
        } else {
            self.pass(now, frame, out);
        }
        if twice {
            self.pass(now, frame, out);
        }
        self.release(now, out);
    }

    /// Gives `out` what has waited long enough.
    pub fn release(&mut self, now: Duration, out: &mut impl FnMut(&[u8])) {
        let past = self.past;
        while let Some(at) = self.late.iter().position(|l| l.after <= past || l.until <= now) {
            let late = self.late.remove(at).expect("it was found there");
            self.send(now, &late.frame, out);
        }
        while self.delayed.front().is_some_and(|(due, _)| *due <= now) {
            let (_, frame) = self.delayed.pop_front().expect("there is a first");
            out(&frame);
        }
    }

    /// When [`Line::release`] has something to do, if nothing comes before.
    pub fn next(&self) -> Option<Duration> {
        let late = self.late.iter().map(|late| late.until).min();
        let due = self.delayed.front().map(|(due, _)| *due);
        late.into_iter().chain(due).min()
    }

    fn pass(&mut self, now: Duration, frame: &[u8], out: &mut impl FnMut(&[u8])) {
        self.past += 1;
        self.send(now, frame, out);
    }

    fn send(&mut self, now: Duration, frame: &[u8], out: &mut impl FnMut(&[u8])) {
        if self.adversity.delay.is_zero() && self.delayed.is_empty() {
            return out(frame);
        }
        if !self.has_room() {
            self.counts.refused += 1;
            return;
        }
        self.delayed.push_back((now + self.adversity.delay, frame.into()));
    }

    fn has_room(&self) -> bool {
        self.late.len() + self.delayed.len() < HELD_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    /// Numbers in the order in which a line gives them back: one sent each microsecond.
    fn passed(adversity: Adversity, frames: u32) -> (Vec<u32>, Counts) {
        let (mut line, mut out) = (Line::new(), Vec::new());
        let mut note = |frame: &[u8]| out.push(u32::from_le_bytes(frame.try_into().unwrap()));
        line.set(adversity);
        for number in 0..frames {
            line.take(MICROSECOND * number, &number.to_le_bytes(), &mut note);
        }
        while let Some(due) = line.next() {
            line.release(due, &mut note);
        }
        (out, line.counts)
    }

    #[test]
    fn a_good_line_gives_everything_once_and_in_order() {
        let (out, counts) = passed(Adversity::default(), 1000);
        assert_eq!(out, (0..1000).collect::<Vec<_>>());
        assert_eq!(counts, Counts { frames: 1000, ..Counts::default() });
    }

    #[test]
    fn shares_are_kept_and_counted() {
        let adversity =
            Adversity { loss: 0.05, duplicate: 0.2, reorder: 0.1, seed: 7, ..Default::default() };
        let (mut out, counts) = passed(adversity, 100_000);
        // Five standard deviations of a binomial draw: 350, 620 (of 95,000), 470.
        assert!(counts.lost.abs_diff(5_000) < 350, "{counts:?}");
        assert!(counts.duplicated.abs_diff(19_000) < 620, "{counts:?}");
        assert!(counts.overtaken.abs_diff(9_500) < 470, "{counts:?}");
        let inversions = out.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!(inversions > 8_000, "{inversions}");
        assert_eq!(out.len() as u64, counts.frames - counts.lost + counts.duplicated);
        out.sort_unstable();
        out.dedup();
        assert_eq!(out.len() as u64, counts.frames - counts.lost);
    }

    #[test]
    fn a_frame_is_overtaken_by_few() {
        let (out, _) = passed(Adversity { reorder: 0.1, ..Default::default() }, 10_000);
        for (place, number) in out.iter().enumerate() {
            let behind = out[place..].iter().filter(|other| *other < number).count();
            assert!(behind <= 2 * OVERTAKERS_MAX, "{number} before {behind} earlier ones");
        }
    }

    #[test]
    fn the_seed_decides_and_nothing_else() {
        let with = |seed| Adversity { loss: 0.5, seed, ..Default::default() };
        assert_eq!(passed(with(1), 500), passed(with(1), 500));
        assert_ne!(passed(with(1), 500).0, passed(with(2), 500).0);
    }

    #[test]
    fn a_delayed_frame_comes_when_it_is_due_and_not_before() {
        let (mut line, mut out) = (Line::new(), Vec::new());
        line.set(Adversity { delay: MICROSECOND * 10, ..Default::default() });
        line.take(MICROSECOND, b"frame", &mut |frame| out.push(frame.to_vec()));
        line.release(MICROSECOND * 10, &mut |frame| out.push(frame.to_vec()));
        assert!(out.is_empty());
        assert_eq!(line.next(), Some(MICROSECOND * 11));
        line.release(MICROSECOND * 11, &mut |frame| out.push(frame.to_vec()));
        assert_eq!(out, [b"frame"]);
    }

    #[test]
    fn a_line_holds_no_more_than_it_may() {
        let delay = Duration::from_secs(3600);
        let (out, counts) = passed(Adversity { delay, ..Default::default() }, 10_000);
        assert_eq!(out.len(), HELD_MAX);
        assert_eq!(counts.refused, 10_000 - HELD_MAX as u64);
    }
}
