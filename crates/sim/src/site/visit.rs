//! What users ask: their sessions, pages and objects, and the site they ask it of.
//!
//! Every visit draws from dice of its own, so that all policies are offered the same work, whatever
//! they do to its order.

use core::time::Duration;
use policy::{Class, Dice, TargetId};
use workload::draw::Draw;

/// Something that is asked for with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it is, to policies and caches.
    pub target: TargetId,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Which resource it leans on.
    pub class: Class,
}

impl Object {
    /// Whether it is among the share of targets that caches may keep.
    pub(super) fn is_cacheable(&self, share: f64) -> bool {
        share >= 1.0
            || ((self.target.mixed(CACHEABLE_SALT) >> 11) as f64) < share * (1u64 << 53) as f64
    }
}

/// How users behave and what they ask for.
#[derive(Clone, Debug)]
pub struct Audience {
    /// Between the arrivals of users, in seconds.
    pub gap: Draw,
    /// Pages of a visit.
    pub pages: Draw,
    /// Between a page and the next, in seconds.
    pub think: Draw,
    /// Objects of a page, the HTML included.
    pub objects: Draw,
    /// Length of an HTML file, in bytes.
    pub html: Draw,
    /// Length of another object, in bytes.
    pub embedded: Draw,
    /// How many HTML files the site has, and how many other files.
    pub files: (usize, usize),
    /// Skew of their popularity, in quarters: 0 is uniform, 4 is Zipf's law.
    pub skew_quarters: u32,
    /// How many programs answer dynamic requests of the heavy classes.
    pub programs: usize,
    /// The share of each class among pages; sums to 1.
    pub mix: &'static [(Class, f64)],
    /// What a page's objects are.
    pub parts: Parts,
}

/// Of which class the objects of a page are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Files, lightly dynamic where the page is, over a secure channel where the page is (CAP).
    LikePage,
    /// Each drawn as pages are (ClubWeb).
    LikePages,
}

/// The site: files with their lengths and popularity.
#[derive(Clone, Debug)]
pub struct Content {
    html: Shelf,
    embedded: Shelf,
}

/// Files of one kind, the most popular first.
#[derive(Clone, Debug)]
struct Shelf {
    /// Distinguishes the targets of shelves.
    salt: u64,
    bytes: Vec<u64>,
    /// Up to each file, the sum of popularities; empty when all are alike.
    sums: Vec<f64>,
}

const HTML_SALT: u64 = 0x68;
const EMBEDDED_SALT: u64 = 0x65;
const CACHEABLE_SALT: u64 = 0x63;
const PROGRAM_SALT: u64 = 0x70;

impl Content {
    /// The site of `audience`; its files are the same for the same seed.
    pub fn new(audience: &Audience, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut shelf = |salt, count, length: &Draw| {
            Shelf::new(salt, count, length, audience.skew_quarters, &mut dice)
        };
        Self {
            html: shelf(HTML_SALT, audience.files.0, &audience.html),
            embedded: shelf(EMBEDDED_SALT, audience.files.1, &audience.embedded),
        }
    }

    /// All files together.
    pub fn bytes(&self) -> u64 {
        self.html.bytes.iter().chain(&self.embedded.bytes).sum()
    }

    /// Draws the objects of a page, the HTML first.
    pub fn page(&self, audience: &Audience, dice: &mut Dice, objects: &mut Vec<Object>) {
        objects.clear();
        let count = audience.objects.whole(dice);
        let class = draw_class(audience.mix, dice);
        objects.push(self.object(&self.html, class, audience, dice));
        for _ in 1..count {
            let class = match audience.parts {
                Parts::LikePage => part_of(class),
                Parts::LikePages => draw_class(audience.mix, dice),
            };
            objects.push(self.object(&self.embedded, class, audience, dice));
        }
    }

    /// A file of the shelf, or what a program answers that stands in its place.
    fn object(&self, shelf: &Shelf, class: Class, audience: &Audience, dice: &mut Dice) -> Object {
        let (file, mut target) = shelf.draw(dice);
        if is_program(class, audience) {
            let program = dice.below(audience.programs.max(1)) as u64;
            target = TargetId(TargetId(program << 8 | u64::from(class.0)).mixed(PROGRAM_SALT));
        }
        Object { target, bytes: shelf.bytes[file], class }
    }
}

/// Whether requests of the class name a program, not a file. CAP's CPU-bound ones are files that
/// are enciphered; ClubWeb's are programs.
fn is_program(class: Class, audience: &Audience) -> bool {
    match class {
        Class::DISK | Class::CPU_DISK => true,
        Class::CPU => audience.parts == Parts::LikePages,
        _ => false,
    }
}

/// The class of what is embedded in a page of `class`.
fn part_of(class: Class) -> Class {
    match class {
        Class::LIGHT => Class::LIGHT,
        Class::CPU | Class::CPU_DISK => Class::CPU,
        _ => Class::STATIC,
    }
}

fn draw_class(mix: &[(Class, f64)], dice: &mut Dice) -> Class {
    let mut rest = dice.unit();
    for (class, share) in mix {
        if rest < *share {
            return *class;
        }
        rest -= share;
    }
    mix.last().map_or(Class::STATIC, |(class, _)| *class)
}

impl Shelf {
    fn new(salt: u64, count: usize, length: &Draw, quarters: u32, dice: &mut Dice) -> Self {
        let bytes = (0..count.max(1)).map(|_| length.whole(dice)).collect();
        let mut sum = 0.0;
        let mut add = |rank: usize| {
            sum += 1.0 / quarter_power(rank as f64, quarters);
            sum
        };
        let sums =
            if quarters == 0 { Vec::new() } else { (1..=count.max(1)).map(&mut add).collect() };
        Self { salt, bytes, sums }
    }

    fn draw(&self, dice: &mut Dice) -> (usize, TargetId) {
        let file = match self.sums.last() {
            None => dice.below(self.bytes.len()),
            Some(total) => {
                let point = dice.unit() * total;
                self.sums.partition_point(|sum| *sum <= point).min(self.bytes.len() - 1)
            }
        };
        (file, TargetId(TargetId(file as u64).mixed(self.salt)))
    }
}

/// `x` to the power of so many quarters: square roots are exact on every machine.
fn quarter_power(x: f64, quarters: u32) -> f64 {
    let quarter = x.sqrt().sqrt();
    (0..quarters).fold(1.0, |power, _| power * quarter)
}

/// A span of so many seconds.
pub(super) fn seconds(span_s: f64) -> Duration {
    Duration::from_nanos((span_s * 1e9) as u64)
}
