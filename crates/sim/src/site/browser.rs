//! A user of the live set-up: asks for a page, then over several connections for what is in it,
//! and thinks.

use super::world::World;
use policy::Instant;
use workload::visits::{Object, Visit};

/// A user with a browser.
#[derive(Debug)]
pub(super) struct Browser {
    visit: Visit,
    /// Which of its pages is being fetched, or comes next.
    page: usize,
    /// The object of it that is asked for next.
    next: usize,
    /// Those that were not answered yet.
    left: usize,
    /// When the page was due.
    began: Instant,
}

/// What a browser does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Asks for so many objects more, at once.
    Ask(usize),
    /// Wants the next page, then.
    Think(Instant),
    /// Leaves.
    Leave,
}

impl Browser {
    /// The user with this number.
    pub fn new(number: u64, world: &World) -> Self {
        let mut visit = Visit::default();
        world.visits.visit(number, &mut visit);
        Self { visit, page: 0, next: 0, left: 0, began: Instant::ZERO }
    }

    /// The page is due.
    pub fn call(&mut self, now: Instant, world: &mut World) -> Turn {
        self.began = now;
        (self.next, self.left) = (0, self.objects().len());
        world.outcome.pages.begun += 1;
        Turn::Ask(1)
    }

    /// The next object to be asked for.
    pub fn take(&mut self) -> Option<Object> {
        let object = self.objects().get(self.next).copied();
        self.next += usize::from(object.is_some());
        object
    }

    /// A reply has come. The first one names all others; each later one makes a connection free.
    pub fn answered(&mut self, now: Instant, connections: usize, world: &mut World) -> Turn {
        self.left -= 1;
        let objects = self.objects().len();
        if self.left + 1 == objects && self.left > 0 {
            return Turn::Ask(connections.max(1));
        }
        if self.left > 0 {
            return Turn::Ask(1);
        }
        world.outcome.pages.complete += 1;
        if world.is_measured(now) {
            world.outcome.completed += 1;
            world.outcome.note(now.since(self.began));
        }
        self.page += 1;
        match self.visit.page(self.page) {
            Some(page) => Turn::Think(now.plus(page.think)),
            None => Turn::Leave,
        }
    }

    fn objects(&self) -> &[Object] {
        self.visit.page(self.page).map_or(&[], |page| page.objects)
    }
}
