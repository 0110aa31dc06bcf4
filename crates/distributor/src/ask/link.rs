//! The desk's end of the link to a kernel: keeps the books up to date with what the kernel counted,
//! and the kernel's memos and wheels with what the policy promised. See [`super::kernel`].

use super::kernel::{Kernel, REPEAT_MAX, Repeat};
use policy::{
    Assignment, Class, Desk, Elsewhere, Expect, Guard, Instant, Request, ServerId, TargetId,
};
use std::sync::Arc;

/// A kernel, and what it was told.
pub(super) struct Link {
    kernel: Arc<dyn Kernel>,
    /// Of the last look; its memory is used again.
    counted: Vec<(ServerId, Elsewhere)>,
    forgotten: Vec<TargetId>,
    /// The wheels that are out.
    out: Vec<Out>,
    /// By class, [`Class::COUNT_MAX`] of them.
    seats: Vec<Seat>,
    /// The epoch that the kernel's memos are of, and whether it was given any.
    epoch: u64,
    remembers: bool,
    /// The latest time that anybody mentioned.
    at: Instant,
}

/// A wheel that is out.
struct Out {
    number: u8,
    /// One of the classes on it.
    class: Class,
    until: Instant,
    /// Turns of it that the policy has been told of.
    told: u64,
}

/// What is known of a class.
#[derive(Clone, Copy, Default)]
struct Seat {
    /// The wheel it is on.
    number: Option<u8>,
    /// Requests to go until the policy is asked for a wheel again.
    wait: u32,
    /// Requests between two such questions. They double each time, for seeing that weights have no
    /// short cycle takes some microseconds.
    patience: u32,
}

/// Requests after which a policy without a wheel for a class is asked for one again, at most.
const PATIENCE_MAX: u32 = 4096;

/// No guard is of this epoch: a cluster that has a server has changed.
const EPOCH_NONE: u64 = 0;

impl Link {
    /// Connects a desk to a kernel.
    pub(super) fn new(kernel: Arc<dyn Kernel>, desk: &mut Desk) -> Self {
        let mut link = Self {
            kernel,
            counted: Vec::new(),
            forgotten: Vec::new(),
            out: Vec::new(),
            seats: vec![Seat::default(); Class::COUNT_MAX],
            epoch: EPOCH_NONE,
            remembers: false,
            at: Instant::ZERO,
        };
        desk.keep_forgotten(true);
        link.look(desk, Instant::ZERO);
        link.changed(desk);
        link
    }

    /// Leaves the kernel to itself: it has nothing to repeat, and what it counts counts no more.
    pub(super) fn cut(mut self, desk: &mut Desk) {
        self.changing(desk);
        for (_, count) in &mut self.counted {
            count.open = 0;
        }
        desk.elsewhere_all(&self.counted, self.at);
        desk.keep_forgotten(false);
    }

    /// Brings the books up to date.
    #[inline]
    pub(super) fn look(&mut self, desk: &mut Desk, at: Instant) {
        self.at = self.at.max(at);
        self.counted.clear();
        self.kernel.elsewhere(&mut self.counted);
        desk.elsewhere_all(&self.counted, self.at);
    }

    /// Brings books and policy up to date, for somebody who reads them.
    pub(super) fn look_at_all(&mut self, desk: &mut Desk) {
        self.look(desk, self.at);
        for out in &mut self.out {
            let turns = self.kernel.turns(out.number);
            desk.turned(out.class, turns.saturating_sub(out.told));
            out.told = out.told.max(turns);
        }
    }

    /// The policy's answer: from its wheel, if one is out for the class.
    pub(super) fn ask(
        &mut self,
        desk: &mut Desk,
        request: &Request,
        avoid: &[ServerId],
    ) -> Option<Assignment> {
        match self.turn(desk, request) {
            Some(server) => desk.turn(server, avoid),
            None => desk.ask(request, avoid),
        }
    }

    /// Sees to it that the kernel goes on repeating only what the policy would say after an answer
    /// to a request that is relayed.
    pub(super) fn relayed(&mut self, desk: &mut Desk, request: &Request, answer: &Assignment) {
        let same = answer.guard.is_some() && answer.expect != Expect::Miss;
        if self.remembers && !same {
            self.kernel.forget(&[request.target]);
        }
        self.forget(desk);
    }

    /// Tells the kernel what it may repeat of an answer.
    pub(super) fn delivered(
        &mut self,
        desk: &mut Desk,
        request: &Request,
        answer: &Assignment,
    ) -> Repeat {
        let repeat = if self.seat(request.class).number.is_some() {
            Repeat::Wheel
        } else {
            repeat(answer, request.at)
        };
        match &repeat {
            Repeat::Target(guard) => {
                self.kernel.remember(request.target, answer.server, guard);
                self.remembers = true;
            }
            _ if self.remembers => self.kernel.forget(&[request.target]),
            _ => {}
        }
        // Last: the table may even have forgotten this very target.
        self.forget(desk);
        repeat
    }

    /// Tells the kernel of a server's load.
    #[inline]
    pub(super) fn count(&self, desk: &Desk, server: ServerId) {
        self.kernel.set_load(server, desk.cluster().load_here(server));
    }

    /// Before a change of the cluster or the policy: takes everything back, and tells the policy of
    /// all turns that were taken.
    pub(super) fn changing(&mut self, desk: &mut Desk) {
        self.kernel.set_epoch(EPOCH_NONE);
        self.retire(desk, Instant::NEVER);
        self.look(desk, self.at);
    }

    /// After it. Wheels are put out again when they are asked for.
    pub(super) fn changed(&mut self, desk: &Desk) {
        self.seats.fill(Seat::default());
        for server in desk.cluster().servers() {
            self.count(desk, server.id);
        }
        let epoch = desk.cluster().epoch();
        self.remembers &= epoch == self.epoch;
        self.epoch = epoch;
        self.kernel.set_epoch(epoch);
    }

    /// The next turn for a request, if its class is, or can be put, on a wheel.
    fn turn(&mut self, desk: &mut Desk, request: &Request) -> Option<ServerId> {
        if self.out.iter().any(|out| out.until <= request.at) {
            self.retire(desk, request.at);
        }
        if self.seat(request.class).number.is_none() {
            self.offer(desk, request);
        }
        let number = self.seat(request.class).number?;
        let turn = self.kernel.take_turn(number).filter(|id| desk.cluster().is_usable(*id));
        if turn.is_none() {
            // Only if the memory we share was spoilt. The policy goes on by itself.
            self.retire(desk, Instant::NEVER);
        }
        turn
    }

    /// Puts a class on its wheel, and the wheel out if it is not.
    fn offer(&mut self, desk: &Desk, request: &Request) {
        let class = request.class;
        let seat = self.seat(class);
        if seat.wait > 0 {
            seat.wait -= 1;
            return;
        }
        let Some(wheel) = desk.wheel(class).filter(|wheel| request.at < wheel.until) else {
            seat.patience = (2 * seat.patience + 1).min(PATIENCE_MAX);
            seat.wait = seat.patience;
            return;
        };
        seat.number = Some(wheel.number);
        if self.out.iter().any(|out| out.number == wheel.number) {
            return self.kernel.join_wheel(class, wheel.number);
        }
        self.kernel.set_wheel(class, &wheel);
        self.out.push(Out { number: wheel.number, class, until: wheel.until, told: 0 });
        // Others may be of this rotation too, and must not go on waiting: the policy does not know
        // of the turns that are taken from now on.
        self.seats.iter_mut().for_each(|seat| seat.wait = 0);
    }

    /// Takes back the wheels that are over at `at`, and tells the policy of their turns.
    fn retire(&mut self, desk: &mut Desk, at: Instant) {
        for out in self.out.extract_if(.., |out| out.until <= at) {
            let turns = self.kernel.revoke_wheel(out.number);
            desk.turned(out.class, turns.saturating_sub(out.told));
            let on_it = self.seats.iter_mut().filter(|seat| seat.number == Some(out.number));
            on_it.for_each(|seat| *seat = Seat::default());
        }
    }

    /// Passes on what the policy's table has forgotten: at most one target for each answer.
    fn forget(&mut self, desk: &mut Desk) {
        desk.forgotten(&mut self.forgotten);
        if !self.forgotten.is_empty() {
            if self.remembers {
                self.kernel.forget(&self.forgotten);
            }
            self.forgotten.clear();
        }
    }

    fn seat(&mut self, class: Class) -> &mut Seat {
        // No configuration can name more.
        &mut self.seats[class.index().min(Class::COUNT_MAX - 1)]
    }
}

/// What may be repeated of an answer that came from no wheel.
pub(super) fn repeat(answer: &Assignment, at: Instant) -> Repeat {
    answer.guard.map_or(Repeat::Nothing, |guard| {
        let until = guard.until.min(at.plus(REPEAT_MAX));
        Repeat::Target(Guard { until, ..guard })
    })
}
