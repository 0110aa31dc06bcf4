//! Method: what ships is read and compared with the papers' mixes; files with one mistake each are
//! read, and what is said of them is compared with what should be.

use super::*;
use workload::visits::MIXES;

fn parse(text: &str) -> Script {
    Script::parse("mine.toml", text).unwrap_or_else(|error| panic!("{error}")).0
}

/// What is said of a file that is wrong.
fn said(text: &str) -> String {
    match Script::parse("mine.toml", text) {
        Err(error) => error.to_string(),
        Ok((script, _)) => panic!("{text:?} is read as {script:?}"),
    }
}

#[test]
fn the_scenarios_that_ship_are_the_mixes_of_the_papers() {
    assert_eq!(SHIPPED.len(), MIXES.len());
    for mix in MIXES {
        let (name, text) = SHIPPED.iter().find(|(name, _)| *name == mix.name).unwrap();
        let (script, odd) = Script::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(script, Script::of(mix), "{name}");
        assert!(odd.problems.is_empty(), "{odd}");
        assert!(!text.contains("base ="), "{name} stands alone");
    }
}

#[test]
fn what_is_written_reads_as_what_it_was() {
    for mix in MIXES {
        let script = Script { manner: Manner::Closing(2), ..Script::of(mix) };
        assert_eq!(parse(&text(&script)), script, "{}", mix.name);
    }
    let weibull =
        "base = \"transaction\"\n[arrivals]\ngap_s = { weibull = { scale = 1, shape = 0.6 } }";
    let script = parse(weibull);
    assert_eq!(parse(&text(&script)), script);
    let endless = "base = \"transaction\"\n[session]\nthink_s = { exponential = { mean = 5 } }\n\
                   [page]\nembedded_bytes = { lognormal = { mu = -1.5, sigma = 2 } }";
    let script = parse(endless);
    assert_eq!(parse(&text(&script)), script);
}

#[test]
fn a_base_gives_what_a_file_does_not_say() {
    let script = parse("base = \"clubweb-disk\"\n[session]\nthink_s = 2\n[site]\ndocuments = 7");
    let base = Script::shipped("clubweb-disk").unwrap();
    assert_eq!(script.think_s, Draw::Constant(2.0));
    assert_eq!(script.site, Site { documents: 7, ..base.site });
    assert_eq!(script.name, "clubweb-disk, changed");
    assert_eq!((script.services, script.pages), (base.services, base.pages));
}

#[test]
fn a_mean_that_is_infinite_is_said_and_refused_where_nothing_would_end() {
    let tail = "{ pareto = { alpha = 1, min = 1000 } }";
    let text = format!("base = \"clubweb-cpu\"\n[page]\nhtml_bytes = {tail}");
    let (_, odd) = Script::parse("mine.toml", &text).unwrap();
    assert_eq!(
        odd.to_string(),
        "mine.toml:3:14: warning: the mean of html_bytes is infinite, so every figure depends on \
         how long is drawn; give the tail an end: max = ..."
    );
    assert_eq!(
        said(&format!("base = \"clubweb-cpu\"\n[session]\npages = {tail}")),
        "mine.toml:3:9: the mean of pages is infinite: a visit might never end; give the tail an \
         end: max = ..."
    );
}

/// Says so if one of these texts is not answered as wanted.
fn answered(table: &[(&str, &str)]) {
    for (text, wanted) in table {
        let said = said(text);
        assert!(said.contains(wanted), "{text}\nsays: {said}\nnot:  {wanted}");
    }
}

#[test]
fn a_mistake_in_a_distribution_is_said_with_its_place_and_remedy() {
    let base = "base = \"clubweb-cpu\"\n";
    answered(&[
        (
            "bse = \"x\"",
            "mine.toml:1:1: there is no key \"bse\" in the scenario; did you mean \"base\"?",
        ),
        ("base = \"clubweb\"", "mine.toml:1:8: there is no scenario \"clubweb\"; there are"),
        ("name = \"a\"", "the scenario lacks pages of [session], think_s of [session], objects of"),
        (
            &format!("{base}[page]\nobject = 2"),
            "mine.toml:3:1: there is no key \"object\" in [page]; did you mean \"objects\"?",
        ),
        (
            &format!("{base}[page]\nobjects = {{ parteo = {{}} }}"),
            "mine.toml:3:13: there is no distribution \"parteo\"; did you mean \"pareto\"?",
        ),
        (
            &format!("{base}[page]\nobjects = {{ pareto = {{ alpha = 1.3 }} }}"),
            "mine.toml:3:11: pareto of objects has no min; write min = ...",
        ),
        (
            &format!("{base}[page]\nobjects = {{ pareto = {{ alpha = 2, min = 9, max = 3 }} }}"),
            "pareto of objects ends at 3, before it begins; give it a max above 9",
        ),
        (
            &format!("{base}[page]\nobjects = {{ lognormal = {{ mu = 3, sigma = 1, max = 2 }} }}"),
            "ends at 2, below its median of 20.1; give it a larger max",
        ),
        (
            &format!("{base}[page]\nobjects = {{ lognormal = {{ mu = 3, sigma = 0 }} }}"),
            "sigma of lognormal of objects cannot be 0; write a number above 0",
        ),
        (
            &format!("{base}[session]\nthink_s = \"long\""),
            "think_s of [session] cannot be \"long\"; write a number, or one distribution",
        ),
        (
            &format!("{base}[session]\nthink_s = -1.0"),
            "think_s of [session] cannot be -1; write a number that is not below 0",
        ),
        (&format!("{base}[arrivals]\nrate = 5\ngap_s = 0.1"), "[arrivals] has both rate and gap_s"),
        (
            &format!("{base}[site]\ndocuments = 0"),
            "documents of [site] cannot be 0; write a whole number from 1 to",
        ),
    ]);
}

#[test]
fn a_mistake_in_services_and_connections_is_said_with_its_place_and_remedy() {
    let base = "base = \"clubweb-cpu\"\n";
    answered(&[
        (&format!("{base}[connections]\nmanner = \"pipelind\""), "did you mean \"pipelined\"?"),
        (
            &format!("{base}[connections]\nmanner = \"pipelined\"\nat_once = 3"),
            "what is pipelined goes over one connection; remove at_once",
        ),
        (
            &format!("{base}[service]\nshare = 1"),
            "service is a list of tables, and not a table; write [[service]], with two brackets",
        ),
        (
            &format!(
                "{base}[[service]]\nshare = 0.4\nclass = \"static\"\n\
                 embedded = [{{ share = 1, class = \"static\" }}]"
            ),
            "mine.toml:2:3: the shares of all [[service]] sum to 0.4; make them sum to 1",
        ),
        (
            &format!(
                "{base}[[service]]\nshare = 1\nclass = \"static\"\n\
                 embedded = [{{ share = 0.5, class = \"static\" }}]"
            ),
            "mine.toml:5:12: the shares of embedded sum to 0.5; make them sum to 1",
        ),
        (
            &format!(
                "{base}[[service]]\nshare = 1\nclass = \"statik\"\n\
                 embedded = [{{ share = 1, class = \"static\" }}]"
            ),
            "mine.toml:4:9: class of [[service]] cannot be \"statik\"; did you mean \"static\"?",
        ),
        (&format!("{base}[[service]]\nshare = 1"), "[[service]] has no class; write class = ..."),
        (
            &format!("{base}page = 3"),
            "mine.toml:2:1: page is a table, and not 3; put its keys below [page]",
        ),
        ("[page", "this is not TOML"),
    ]);
}

#[test]
fn what_stands_below_a_table_and_belongs_above_is_told_where_to_go() {
    let word = "stands above the first table: in TOML, what is below [";
    for (text, place) in [
        ("base = \"clubweb-cpu\"\n[page]\nobjects = 3\nname = \"mine\"", "mine.toml:4:1: name"),
        ("[session]\nthink_s = 2\nbase = \"clubweb-cpu\"", "mine.toml:3:1: base"),
        ("base = \"clubweb-cpu\"\n[site]\nsource = \"a book\"", "mine.toml:3:1: source"),
    ] {
        let said = said(text);
        assert!(said.contains(place) && said.contains(word), "{text}\nsays: {said}");
        assert_eq!(said.lines().count(), 1, "what follows from it is not said: {said}");
    }
    let service = "[[service]]\nshare = 1\nclass = \"static\"\n\
                   embedded = [{ share = 1, class = \"static\" }]\nname = \"files\"";
    let said = said(&format!("base = \"clubweb-cpu\"\n{service}"));
    assert!(said.contains("mine.toml:6:1: name of the scenario stands above"), "{said}");
    // In any order, tables give the same.
    let (page, site) = ("[page]\nobjects = 3\n", "[site]\ndocuments = 7\n");
    let base = "base = \"clubweb-cpu\"\n";
    let (one, other) = (format!("{base}{page}{site}"), format!("{base}{site}{page}"));
    assert_eq!(parse(&one), parse(&other));
}

#[test]
fn several_mistakes_are_said_at_once() {
    let said = said("base = \"clubweb-cpu\"\n[page]\nobject = 2\n[session]\npage = 3\n[sight]\n");
    assert_eq!(said.lines().count(), 3, "{said}");
}
