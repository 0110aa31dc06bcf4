//! Folds logs onto one day: `fold OUT SITE=LOG[.zst]...`, the command that made the shipped trace.
//!
//! Counted requests only, clients as numbers, URLs under pseudonyms. The output is plain text;
//! its figures go to standard output.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use workload::{Builder, Clock, Pseudonyms, Statistics, detect, read};

/// Bytes by which a format is recognised.
const SAMPLE_BYTES: u64 = 16 * 1024;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let out = words.next().ok_or("usage: fold OUT SITE=LOG[.zst]...")?;
    let mut builder = Builder::new(Clock::Folded).counted_only();
    let mut names = Pseudonyms::default();
    for word in words {
        let (site, path) = word.split_once('=').ok_or("expected SITE=LOG")?;
        let mut sample = Vec::new();
        open(path)?.take(SAMPLE_BYTES).read_to_end(&mut sample)?;
        let guess = detect(&sample).ok_or("no format knows these lines")?;
        let (format, sure) = (guess.format, (guess.confidence * 100.0).round());
        let mut full = Ok(());
        let tally = read(format, open(path)?, |record| {
            if !record.counted() {
                return;
            }
            let mut record = record.clone();
            record.url = names.url(&record.url).into();
            full = full.and_then(|()| builder.push(site, &record));
        })?;
        full?;
        println!("{site}: {} ({sure} % sure), {} records", format.name, tally.records);
        for reject in &tally.examples {
            println!("  line {}: {}: {}", reject.line, reject.cause, reject.excerpt);
        }
    }
    let trace = builder.finish();
    let mut file = BufWriter::new(File::create(&out)?);
    trace.write(&mut file)?;
    file.flush()?;
    println!("{} values replaced", names.count());
    for site in 0..=trace.sites.len() {
        let site = u16::try_from(site).ok().filter(|site| usize::from(*site) < trace.sites.len());
        let name = site.map_or("all", |site| &trace.sites[usize::from(site)]);
        println!("{name}: {:#?}", Statistics::of(&trace, site));
    }
    Ok(())
}

fn open(path: &str) -> std::io::Result<Box<dyn BufRead>> {
    let file = File::open(path)?;
    Ok(if path.ends_with(".zst") {
        Box::new(BufReader::new(zstd::Decoder::new(file)?))
    } else {
        Box::new(BufReader::new(file))
    })
}
