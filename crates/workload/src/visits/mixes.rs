//! The workloads of the CAP and ClubWeb papers as values.
//!
//! *CAP*: Casalicchio, Colajanni: *A Client-Aware Dispatching Algorithm for Web Clusters Providing
//! Multiple Services*, WWW10 2001, section 4.2. The numbers of its Table 1 are lost; they are taken
//! from the same group's *ClubWeb*: Andreolini, Colajanni, Nuccio, *Scalability of Content-Aware
//! Server Switches for Cluster-Based Web Information Systems*, WWW 2003, Table 1, but for the
//! objects of a page, of which CAP's count the HTML and begin at one.
//!
//! Neither paper says how large its site is, how popular its documents are, how much of the sizes
//! is tail and where tails end. These are the constants below.

use super::{Answer, Mix, Service, Site};
use crate::draw::{Draw, Hybrid, InverseGaussian, Lognormal, Pareto};
use policy::Class;

/// Objects of a page at most. Assumed: with an exponent of 1.33 the variance is infinite.
pub const OBJECTS_MAX: f64 = 150.0;

/// Bytes of an HTML document at most. Assumed: with an exponent of 1 even the mean is infinite.
/// Cut here, a document of the tail has 47 KB on average, and one of all 5.7 KB.
pub const HTML_BYTES_MAX: f64 = 1_000_000.0;

/// Bytes of an embedded object at most. Assumed; less than one in a million is drawn again.
pub const EMBEDDED_BYTES_MAX: f64 = 10_000_000.0;

/// Seconds that a user thinks at most. Assumed: with an exponent of 1.4 the variance is infinite.
/// The mean falls from 3.5 s to 3.2 s.
pub const THINK_S_MAX: f64 = 600.0;

/// Where the tail of HTML documents begins, in bytes (Table 1).
const HTML_TAIL_BYTES: f64 = 10_240.0;

/// How many documents are of the tail. Assumed, after SURGE (SIGMETRICS 1998).
const HTML_TAIL_SHARE: f64 = 0.07;

/// The site. Assumed: some 100 MB of files, with the popularity that real logs have.
const SITE: Site = Site { documents: 5_000, objects: 15_000, programs: 20, exponent: 0.9 };

const PAGES: Draw = Draw::InverseGaussian(InverseGaussian { mean: 3.86, shape: 9.46 });
const THINK: Draw = Draw::Pareto(Pareto { alpha: 1.4, min: 1.0, max: THINK_S_MAX });
const HTML: Draw = Draw::Hybrid(Hybrid {
    body: Lognormal { mu: 7.630, sigma: 1.001, max: HTML_TAIL_BYTES },
    tail: Pareto { alpha: 1.0, min: HTML_TAIL_BYTES, max: HTML_BYTES_MAX },
    tail_share: HTML_TAIL_SHARE,
});
const EMBEDDED: Draw =
    Draw::Lognormal(Lognormal { mu: 8.215, sigma: 1.46, max: EMBEDDED_BYTES_MAX });

const fn objects(min: f64) -> Draw {
    Draw::Pareto(Pareto { alpha: 1.33, min, max: OBJECTS_MAX })
}

const fn file(class: Class) -> Answer {
    Answer { class, program: false }
}

const fn program(class: Class) -> Answer {
    Answer { class, program: true }
}

const fn service(
    share: f64,
    html: Answer,
    secure: bool,
    embedded: &'static [(f64, Answer)],
) -> Service<'static> {
    Service { share, html, secure, embedded }
}

const STATIC: &[(f64, Answer)] = &[(1.0, file(Class::STATIC))];
const LIGHT: &[(f64, Answer)] = &[(1.0, file(Class::LIGHT))];
/// What is in a secure page is enciphered, and so leans on the CPU.
const SECURE: &[(f64, Answer)] = &[(1.0, file(Class::CPU))];

const fn cap(name: &'static str, services: &'static [Service<'static>]) -> Mix<'static> {
    Mix {
        name,
        source: "Casalicchio, Colajanni, WWW10 2001; parameters of WWW 2003",
        pages: PAGES,
        think_s: THINK,
        objects: objects(1.0),
        objects_with_html: true,
        html_bytes: HTML,
        embedded_bytes: HTML,
        services,
        site: SITE,
    }
}

/// CAP's Web publishing, all static.
pub const PUBLISHING_STATIC: Mix =
    cap("publishing-static", &[service(1.0, file(Class::STATIC), false, STATIC)]);

/// CAP's Web publishing, all lightly dynamic.
pub const PUBLISHING_LIGHT: Mix =
    cap("publishing-light", &[service(1.0, file(Class::LIGHT), false, LIGHT)]);

/// CAP's Web transaction: 40 per cent of the pages ask the database.
pub const TRANSACTION: Mix = cap(
    "transaction",
    &[
        service(0.6, file(Class::STATIC), false, STATIC),
        service(0.4, program(Class::DISK), false, STATIC),
    ],
);

/// CAP's Web commerce (a): 40 per cent of the pages are secure.
pub const COMMERCE_A: Mix = cap(
    "commerce-a",
    &[
        service(0.3, file(Class::STATIC), false, STATIC),
        service(0.3, file(Class::LIGHT), false, LIGHT),
        service(0.4, file(Class::CPU), true, SECURE),
    ],
);

/// CAP's Web commerce (b): 20 per cent of the pages are secure, another 20 ask the database.
pub const COMMERCE_B: Mix = cap(
    "commerce-b",
    &[
        service(0.3, file(Class::STATIC), false, STATIC),
        service(0.3, file(Class::LIGHT), false, LIGHT),
        service(0.2, file(Class::CPU), true, SECURE),
        service(0.2, program(Class::DISK), false, STATIC),
    ],
);

/// CAP's Web commerce (c): 20 per cent secure, 10 ask the database, 10 are and do both.
pub const COMMERCE_C: Mix = cap(
    "commerce-c",
    &[
        service(0.3, file(Class::STATIC), false, STATIC),
        service(0.3, file(Class::LIGHT), false, LIGHT),
        service(0.2, file(Class::CPU), true, SECURE),
        service(0.1, program(Class::DISK), false, STATIC),
        service(0.1, program(Class::CPU_DISK), true, SECURE),
    ],
);

const fn clubweb(name: &'static str, services: &'static [Service<'static>]) -> Mix<'static> {
    Mix {
        name,
        source: "Andreolini, Colajanni, Nuccio, WWW 2003, Table 1",
        pages: PAGES,
        think_s: THINK,
        objects: objects(2.0),
        objects_with_html: false,
        html_bytes: HTML,
        embedded_bytes: EMBEDDED,
        services,
        site: SITE,
    }
}

const OBJECTS_CPU: &[(f64, Answer)] =
    &[(0.4, file(Class::STATIC)), (0.4, program(Class::LIGHT)), (0.2, program(Class::CPU))];
const OBJECTS_DISK: &[(f64, Answer)] =
    &[(0.4, file(Class::STATIC)), (0.4, program(Class::LIGHT)), (0.2, program(Class::DISK))];

/// ClubWeb's CPU-bound model: 40 per cent static, 40 lightly dynamic, 20 that stress the CPU, pages
/// and objects alike.
pub const CLUBWEB_CPU: Mix = clubweb(
    "clubweb-cpu",
    &[
        service(0.4, file(Class::STATIC), false, OBJECTS_CPU),
        service(0.4, program(Class::LIGHT), false, OBJECTS_CPU),
        service(0.2, program(Class::CPU), false, OBJECTS_CPU),
    ],
);

/// ClubWeb's disk-bound model: the same, with 20 per cent that stress the disk.
pub const CLUBWEB_DISK: Mix = clubweb(
    "clubweb-disk",
    &[
        service(0.4, file(Class::STATIC), false, OBJECTS_DISK),
        service(0.4, program(Class::LIGHT), false, OBJECTS_DISK),
        service(0.2, program(Class::DISK), false, OBJECTS_DISK),
    ],
);

/// Every mix there is: the only list.
pub const MIXES: &[Mix] = &[
    PUBLISHING_STATIC,
    PUBLISHING_LIGHT,
    TRANSACTION,
    COMMERCE_A,
    COMMERCE_B,
    COMMERCE_C,
    CLUBWEB_CPU,
    CLUBWEB_DISK,
];

/// The mix called `name`.
pub fn mix(name: &str) -> Option<&'static Mix<'static>> {
    MIXES.iter().find(|mix| mix.name == name)
}
