//! Method: thousands of visits of every mix are drawn and counted; the figures are held against
//! the papers' parameters. What must hold for every single one (the HTML first, a target with one
//! size and one class) is checked on each.

use policy::{Class, TargetId};
use std::collections::BTreeMap;
use std::time::Duration;
use workload::visits::{
    CLUBWEB_CPU, COMMERCE_C, MIXES, Mix, OBJECTS_MAX, Object, PUBLISHING_STATIC, THINK_S_MAX,
    Visit, Visits, mix,
};

const VISITS: u64 = 20_000;

/// What was counted over many visits.
#[derive(Default)]
struct Counts {
    pages: u64,
    objects: u64,
    secure: u64,
    html: BTreeMap<Class, u64>,
    embedded: BTreeMap<Class, u64>,
    think_s: f64,
}

fn counted(mix: &Mix, mut each: impl FnMut(usize, &Object)) -> Counts {
    let visits = Visits::new(mix, 1);
    let (mut visit, mut counts) = (Visit::default(), Counts::default());
    for number in 0..VISITS {
        visits.visit(number, &mut visit);
        assert!(!visit.is_empty());
        for (place, page) in visit.pages().enumerate() {
            counts.pages += 1;
            counts.objects += page.objects.len() as u64;
            counts.secure += u64::from(page.secure);
            counts.think_s += page.think.as_secs_f64();
            assert_eq!(place == 0, page.think == Duration::ZERO, "{}", mix.name);
            assert!(page.think.as_secs_f64() <= THINK_S_MAX);
            assert!(page.objects.len() as f64 <= OBJECTS_MAX + 1.0);
            *counts.html.entry(page.objects[0].class).or_default() += 1;
            for (place, object) in page.objects.iter().enumerate() {
                each(place, object);
                if place > 0 {
                    *counts.embedded.entry(object.class).or_default() += 1;
                }
            }
        }
    }
    counts
}

fn share(counts: &BTreeMap<Class, u64>, class: Class) -> f64 {
    let found = counts.get(&class).copied().unwrap_or(0);
    found as f64 / counts.values().sum::<u64>() as f64
}

fn close(found: f64, expected: f64, percent: f64) -> bool {
    (found - expected).abs() <= expected.abs() * percent / 100.0
}

#[test]
fn a_target_has_one_class_and_a_file_one_size() {
    for mix in MIXES {
        let mut known: BTreeMap<TargetId, Object> = BTreeMap::new();
        counted(mix, |_, object| {
            let first = *known.entry(object.target).or_insert(*object);
            assert_eq!(
                (first.class, first.program),
                (object.class, object.program),
                "{}",
                mix.name
            );
            assert!(object.program || first.bytes == object.bytes, "{}", mix.name);
        });
        assert!(known.len() > 1000, "{}: {} targets", mix.name, known.len());
    }
}

#[test]
fn clubweb_is_as_its_table_says() {
    let mut html = Vec::new();
    let counts = counted(&CLUBWEB_CPU, |place, object| {
        if place == 0 {
            html.push(object.bytes);
        }
    });
    let pages = counts.pages as f64 / VISITS as f64;
    assert!(close(pages, 3.86, 3.0), "{pages} pages a session");
    let think = counts.think_s / (counts.pages - VISITS) as f64;
    assert!(close(think, CLUBWEB_CPU.think_s.mean().unwrap(), 5.0), "{think} s");
    let objects = counts.objects as f64 / counts.pages as f64 - 1.0;
    assert!(close(objects, CLUBWEB_CPU.objects.mean().unwrap(), 3.0), "{objects} a page");
    for (class, expected) in [(Class::STATIC, 0.4), (Class::LIGHT, 0.4), (Class::CPU, 0.2)] {
        assert!(close(share(&counts.html, class), expected, 3.0), "{class:?} among pages");
        // Popular pages show the same objects each time, so this one is only near.
        let found = share(&counts.embedded, class);
        assert!(close(found, expected, 20.0), "{class:?} among objects: {found}");
    }
    html.sort_unstable();
    assert!(html[html.len() / 2] < 10_240, "the median is in the body");
    assert!(html[html.len() - 1] > 10_240, "there is a tail");
}

#[test]
fn cap_counts_the_html_among_the_objects_and_secures_whole_pages() {
    let counts = counted(&PUBLISHING_STATIC, |_, _| {});
    let objects = counts.objects as f64 / counts.pages as f64;
    assert!(close(objects, PUBLISHING_STATIC.objects.mean().unwrap(), 6.0), "{objects}");
    assert_eq!(counts.secure, 0);

    let counts = counted(&COMMERCE_C, |_, _| {});
    assert!(close(counts.secure as f64 / counts.pages as f64, 0.3, 3.0));
    let expected = [
        (Class::STATIC, 0.3),
        (Class::LIGHT, 0.3),
        (Class::CPU, 0.2),
        (Class::DISK, 0.1),
        (Class::CPU_DISK, 0.1),
    ];
    for (class, expected) in expected {
        assert!(close(share(&counts.html, class), expected, 5.0), "{class:?}");
    }
    assert_eq!(share(&counts.embedded, Class::DISK), 0.0, "a database fills pages, not pictures");
}

#[test]
fn shares_sum_to_one_and_names_are_known() {
    for each in MIXES {
        assert!(close(each.services.iter().map(|service| service.share).sum(), 1.0, 1e-9));
        for service in each.services {
            assert!(close(service.embedded.iter().map(|part| part.0).sum(), 1.0, 1e-9));
        }
        assert_eq!(mix(each.name), Some(each));
    }
    assert_eq!(mix("no such mix"), None);
}

#[test]
fn a_page_shows_the_same_objects_each_time() {
    let visits = Visits::new(&CLUBWEB_CPU, 1);
    let mut known: BTreeMap<(TargetId, u64), Vec<Object>> = BTreeMap::new();
    let (mut visit, mut again) = (Visit::default(), 0);
    for number in 0..2_000 {
        visits.visit(number, &mut visit);
        for page in visit.pages().filter(|page| !page.objects[0].program) {
            let shown = known.entry((page.objects[0].target, page.objects[0].bytes)).or_default();
            let (short, long) = if shown.len() < page.objects.len() {
                (shown.clone(), page.objects)
            } else {
                (page.objects.to_vec(), shown.as_slice())
            };
            assert_eq!(short, long[..short.len()], "the shorter is the longer one's beginning");
            again += usize::from(!short.is_empty());
            *shown = long.to_vec();
        }
    }
    assert!(again > 500, "{again} pages were seen before");
}

#[test]
fn a_visit_depends_on_its_number_and_the_seed_alone() {
    let visits = Visits::new(&CLUBWEB_CPU, 1);
    let (mut first, mut other) = (Visit::default(), Visit::default());
    visits.visit(17, &mut first);
    visits.visit(3, &mut other);
    assert_ne!(first, other);
    visits.visit(17, &mut other);
    assert_eq!(first, other);
    Visits::new(&CLUBWEB_CPU, 2).visit(17, &mut other);
    assert_ne!(first, other);
}

#[test]
fn other_visitors_come_to_the_same_site() {
    let site = Visits::new(&CLUBWEB_CPU, 1);
    let others = site.clone().with_users(2);
    assert!(site.files().eq(others.files()));
    let (mut first, mut other) = (Visit::default(), Visit::default());
    site.visit(17, &mut first);
    others.visit(17, &mut other);
    assert_ne!(first, other);
    site.clone().with_users(1).visit(17, &mut other);
    assert_eq!(first, other);
}

#[test]
fn the_document_tree_is_the_files_and_no_programs() {
    let files = Visits::new(&PUBLISHING_STATIC, 1).site_bytes();
    let site = PUBLISHING_STATIC.site;
    let mean = files as f64 / f64::from(site.documents + site.objects);
    assert!(close(mean, PUBLISHING_STATIC.html_bytes.mean().unwrap(), 10.0), "{mean}");
    assert!(Visits::new(&CLUBWEB_CPU, 1).site_bytes() < files, "dynamic ones are not files");
}
