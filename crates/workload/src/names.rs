//! Numbers for names, by first appearance: millions of URLs, each kept once.
//!
//! Texts lie end to end in blocks of 1 MiB, a row of 16 bytes says where, and a hash table of
//! 4-byte numbers finds them by xxh3 under a fixed seed. So a name costs its bytes and about 30
//! more, and nothing depends on the order of a table.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of a block of texts; the longest text is shorter.
const BLOCK_BYTES: usize = 1 << 20;

/// Any number: hashes must be the same in every run.
const SEED: u64 = 0x6261_746f_6e21;

/// Numbers for texts.
#[derive(Debug, Default)]
pub struct Names {
    blocks: Vec<Vec<u8>>,
    rows: Vec<Row>,
    table: HashTable<u32>,
}

/// Where a text lies.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// The upper half of its hash, from which the table grows without reading texts.
    hash: u32,
    block: u32,
    start: u32,
    length: u32,
}

impl Names {
    /// How many there are; numbers are below.
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The text of a number that was given out.
    pub fn text(&self, number: u32) -> &[u8] {
        self.at(self.rows[number as usize])
    }

    /// The number of a text, if it has one.
    pub fn find(&self, text: &[u8]) -> Option<u32> {
        self.find_hashed(text, spread(text))
    }

    /// The number of a text, a new one if need be. `None` when all 2^32 - 1 are given out, or the
    /// text is longer than 1 MiB.
    pub fn number(&mut self, text: &[u8]) -> Option<u32> {
        let hash = spread(text);
        if let Some(number) = self.find_hashed(text, hash) {
            return Some(number);
        }
        let number = u32::try_from(self.rows.len()).ok().filter(|&number| number < u32::MAX)?;
        let row = self.store(text, hash)?;
        self.rows.push(row);
        let rows = &self.rows;
        self.table.insert_unique(wide(hash), number, |&other| wide(rows[other as usize].hash));
        Some(number)
    }

    fn find_hashed(&self, text: &[u8], hash: u32) -> Option<u32> {
        let same = |&number: &u32| {
            let row = self.rows[number as usize];
            row.hash == hash && self.at(row) == text
        };
        self.table.find(wide(hash), same).copied()
    }

    fn store(&mut self, text: &[u8], hash: u32) -> Option<Row> {
        let length = u32::try_from(text.len()).ok()?;
        if text.len() > BLOCK_BYTES {
            return None;
        }
        let fits = |block: &Vec<u8>| block.len() + text.len() <= BLOCK_BYTES;
        if !self.blocks.last().is_some_and(fits) {
            // The first block grows; a table of few names should be small.
            let capacity = if self.blocks.is_empty() { text.len() } else { BLOCK_BYTES };
            self.blocks.push(Vec::with_capacity(capacity));
        }
        let block = u32::try_from(self.blocks.len() - 1).ok()?;
        let last = self.blocks.last_mut().expect("one was pushed if there was none");
        let start = u32::try_from(last.len()).ok()?;
        last.extend_from_slice(text);
        Some(Row { hash, block, start, length })
    }

    fn at(&self, row: Row) -> &[u8] {
        let start = row.start as usize;
        &self.blocks[row.block as usize][start..start + row.length as usize]
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        self.blocks.iter().map(Vec::capacity).sum::<usize>()
            + self.rows.capacity() * size_of::<Row>()
            + self.table.allocation_size()
    }
}

fn spread(text: &[u8]) -> u32 {
    (xxh3_64_with_seed(text, SEED) >> 32) as u32
}

/// A table wants 64 bits: its groups are found by the lower, told apart by the upper ones.
const fn wide(hash: u32) -> u64 {
    (hash as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What a reply tells of its target's size; of two replies the greater one tells more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sizing {
    /// Nothing.
    #[default]
    Unknown,
    /// It was a part of so many bytes, so the target is no smaller.
    Part(u64),
    /// It was the whole target, so many bytes.
    Whole(u64),
}

impl Sizing {
    /// Bytes, as far as they are known.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Unknown => 0,
            Self::Part(bytes) | Self::Whole(bytes) => bytes,
        }
    }

    /// In 64 bits, in the same order: what is known is in the two highest.
    const fn packed(self) -> u64 {
        let bytes = self.bytes();
        let bytes = if bytes > BYTES_MAX { BYTES_MAX } else { bytes };
        match self {
            Self::Unknown => 0,
            Self::Part(_) => PART | bytes,
            Self::Whole(_) => WHOLE | bytes,
        }
    }

    const fn unpacked(packed: u64) -> Self {
        match packed & !BYTES_MAX {
            PART => Self::Part(packed & BYTES_MAX),
            WHOLE => Self::Whole(packed & BYTES_MAX),
            _ => Self::Unknown,
        }
    }
}

/// See [`Sizing::packed`].
const PART: u64 = 1 << 62;
/// See [`Sizing::packed`].
const WHOLE: u64 = 2 << 62;
/// Largest target that is told from larger ones.
const BYTES_MAX: u64 = PART - 1;

/// Targets: numbers for URLs of sites, with the largest size seen of each.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Site and URL, parted by a zero byte, which no URL has.
    names: Names,
    /// See [`Sizing::packed`].
    sizes: Vec<u64>,
    /// Where the next name is put together.
    name: Vec<u8>,
}

impl Catalogue {
    /// How many there are; numbers are below.
    pub const fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// The number of a target, a new one if need be, of whose size a reply tells `size`. `None`
    /// when it cannot be numbered, see [`Names::number`].
    pub fn number(&mut self, site: &str, url: &str, size: Sizing) -> Option<u32> {
        self.name.clear();
        self.name.extend_from_slice(site.as_bytes());
        self.name.push(0);
        self.name.extend_from_slice(url.as_bytes());
        let number = self.names.number(&self.name)?;
        if self.sizes.len() < self.names.len() {
            self.sizes.push(size.packed());
        } else {
            let known = &mut self.sizes[number as usize];
            *known = size.packed().max(*known);
        }
        Some(number)
    }

    /// The largest size seen of a target, in bytes: its largest whole reply, see
    /// [`crate::Target::size`]; of a target that was asked for in parts only, the largest part.
    pub fn size(&self, number: u32) -> u64 {
        self.sizing(number).bytes()
    }

    /// What is known of a target's size.
    pub fn sizing(&self, number: u32) -> Sizing {
        Sizing::unpacked(self.sizes[number as usize])
    }

    /// The site and the URL of a target.
    pub fn name(&self, number: u32) -> (&str, &str) {
        let text = std::str::from_utf8(self.names.text(number)).expect("names are made of texts");
        text.rsplit_once('\0').expect("a zero byte was put between them")
    }

    /// Sums the sizes: the footprint of all targets, in bytes.
    pub fn footprint_bytes(&self) -> u64 {
        self.sizes.iter().fold(0, |sum, &size| sum.saturating_add(Sizing::unpacked(size).bytes()))
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        self.names.memory_bytes() + self.sizes.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_number_and_numbers_follow_each_other() {
        let mut names = Names::default();
        for round in 0..2 {
            for at in 0_u32..50_000 {
                let text = format!("/{}/{at}", "x".repeat(at as usize % 97));
                assert_eq!(names.number(text.as_bytes()), Some(at), "round {round}");
                assert_eq!(names.text(at), text.as_bytes());
            }
        }
        assert_eq!((names.len(), names.find(b"/none")), (50_000, None));
    }

    #[test]
    fn texts_with_the_same_hash_stay_apart() {
        // 32 bits of hash: among 200,000 texts several pairs have the same.
        let mut names = Names::default();
        let text = |at: u32| at.to_string();
        for at in 0..200_000 {
            assert_eq!(names.number(text(at).as_bytes()), Some(at));
        }
        let mut hashes: Vec<u32> = names.rows.iter().map(|row| row.hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert!(hashes.len() < names.len(), "the test needs a pair");
    }

    #[test]
    fn a_text_longer_than_a_block_has_no_number() {
        let mut names = Names::default();
        assert_eq!(names.number(&vec![b'a'; BLOCK_BYTES + 1]), None);
        assert_eq!(names.number(&vec![b'a'; BLOCK_BYTES]), Some(0));
        assert_eq!(names.number(b"b"), Some(1));
        assert_eq!(names.text(1), b"b");
    }

    #[test]
    fn a_target_keeps_its_largest_size_and_its_site() {
        let mut targets = Catalogue::default();
        assert_eq!(targets.number("a", "/x", Sizing::Whole(7)), Some(0));
        assert_eq!(targets.number("b", "/x", Sizing::Whole(3)), Some(1));
        assert_eq!(targets.number("a", "/x", Sizing::Part(50)), Some(0));
        assert_eq!(targets.number("a", "/x", Sizing::Whole(9)), Some(0));
        assert_eq!((targets.size(0), targets.size(1), targets.footprint_bytes()), (9, 3, 12));
        assert_eq!((targets.name(0), targets.name(1)), (("a", "/x"), ("b", "/x")));
    }

    #[test]
    fn a_target_costs_less_than_a_hundred_bytes_beside_its_url() {
        let mut targets = Catalogue::default();
        let (count, mut url_bytes) = (1_000_000, 0);
        for at in 0..count {
            let url = format!("/some/folder/of/a/site/{at}.html");
            url_bytes += url.len();
            targets.number("www.example.org", &url, Sizing::Whole(1000));
        }
        let each = (targets.memory_bytes() - url_bytes) / count;
        assert!(each <= 100, "{each} bytes");
    }
}
