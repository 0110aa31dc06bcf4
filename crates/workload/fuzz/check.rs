//! What must hold for any bytes read as a log. Shared by the fuzz targets and by the test that runs
//! their corpora on a stable compiler.

use workload::{
    Builder, Chunks, Clock, FORMATS, Intake, Parse, Pattern, Pseudonyms, Reader, Record, Sessions,
    Shape, Statistics, Trace, detect, format, read, whole_lines,
};

/// Requests of a chunk: few, so that short logs are several.
const CHUNK: usize = 3;

/// Reads `bytes`; whatever was understood must fold, group, add up, and survive being written.
pub fn log(name: &str, bytes: &[u8]) {
    let format = format(name).expect("fuzz targets are named after formats");
    let mut builder = Builder::new(Clock::Folded);
    let mut names = Pseudonyms::default();
    let tally = read(format, bytes, |record| {
        fit(record);
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

/// What holds for every record of every format.
fn fit(record: &Record<'_>) {
    assert!(record.url.bytes().all(|byte| byte.is_ascii_graphic()), "{:?}", record.url);
    assert!(!record.url.is_empty() && !record.method.is_empty() && !record.client.is_empty());
    assert!((100..=999).contains(&record.status));
    assert!(record.server.as_ref().is_none_or(|server| !server.is_empty()));
    assert_eq!(record.clone().into_owned(), *record);
}

/// Reads `bytes` in every format, and in the one that is found out.
pub fn any(bytes: &[u8]) {
    for format in FORMATS {
        with(format.parser, bytes);
    }
    if let Some(guess) = detect(bytes) {
        assert!((0.0..=1.0).contains(&guess.confidence) && guess.confidence > 0.0);
        assert!(guess.runner_up.is_none_or(|(_, next)| next <= guess.confidence));
        assert!(guess.fitting <= guess.lines);
    }
}

/// Reads the lines of `bytes` by the pattern in its first one.
pub fn pattern(bytes: &[u8]) {
    let (first, rest) = whole_lines(&bytes[..bytes.len().min(1 << 16)]);
    let first = first.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let Ok(pattern) = Pattern::new(&String::from_utf8_lossy(first)) else { return };
    with(|| pattern.parser(), bytes);
    with(|| pattern.parser(), rest);
}

/// Whole or in parts, by one reader or its forks, a log gives the same.
fn with(parser: impl Fn() -> Box<dyn Parse>, bytes: &[u8]) {
    let mut whole = Vec::new();
    let mut reader = Reader::new(parser());
    reader.block(bytes, |record| {
        fit(record);
        whole.push(record.clone().into_owned());
    });
    let tally = reader.finish();
    assert_eq!(tally.lines, tally.records + tally.skipped + tally.rejects());
    assert_eq!(tally.records, whole.len() as u64);

    let mut parts = whole.iter();
    let mut reader = Reader::new(parser());
    let mut input = std::io::BufReader::with_capacity(16, bytes);
    reader
        .input(&mut input, |record| assert_eq!(parts.next(), Some(record)))
        .expect("reading from memory cannot fail");
    assert_eq!((parts.next(), reader.finish()), (None, tally.clone()));

    let input = Box::new(std::io::BufReader::with_capacity(64, bytes));
    let mut chunks = Chunks::new(parser(), input, "site", CHUNK, Intake::default());
    let (mut count, mut last_us) = (0, i64::MIN);
    loop {
        let asks = chunks.advance().expect("reading from memory cannot fail");
        if asks.is_empty() {
            break;
        }
        assert!(asks.len() <= CHUNK && asks.is_sorted_by_key(|ask| ask.at_us));
        assert!(asks[0].at_us >= last_us, "chunks follow each other");
        last_us = asks[asks.len() - 1].at_us;
        count += asks.len();
    }
    let (intake, found) = chunks.finish();
    assert_eq!((count, found), (whole.len(), tally));
    assert!(whole.iter().all(|record| intake.clients.find(record.client.as_bytes()).is_some()));
    assert!(intake.targets.len() <= whole.len());
}
