//! ONE WAY, shown: a site of network namespaces with unmodified nginx, the switch and its agents on
//! it, and a client whose requests over one connection are answered by different servers.
//!
//! Nothing is emulated: the switch and the agents are processes of this program (`site`), the
//! client checks every byte (`client`), what travelled is captured on the wire (`capture`) and
//! drawn (`sequence`, `picture`), who answered and why is what servers and switch say (`visit`),
//! and bytes and times come from counters and clocks (`costs`).

mod capture;
mod client;
mod costs;
mod pcap;
mod picture;
mod program;
mod report;
mod sequence;
mod site;
mod trace;
mod visit;

pub use costs::Cost;
pub use report::text;
pub use sequence::{Sequence, Step};
pub use trace::{Flags, Kind, Mac, Packet, decode};
pub use visit::{Request, Visit};

use anyhow::{Context, Result};
use capture::{Capture, Sent};
use serde::Serialize;
use site::Site;
use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The sites that are visited: each switch decision about one of them is new to the other.
const ONE_WAY_HOST: &str = "www.example.org";
const RELAY_HOST: &str = "relay.example.org";

/// What to show.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Whether there is a router between client, front-end and servers.
    pub routed: bool,
    /// Whether IPv6 is spoken.
    pub v6: bool,
    /// Requests measured for each way of delivery and each length of reply.
    pub requests: usize,
    /// The folder for configuration, access log, capture and picture: an absolute path.
    pub out: PathBuf,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// How the site was wired.
    pub routed: bool,
    /// Whether it was IPv6.
    pub ipv6: bool,
    /// One connection that was handed over.
    pub one_way: Visit,
    /// The same requests through the relay.
    pub relay: Visit,
    /// The first packets of the first.
    pub sequence: Sequence,
    /// What each way of delivery costs.
    pub costs: Vec<Cost>,
    /// The capture, for Wireshark.
    pub capture: PathBuf,
    /// The diagram as a picture.
    pub picture: PathBuf,
}

/// What is missing on this machine, each with how to get it.
pub fn missing() -> Vec<String> {
    let mut missing = testbed::missing();
    missing.extend(capture::missing().map(str::to_owned));
    missing
}

/// Shows it, and says what goes on. Everything that was started has ended when this returns.
///
/// # Errors
/// When something is missing, does not start, or a reply is not as it should be;
/// [`testbed::Error::Interrupted`] if it was told to stop.
pub fn play(plot: &Plot, stop: &AtomicBool, say: impl Fn(&str)) -> Result<Findings> {
    fs::create_dir_all(&plot.out)
        .with_context(|| format!("cannot make the folder {}", plot.out.display()))?;
    say("making the test bed, with an agent on each server and the switch on the front-end");
    let mut site = Site::up(plot, stop)?;
    say("asking, with every packet captured");
    let capture = Capture::start(&site, stop)?;
    let one_way = visit::visit(&site, site.one_way(), ONE_WAY_HOST, stop)?;
    let relay = visit::visit(&site, site.relay(), RELAY_HOST, stop)?;
    let sent = capture.finish(&site, stop)?;
    say("measuring, without the access log");
    site.stop_logging(stop)?;
    let costs = costs::measure(&site, plot.requests, stop)?;
    let sequence = Sequence::of(&sent, site.bed.plan(), one_way.client, site.one_way());
    let picture = plot.out.join("oneway.svg");
    fs::write(&picture, picture::svg(&sequence))
        .with_context(|| format!("cannot write {}", picture.display()))?;
    let capture = plot.out.join("oneway.pcap");
    write_capture(&capture, &sent)
        .with_context(|| format!("cannot write {}", capture.display()))?;
    let (routed, ipv6) = (plot.routed, plot.v6);
    Ok(Findings { routed, ipv6, one_way, relay, sequence, costs, capture, picture })
}

fn write_capture(path: &Path, sent: &[Sent]) -> std::io::Result<()> {
    let mut file = BufWriter::new(fs::File::create(path)?);
    pcap::write(sent.iter().map(|sent| &sent.frame), &mut file)?;
    file.into_inner()?.sync_data()
}
