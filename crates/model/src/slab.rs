//! Values in numbered places: a freed place is used again, the last freed first.

/// Values in numbered places.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Puts a value in and returns its place.
    pub fn insert(&mut self, value: T) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            u32::try_from(self.places.len() - 1).expect("fewer than 2^32 values fit in memory")
        });
        self.places[place as usize] = Some(value);
        place
    }

    /// Takes the value out of a place.
    pub fn remove(&mut self, place: u32) -> Option<T> {
        let value = self.places.get_mut(place as usize)?.take();
        if value.is_some() {
            self.free.push(place);
        }
        value
    }

    /// The value in a place.
    pub fn get(&self, place: u32) -> Option<&T> {
        self.places.get(place as usize)?.as_ref()
    }

    /// The value in a place, to be changed.
    pub fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The places in use, in order.
    pub fn places(&self) -> impl Iterator<Item = u32> + '_ {
        self.places.iter().zip(0..).filter(|(value, _)| value.is_some()).map(|(_, place)| place)
    }
}
