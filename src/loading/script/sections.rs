//! The tables of a scenario file, one function each.

use super::draws::{self, Endless};
use super::table::Table;
use super::{Kind, RATE_S, Script, exponential, unknown};
use crate::config::{Entry, Place, Raw};
use load::Manner;
use policy::Class;
use workload::draw::Draw;
use workload::visits::{Answer, Site};

/// Shares sum to 1 if they do as nearly as this.
const SHARES_OFF_MAX: f64 = 1e-6;

/// Files of a site at most: beyond, the site alone would fill the memory.
const FILES_MAX: u32 = 10_000_000;

/// What a file may say of the manner in which requests go out.
const MANNERS: [&str; 3] = ["persistent", "pipelined", "http10"];

/// Everything; `None` if something is wrong, which then has been said.
pub(super) fn script(top: &mut Table<'_>) -> Option<Script> {
    let base = base(top)?;
    let base = base.as_ref();
    let name = top.text("name").map(|(name, _)| name);
    let source = top.text("source").map(|(source, _)| source);
    let gap_s = arrivals(top);
    let (pages, think_s) = session(top);
    let page = page(top);
    let site = site(top, base.map(|base| base.site));
    let manner = connections(top);
    let services = services(top);
    // What is written and wrong was said already.
    if top.is_wrong() {
        return None;
    }
    let mut lacks = Vec::new();
    let mut draw = |key: &'static str, own: Option<Draw>, of_base: fn(&Script) -> Draw| {
        let found = own.or_else(|| base.map(of_base));
        if found.is_none() {
            lacks.push(key);
        }
        found
    };
    let pages = draw("pages of [session]", pages, |base| base.pages);
    let think_s = draw("think_s of [session]", think_s, |base| base.think_s);
    let objects = draw("objects of [page]", page.objects, |base| base.objects);
    let html_bytes = draw("html_bytes of [page]", page.html_bytes, |base| base.html_bytes);
    let embedded_bytes =
        draw("embedded_bytes of [page]", page.embedded_bytes, |base| base.embedded_bytes);
    let services = services.or_else(|| base.map(|base| base.services.clone()));
    lacks.extend(services.is_none().then_some("[[service]]"));
    lacks.extend(site.is_none().then_some("[site]"));
    if !lacks.is_empty() {
        let message = format!("the scenario lacks {}", lacks.join(", "));
        top.wrong(None, message, "add it, or name a scenario that has it: base = \"clubweb-cpu\"");
        return None;
    }
    let or_base = |of_base: fn(&Script) -> String| base.map(of_base).unwrap_or_default();
    let with_html = page.with_html.or(base.map(|base| base.objects_with_html));
    Some(Script {
        name: name.unwrap_or_else(|| or_base(|base| format!("{}, changed", base.name))),
        source: source.unwrap_or_else(|| or_base(|base| base.source.clone())),
        pages: pages?,
        think_s: think_s?,
        objects: objects?,
        objects_with_html: with_html.unwrap_or(false),
        html_bytes: html_bytes?,
        embedded_bytes: embedded_bytes?,
        services: services?,
        site: site?,
        gap_s: gap_s.or(base.map(|base| base.gap_s)).unwrap_or_else(|| exponential(RATE_S)),
        manner: manner.or(base.map(|base| base.manner)).unwrap_or(Manner::Parallel(6)),
    })
}

/// The scenario that this one changes; `None` inside if it stands alone.
#[allow(clippy::option_option, reason = "no base is fine, a base that is none is not")]
fn base(top: &mut Table<'_>) -> Option<Option<Script>> {
    let Some((name, place)) = top.text("base") else { return Some(None) };
    let script = Script::shipped(&name);
    if script.is_none() {
        let (message, remedy) = split(unknown(&name));
        top.wrong(place, message, remedy);
        return None;
    }
    Some(script)
}

fn split(message: String) -> (String, String) {
    let (message, remedy) = message.split_once("; ").unwrap_or((&message, ""));
    (message.to_owned(), remedy.to_owned())
}

fn arrivals(top: &mut Table<'_>) -> Option<Draw> {
    let mut table = top.table("arrivals");
    let rate_s = table.number("rate", (f64::MIN_POSITIVE, 1e6));
    let gap_s = draws::read(&mut table, "gap_s", Endless::Wrong);
    if rate_s.is_some() && gap_s.is_some() {
        let message = "[arrivals] has both rate and gap_s, which say the same";
        table.wrong(table.place.clone(), message, "keep rate for independent arrivals, else gap_s");
    }
    table.finish();
    gap_s.or(rate_s.map(exponential))
}

fn session(top: &mut Table<'_>) -> (Option<Draw>, Option<Draw>) {
    let mut table = top.table("session");
    let pages = draws::read(&mut table, "pages", Endless::Wrong);
    let think_s = draws::read(&mut table, "think_s", Endless::Odd);
    table.finish();
    (pages, think_s)
}

/// What `[page]` says.
struct Page {
    objects: Option<Draw>,
    with_html: Option<bool>,
    html_bytes: Option<Draw>,
    embedded_bytes: Option<Draw>,
}

fn page(top: &mut Table<'_>) -> Page {
    let mut table = top.table("page");
    let page = Page {
        objects: draws::read(&mut table, "objects", Endless::Wrong),
        with_html: table.flag("objects_with_html"),
        html_bytes: draws::read(&mut table, "html_bytes", Endless::Odd),
        embedded_bytes: draws::read(&mut table, "embedded_bytes", Endless::Odd),
    };
    table.finish();
    page
}

fn site(top: &mut Table<'_>, base: Option<Site>) -> Option<Site> {
    let mut table = top.table("site");
    if table.place.is_some() && base.is_none() {
        for key in ["documents", "objects", "programs", "exponent"] {
            table.must(key);
        }
    }
    let mut count = |key, of_base: fn(Site) -> u32| {
        table.count(key, (1, FILES_MAX)).or_else(|| base.map(of_base))
    };
    let documents = count("documents", |site| site.documents);
    let objects = count("objects", |site| site.objects);
    let programs = count("programs", |site| site.programs);
    let exponent = table.number("exponent", (0.0, 10.0)).or_else(|| Some(base?.exponent));
    table.finish();
    Some(Site {
        documents: documents?,
        objects: objects?,
        programs: programs?,
        exponent: exponent?,
    })
}

fn connections(top: &mut Table<'_>) -> Option<Manner> {
    let mut table = top.table("connections");
    let kind = table.word("manner", &MANNERS);
    let count = table.count("at_once", (1, 6)).map(|count| count as usize);
    let place = table.place.clone();
    let manner = match (kind, count) {
        (Some(1), None) => Some(Manner::Pipelined),
        (Some(1), Some(_)) => {
            let message = "what is pipelined goes over one connection";
            table.wrong(place, message, "remove at_once");
            None
        }
        (Some(2), count) => Some(Manner::Closing(count.unwrap_or(6))),
        (Some(_), count) => Some(Manner::Parallel(count.unwrap_or(6))),
        (None, Some(count)) => Some(Manner::Parallel(count)),
        (None, None) => None,
    };
    table.finish();
    manner
}

fn services(top: &mut Table<'_>) -> Option<Vec<Kind>> {
    let Entry { value, key_place, .. } = top.take("service")?;
    let Raw::List(items) = value else {
        let message = format!("service is a list of tables, and not {}", value.describe());
        top.wrong(key_place, message, "write [[service]], with two brackets, each time");
        return None;
    };
    let mut services = Vec::new();
    let (mut sum, mut whole) = (0.0, true);
    for (item, place) in items {
        let Raw::Table(entries) = item else {
            let message = format!("a service is a table, and not {}", item.describe());
            top.wrong(place, message, "write [[service]], and its keys below");
            return None;
        };
        let mut table = top.inner("[[service]]".to_owned(), place, entries);
        let found = service(&mut table);
        table.finish();
        whole &= found.is_some();
        sum += found.as_ref().map_or(0.0, |service| service.share);
        services.extend(found);
    }
    if whole {
        sums(top, key_place, "the shares of all [[service]]", sum);
    }
    whole.then_some(services)
}

/// Says so where shares are not the whole.
fn sums(table: &mut Table<'_>, place: Place, what: &str, sum: f64) {
    if (sum - 1.0).abs() > SHARES_OFF_MAX {
        // Without what binary fractions leave behind.
        let sum = (sum * 1e6).round() / 1e6;
        table.wrong(place, format!("{what} sum to {sum}"), "make them sum to 1");
    }
}

fn service(table: &mut Table<'_>) -> Option<Kind> {
    let share = table.needed("share", (0.0, 1.0));
    let html = answer(table);
    let secure = table.flag("secure").unwrap_or(false);
    table.must("embedded");
    let entry = table.take("embedded")?;
    let Raw::List(items) = entry.value else {
        table.unfit(&entry, "a list, such as [{ share = 1, class = \"static\" }]");
        return None;
    };
    let (mut embedded, mut sum) = (Vec::new(), 0.0);
    let count = items.len();
    for (item, place) in items {
        let Raw::Table(entries) = item else {
            let message = format!("what is embedded is a table, and not {}", item.describe());
            table.wrong(place, message, "write { share = 1, class = \"static\" }");
            return None;
        };
        let mut inner = table.inner("an entry of embedded".to_owned(), place, entries);
        let (share, answer) = (inner.needed("share", (0.0, 1.0)), answer(&mut inner));
        inner.finish();
        sum += share.unwrap_or(0.0);
        embedded.extend(share.zip(answer));
    }
    if embedded.len() < count {
        return None;
    }
    sums(table, entry.place, "the shares of embedded", sum);
    Some(Kind { share: share?, html: html?, secure, embedded })
}

/// The class that is leant on, and whether a program answers.
fn answer(table: &mut Table<'_>) -> Option<Answer> {
    table.must("class");
    let class = table.word("class", &Class::NAMES);
    let program = table.flag("program").unwrap_or(false);
    Some(Answer { class: Class(u8::try_from(class?).ok()?), program })
}

/// How a manner is written.
pub(super) fn manner_text(manner: Manner) -> String {
    let (kind, count) = match manner {
        Manner::Parallel(count) => (MANNERS[0], Some(count)),
        Manner::Pipelined => (MANNERS[1], None),
        Manner::Closing(count) => (MANNERS[2], Some(count)),
    };
    let count = count.map_or(String::new(), |count| format!("at_once = {count}\n"));
    format!("manner = \"{kind}\"\n{count}")
}
