//! How busy each component was over time: a sample for every interval, the last hour's worth kept.

use crate::reading::{Reading, ratio};
use core::time::Duration;
use model::cost::NETWORK_BITS_S;
use policy::Instant;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Samples kept: an hour of one a second. The oldest goes when another comes.
pub const SAMPLES_MAX: usize = 3_600;

/// What happened between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Real seconds from the start to the end of the interval.
    pub at_s: f64,
    /// Its length in real seconds: longer than was asked for where the machine was late.
    pub span_s: f64,
    /// The busy share of the CPU, 0 to 1.
    pub cpu: f64,
    /// The share of the time in which the CPU had work, in the real mode: beyond `cpu` it waited
    /// for other programs of the machine.
    pub occupied: Option<f64>,
    /// The busy share of the disks, on average.
    pub disk: f64,
    /// Reads waiting for disks or being served by them, on average.
    pub disk_queue: f64,
    /// Bytes of content given to the network.
    pub out_bytes: u64,
    /// These as a share of [`NETWORK_BITS_S`] in the model's time. No model of the network holds
    /// them back, so it may exceed 1. None where time does not pass (a scale of 0).
    pub network: Option<f64>,
    /// Requests for content.
    pub requests: u64,
    /// Those answered to the end.
    pub finished: u64,
    /// Those answered from the cache.
    pub hits: u64,
    /// Those read from the disk for the cache.
    pub misses: u64,
    /// Those that joined a read under way.
    pub coalesced: u64,
    /// Those past the cache.
    pub bypassed: u64,
    /// Requests in progress at the end.
    pub active: usize,
    /// Connections open at the end.
    pub connections: usize,
}

/// The columns of [`Usage::csv`].
pub const COLUMNS: &str = "name,at_s,span_s,cpu,occupied,disk,disk_queue,network,out_bytes,\
    requests,finished,hits,misses,coalesced,bypassed,hit_ratio,active,connections";

impl Sample {
    pub(crate) fn between(before: &Reading, after: &Reading, time_scale: f64) -> Self {
        let (old, new) = (&before.counts, &after.counts);
        let out_bytes = after.out_bytes - before.out_bytes;
        let span = after.real.since(before.real);
        let could_bits = span.as_secs_f64() / time_scale * NETWORK_BITS_S as f64;
        let shares = after.shares_since(before);
        Self {
            at_s: after.real.since(Instant::ZERO).as_secs_f64(),
            span_s: span.as_secs_f64(),
            cpu: shares.cpu,
            occupied: shares.occupied,
            disk: shares.disk,
            disk_queue: shares.disk_queue,
            out_bytes,
            network: (time_scale > 0.0).then(|| out_bytes as f64 * 8.0 / could_bits),
            requests: new.requests - old.requests,
            finished: new.finished - old.finished,
            hits: new.hits - old.hits,
            misses: new.misses - old.misses,
            coalesced: new.coalesced - old.coalesced,
            bypassed: new.bypassed - old.bypassed,
            active: after.active,
            connections: after.connections,
        }
    }

    /// The share of the requests that the cache answered; none without requests.
    pub fn hit_ratio(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.hits as f64 / self.requests as f64)
    }

    fn json(&self) -> Value {
        json!({
            "at_s": rounded(self.at_s),
            "span_s": rounded(self.span_s),
            "cpu": rounded(self.cpu),
            "occupied": self.occupied.map(rounded),
            "disk": rounded(self.disk),
            "disk_queue": rounded(self.disk_queue),
            "network": self.network.map(rounded),
            "out_bytes": self.out_bytes,
            "requests": self.requests,
            "finished": self.finished,
            "hits": self.hits,
            "misses": self.misses,
            "coalesced": self.coalesced,
            "bypassed": self.bypassed,
            "hit_ratio": self.hit_ratio().map(rounded),
            "active": self.active,
            "connections": self.connections,
        })
    }

    fn row(&self, name: &str, out: &mut String) {
        let perhaps = |share: Option<f64>| share.map_or(String::new(), |s| format!("{s:.6}"));
        let Self { at_s, span_s, cpu, disk, disk_queue, out_bytes, requests, finished, .. } = self;
        let Self { hits, misses, coalesced, bypassed, active, connections, .. } = self;
        let (network, hit_ratio) = (perhaps(self.network), perhaps(self.hit_ratio()));
        let occupied = perhaps(self.occupied);
        out.push_str(name);
        out.push_str(&format!(
            ",{at_s:.6},{span_s:.6},{cpu:.6},{occupied},{disk:.6},{disk_queue:.6}"
        ));
        out.push_str(&format!(",{network},{out_bytes},{requests},{finished},{hits},{misses}"));
        out.push_str(&format!(",{coalesced},{bypassed},{hit_ratio},{active},{connections}\n"));
    }
}

/// Six digits behind the point: microseconds, and more than a share is worth.
fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// The samples of an origin; a handle that may outlive it.
#[derive(Clone, Debug)]
pub struct Usage(Arc<Mutex<Ring>>);

#[derive(Debug)]
struct Ring {
    name: String,
    samples: VecDeque<Sample>,
}

impl Usage {
    pub(crate) fn new(name: &str) -> Self {
        Self(Arc::new(Mutex::new(Ring { name: name.to_owned(), samples: VecDeque::new() })))
    }

    pub(crate) fn push(&self, sample: Sample) {
        let mut ring = self.ring();
        if ring.samples.len() == SAMPLES_MAX {
            ring.samples.pop_front();
        }
        ring.samples.push_back(sample);
    }

    /// The samples, oldest first.
    pub fn samples(&self) -> Vec<Sample> {
        self.ring().samples.iter().copied().collect()
    }

    /// The same as lines of CSV without the line of [`COLUMNS`], each with the origin's name first.
    pub fn csv(&self) -> String {
        let ring = self.ring();
        let name = match ring.name.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", ring.name.replace('"', "\"\"")),
            false => ring.name.clone(),
        };
        let mut out = String::new();
        ring.samples.iter().for_each(|sample| sample.row(&name, &mut out));
        out
    }

    pub(crate) fn json(&self, period: Duration, time_scale: f64, real: bool) -> Value {
        let ring = self.ring();
        json!({
            "name": ring.name,
            "sample_seconds": period.as_secs_f64(),
            "time_scale": time_scale,
            "real": real,
            "samples": ring.samples.iter().map(Sample::json).collect::<Vec<_>>(),
        })
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        // Whoever panicked with it left whole samples.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Three shares between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shares {
    pub(crate) cpu: f64,
    pub(crate) occupied: Option<f64>,
    pub(crate) disk: f64,
    pub(crate) disk_queue: f64,
}

impl Reading {
    /// How busy it was since an earlier moment.
    pub(crate) fn shares_since(&self, before: &Self) -> Shares {
        let span = self.passed.saturating_sub(before.passed);
        let share = |new: Duration, old: Duration| ratio(new.saturating_sub(old), span);
        Shares {
            cpu: share(self.cpu_busy, before.cpu_busy),
            occupied: self
                .cpu_occupied
                .map(|occupied| share(occupied, before.cpu_occupied.unwrap_or_default())),
            disk: share(self.disk_busy, before.disk_busy),
            disk_queue: share(self.disk_inside, before.disk_inside),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_samples_go_when_the_ring_is_full() {
        let usage = Usage::new("a");
        for at in 0..SAMPLES_MAX + 10 {
            usage.push(Sample { at_s: at as f64, ..Sample::default() });
        }
        let samples = usage.samples();
        assert_eq!((samples.len(), samples[0].at_s), (SAMPLES_MAX, 10.0));
    }

    #[test]
    fn every_line_has_as_many_fields_as_there_are_columns_and_names_are_quoted() {
        let usage = Usage::new("a");
        usage.push(Sample { requests: 4, hits: 1, network: Some(0.5), ..Sample::default() });
        usage.push(Sample::default());
        let text = usage.csv();
        let fields: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        let columns: Vec<&str> = COLUMNS.split(',').collect();
        assert!(fields.iter().all(|line| line.len() == columns.len()), "{text}");
        let at = |name| columns.iter().position(|column| *column == name).unwrap();
        assert_eq!(
            (fields[0][at("hit_ratio")], fields[0][at("network")]),
            ("0.250000", "0.500000")
        );
        assert_eq!((fields[1][at("hit_ratio")], fields[1][at("network")]), ("", ""));
        let odd = Usage::new("a,\"b\"");
        odd.push(Sample::default());
        assert!(odd.csv().starts_with("\"a,\"\"b\"\"\",0.000000,"));
    }

    #[test]
    fn a_sample_is_what_changed_over_the_time_that_passed() {
        let (ms, before) = (Duration::from_millis, Reading::default());
        let after = Reading {
            real: Instant::ZERO.plus(ms(500)),
            passed: ms(1000),
            cpu_busy: ms(250),
            disk_busy: ms(1000),
            disk_inside: ms(3000),
            out_bytes: 1_250_000,
            ..Reading::default()
        };
        let sample = Sample::between(&before, &after, 0.5);
        assert_eq!((sample.cpu, sample.disk, sample.disk_queue), (0.25, 1.0, 3.0));
        // 10 Mbit in a second of the model, which has 100 Mbit/s.
        assert_eq!(sample.network, Some(0.1));
        assert_eq!(Sample::between(&before, &after, 0.0).network, None);
    }
}
