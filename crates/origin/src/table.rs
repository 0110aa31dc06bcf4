//! Connections by number. A number that was freed is used again under another generation, so that
//! an event or an answer meant for an earlier connection does not reach a later one.

use crate::conn::Conn;

/// A connection's name: its place in the table and how often that was used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(pub(crate) u64);

impl Tag {
    fn new(place: u32, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | u64::from(place))
    }

    fn place(self) -> usize {
        self.0 as u32 as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

#[derive(Debug, Default)]
struct Place {
    generation: u32,
    conn: Option<Box<Conn>>,
}

/// The connections of an origin.
#[derive(Debug, Default)]
pub(crate) struct Table {
    places: Vec<Place>,
    free: Vec<u32>,
}

impl Table {
    /// Reserves a name; a connection is put there by [`Table::put`].
    pub(crate) fn reserve(&mut self) -> Tag {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            (self.places.len() - 1) as u32
        });
        Tag::new(place, self.places[place as usize].generation)
    }

    /// Takes a connection out to work on it.
    pub(crate) fn take(&mut self, tag: Tag) -> Option<Box<Conn>> {
        let place = self.places.get_mut(tag.place())?;
        if place.generation == tag.generation() { place.conn.take() } else { None }
    }

    /// Puts it back.
    pub(crate) fn put(&mut self, tag: Tag, conn: Box<Conn>) {
        self.places[tag.place()].conn = Some(conn);
    }

    /// Gives a name back: its connection is gone.
    pub(crate) fn release(&mut self, tag: Tag) {
        let place = &mut self.places[tag.place()];
        // Below the names that the listener and the timer go by.
        place.generation = (place.generation + 1) & (u32::MAX >> 1);
        self.free.push(tag.place() as u32);
    }

    /// The connection of that name.
    pub(crate) fn get_mut(&mut self, tag: Tag) -> Option<&mut Conn> {
        let place = self.places.get_mut(tag.place())?;
        if place.generation == tag.generation() { place.conn.as_deref_mut() } else { None }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// The names of those that fit.
    pub(crate) fn find(&self, fits: impl Fn(&Conn) -> bool) -> Vec<Tag> {
        let tags = self.places.iter().enumerate().filter_map(|(at, place)| {
            let conn = place.conn.as_deref()?;
            fits(conn).then(|| Tag::new(at as u32, place.generation))
        });
        tags.collect()
    }
}
