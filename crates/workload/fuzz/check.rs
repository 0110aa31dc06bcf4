//! What must hold for any bytes read as a log. Shared by the fuzz targets and by the test that runs
//! their corpora on a stable compiler.

use workload::{Builder, Clock, Pseudonyms, Sessions, Shape, Statistics, Trace, format, read};

/// Reads `bytes`; whatever was understood must fold, group, add up, and survive being written.
pub fn log(name: &str, bytes: &[u8]) {
    let format = format(name).expect("fuzz targets are named after formats");
    let mut builder = Builder::new(Clock::Folded);
    let mut names = Pseudonyms::default();
    let tally = read(format, bytes, |record| {
        assert!(record.url.bytes().all(|byte| byte.is_ascii_graphic()), "{:?}", record.url);
        assert!((100..=999).contains(&record.status));
        let hidden = names.url(&record.url);
        assert!(!hidden.contains('@') && !hidden.contains("%40"), "{hidden}");
        // Only a method table of 256 rows can be full here, and then the record is refused.
        let _ = builder.push("site", record);
    })
    .expect("reading from memory cannot fail");
    assert_eq!(tally.lines, tally.records + tally.skipped + tally.rejects());
    assert!(tally.examples.len() <= workload::EXAMPLES_MAX);

    let trace = builder.finish();
    assert!(trace.requests.is_sorted_by_key(|entry| entry.at_ms));
    let sessions = Sessions::of(&trace, Shape::default());
    let grouped: usize = sessions.iter().map(|session| session.requests().len()).sum();
    assert_eq!(grouped, trace.requests.len());
    let found = Statistics::of(&trace, None);
    assert!(found.sessions <= found.counted && found.counted <= found.requests);
    assert_eq!(again(&trace).requests, trace.requests, "written and read again");
}

/// The trace, written in our own format and read again.
fn again(trace: &Trace) -> Trace {
    let mut text = Vec::new();
    trace.write(&mut text).expect("writing to memory cannot fail");
    let mut builder = Builder::new(Clock::Kept);
    let own = format("baton").expect("it is in the list");
    let tally = read(own, text.as_slice(), |record| {
        builder.push("site", record).expect("no more than the first trace held");
    })
    .expect("reading from memory cannot fail");
    assert_eq!(tally.rejects(), 0, "{:?}", tally.examples);
    builder.finish()
}
