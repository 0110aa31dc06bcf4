//! VISITS: users who come to a site, look at pages and think between them.
//!
//! The session model of the CAP and ClubWeb papers: a visit is some pages; a page is its HTML and
//! the objects in it; between pages the user thinks. Distributions and mixes of classes are a
//! [`Mix`], values with their sources (`mixes`); the files they are drawn from are the [`Visits`]'
//! own, and their sizes, classes and popularity belong to the target: what was static once is
//! static always, as it must be for a switch that classifies URLs.
//!
//! Which objects are in a page belongs to the page (locality is anchored in pages); how many of
//! them are asked for is drawn at each visit. Every visit has dice of its own, so that it is the
//! same whoever asks for it, and in which order.

mod mixes;
mod shelf;

pub use mixes::{
    CLUBWEB_CPU, CLUBWEB_DISK, COMMERCE_A, COMMERCE_B, COMMERCE_C, EMBEDDED_BYTES_MAX,
    HTML_BYTES_MAX, MIXES, OBJECTS_MAX, PUBLISHING_LIGHT, PUBLISHING_STATIC, THINK_S_MAX,
    TRANSACTION, mix,
};

use crate::draw::Draw;
use policy::{Class, Dice, TargetId};
use shelf::{Shelf, target};
use std::time::Duration;

/// What answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Which resource it leans on.
    pub class: Class,
    /// Whether a program answers, one of [`Site::programs`] for each class, and not a file. Its
    /// replies have the sizes of files but are all one target.
    pub program: bool,
}

/// A kind of pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service<'a> {
    /// Share of all pages that users look at, 0 to 1.
    pub share: f64,
    /// What answers the request for the page itself.
    pub html: Answer,
    /// Whether pages come over a secure channel, with all that is in them.
    pub secure: bool,
    /// What answers requests for the objects in it, with shares that sum to 1.
    pub embedded: &'a [(f64, Answer)],
}

/// How large the site is and how popular its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// HTML documents; each service has its share of them.
    pub documents: u32,
    /// Other objects; each class has its share of them.
    pub objects: u32,
    /// Programs of each class.
    pub programs: u32,
    /// Zipf's exponent, for documents and objects alike.
    pub exponent: f64,
}

/// What users do, and what they ask for: a description, of which [`Visits`] keep what they need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it is from.
    pub source: &'a str,
    /// Pages of a visit.
    pub pages: Draw,
    /// From the end of a page to the request for the next, in seconds.
    pub think_s: Draw,
    /// Objects of a page.
    pub objects: Draw,
    /// Whether the HTML is one of them.
    pub objects_with_html: bool,
    /// Size of an HTML document, in bytes.
    pub html_bytes: Draw,
    /// Size of an embedded object, in bytes.
    pub embedded_bytes: Draw,
    /// The kinds of pages; shares sum to 1.
    pub services: &'a [Service<'a>],
    /// The site.
    pub site: Site,
}

/// Something that is asked for with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub target: TargetId,
    /// Bytes of the reply.
    pub bytes: u64,
    /// Which resource it leans on.
    pub class: Class,
    /// Whether a program answers; otherwise it is a file.
    pub program: bool,
}

/// A page as a user asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// How long the user thinks before asking; zero for the first page.
    pub think: Duration,
    /// Whether it comes over a secure channel.
    pub secure: bool,
    /// The HTML, and then what is in it.
    pub objects: &'a [Object],
}

/// What one user asks for. Two lists, which [`Visits::visit`] fills again and again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visit {
    objects: Vec<Object>,
    /// Of each page: think time, secure or not, and the end of its objects.
    pages: Vec<(Duration, bool, usize)>,
}

impl Visit {
    /// How many pages it has; at least 1 once it was filled.
    pub const fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether it was never filled.
    pub const fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The page with this number, from 0.
    pub fn page(&self, number: usize) -> Option<Page<'_>> {
        let &(think, secure, end) = self.pages.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.pages[before].2);
        Some(Page { think, secure, objects: &self.objects[start..end] })
    }

    /// Its pages, one after the other.
    pub fn pages(&self) -> impl Iterator<Item = Page<'_>> {
        (0..self.len()).filter_map(|number| self.page(number))
    }
}

/// Visits to one site, by number.
#[derive(Clone, Debug)]
pub struct Visits {
    pages: Draw,
    think_s: Draw,
    objects: Draw,
    objects_with_html: bool,
    kinds: Vec<Kind>,
    programs: u64,
    seed: u64,
    /// Seed of the visitors; that of the site unless said otherwise.
    users: u64,
    /// The documents of each service.
    documents: Vec<Shelf>,
    /// What is embedded, by the answer that gives it.
    embedded: Vec<(Answer, Shelf)>,
}

/// A service, owned.
#[derive(Clone, Debug)]
struct Kind {
    share: f64,
    html: Answer,
    secure: bool,
    embedded: Vec<(f64, Answer)>,
}

impl Kind {
    fn of(service: &Service<'_>) -> Self {
        let Service { share, html, secure, embedded } = *service;
        Self { share, html, secure, embedded: embedded.to_vec() }
    }
}

/// Keep apart the dice of sizes, of visits, and of what is in a page.
const SIZES_SALT: u64 = 1;
const VISIT_SALT: u64 = 2;
const PAGE_SALT: u64 = 3;

impl Visits {
    /// The site of a mix; its files are the same for the same seed.
    pub fn new(mix: &Mix<'_>, seed: u64) -> Self {
        let mut dice = Dice::new(TargetId(seed).mixed(SIZES_SALT));
        let Site { documents, objects, exponent, programs } = mix.site;
        let part = |count: u32, share: f64| (f64::from(count) * share).round().max(1.0) as u32;
        let mut answers: Vec<(Answer, f64)> = Vec::new();
        for service in mix.services {
            for (share, answer) in service.embedded {
                let share = service.share * share;
                match answers.iter_mut().find(|(known, _)| known == answer) {
                    Some((_, sum)) => *sum += share,
                    None => answers.push((*answer, share)),
                }
            }
        }
        let mut shelf = |count, sizes: &Draw| Shelf::new(count, exponent, sizes, &mut dice);
        Self {
            pages: mix.pages,
            think_s: mix.think_s,
            objects: mix.objects,
            objects_with_html: mix.objects_with_html,
            kinds: mix.services.iter().map(Kind::of).collect(),
            programs: u64::from(programs.max(1)),
            seed,
            users: seed,
            documents: (mix.services.iter())
                .map(|service| shelf(part(documents, service.share), &mix.html_bytes))
                .collect(),
            embedded: (answers.into_iter())
                .map(|(answer, share)| (answer, shelf(part(objects, share), &mix.embedded_bytes)))
                .collect(),
        }
    }

    /// The same site with other visitors, those of `seed`.
    pub fn with_users(self, seed: u64) -> Self {
        Self { users: seed, ..self }
    }

    /// All files of the site, summed, in bytes: its document tree.
    pub fn site_bytes(&self) -> u64 {
        self.files().map(|file| file.bytes).sum()
    }

    /// All files of the site: what a real server needs to serve it, but for its programs.
    pub fn files(&self) -> impl Iterator<Item = Object> {
        let htmls = self.kinds.iter().map(|kind| kind.html);
        let documents = htmls.zip(&self.documents).enumerate().map(|part| (true, part));
        let embedded = self.embedded.iter().map(|(answer, shelf)| (*answer, shelf));
        let embedded = embedded.enumerate().map(|part| (false, part));
        let files = documents.chain(embedded).filter(|(_, (_, (answer, _)))| !answer.program);
        files.flat_map(|(html, (number, (answer, shelf)))| {
            (0..shelf.len()).map(move |rank| Object {
                target: target(html, number, rank),
                bytes: shelf.size(rank),
                class: answer.class,
                program: false,
            })
        })
    }

    /// Makes `visit` the one with this number.
    pub fn visit(&self, number: u64, visit: &mut Visit) {
        let salt = TargetId(self.users).mixed(VISIT_SALT);
        let mut dice = Dice::new(TargetId(number).mixed(salt));
        visit.objects.clear();
        visit.pages.clear();
        for page in 0..self.pages.whole(&mut dice) {
            let think_s = if page > 0 { self.think_s.sample(&mut dice) } else { 0.0 };
            let secure = self.page(&mut dice, &mut visit.objects);
            // Whole nanoseconds; the conversion saturates.
            let think = Duration::from_nanos((think_s * 1e9) as u64);
            visit.pages.push((think, secure, visit.objects.len()));
        }
    }

    /// Adds the objects of a page; whether it is secure.
    fn page(&self, dice: &mut Dice, objects: &mut Vec<Object>) -> bool {
        let number = drawn(self.kinds.iter().map(|kind| kind.share), dice);
        let kind = &self.kinds[number];
        let shelf = &self.documents[number];
        let rank = shelf.sample(dice);
        let html = target(true, number, rank);
        objects.push(self.object(kind.html, html, shelf.size(rank)));
        let count = self.objects.whole(dice);
        let embedded = if self.objects_with_html { count - 1 } else { count };
        // What a page shows belongs to the page: the dice are its own.
        let mut dice = Dice::new(html.mixed(TargetId(self.seed).mixed(PAGE_SALT)));
        for _ in 0..embedded {
            let part = drawn(kind.embedded.iter().map(|(share, _)| *share), &mut dice);
            let answer = kind.embedded[part].1;
            let shelf = self.embedded.iter().position(|(known, _)| *known == answer);
            let shelf = shelf.expect("every answer of a service has a shelf");
            let rank = self.embedded[shelf].1.sample(&mut dice);
            let file = target(false, shelf, rank);
            objects.push(self.object(answer, file, self.embedded[shelf].1.size(rank)));
        }
        kind.secure
    }

    /// A file, or what a program answers in its place.
    fn object(&self, answer: Answer, file: TargetId, bytes: u64) -> Object {
        let Answer { class, program } = answer;
        let target =
            if program { shelf::program(class, file.mixed(0) % self.programs) } else { file };
        Object { target, bytes, class, program }
    }
}

/// A number of a share, drawn by shares that sum to 1.
fn drawn(shares: impl ExactSizeIterator<Item = f64>, dice: &mut Dice) -> usize {
    let last = shares.len() - 1;
    let mut point = dice.unit();
    for (number, share) in shares.enumerate() {
        if point < share {
            return number;
        }
        point -= share;
    }
    last
}
