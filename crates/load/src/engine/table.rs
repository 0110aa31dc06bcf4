//! Things by number. A number that was freed is used again under another generation, so that an
//! event meant for something earlier does not reach something later.

/// The name of something in a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(pub(crate) u64);

impl Key {
    /// The name of nothing.
    pub(crate) const NONE: Self = Self(u64::MAX);

    fn place(self) -> usize {
        self.0 as u32 as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

#[derive(Debug)]
pub(crate) struct Table<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Table<T> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, thing: T) -> Key {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            (self.places.len() - 1) as u32
        });
        let (generation, slot) = &mut self.places[place as usize];
        *slot = Some(thing);
        Key(u64::from(*generation) << 32 | u64::from(place))
    }

    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let (generation, slot) = self.places.get(key.place())?;
        slot.as_ref().filter(|_| *generation == key.generation())
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let (generation, slot) = self.places.get_mut(key.place())?;
        slot.as_mut().filter(|_| *generation == key.generation())
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let (generation, slot) = self.places.get_mut(key.place())?;
        if *generation != key.generation() {
            return None;
        }
        let thing = slot.take()?;
        // Stays below the timer's name and that of nothing.
        *generation = (*generation + 1) & (u32::MAX >> 1);
        self.free.push(key.place() as u32);
        Some(thing)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// All of them, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.places.iter().enumerate().filter_map(|(place, (generation, slot))| {
            let key = Key(u64::from(*generation) << 32 | place as u64);
            slot.as_ref().map(|thing| (key, thing))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_name_does_not_reach_its_successor() {
        let mut table = Table::new();
        let first = table.insert('a');
        assert_eq!(table.remove(first), Some('a'));
        let second = table.insert('b');
        assert_eq!(table.get(first), None);
        assert_eq!(table.remove(first), None);
        assert_eq!((table.get(second), table.len()), (Some(&'b'), 1));
        assert_eq!(table.iter().collect::<Vec<_>>(), [(second, &'b')]);
    }
}
