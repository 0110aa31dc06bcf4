//! The packets of one connection as a sequence diagram: who sends what to whom, with sequence
//! numbers counted from the connection's beginning, as textbooks draw it (Stevens, *TCP/IP
//! Illustrated*, volume 1). First as values, then as text; `picture` draws the same.

use super::capture::Sent;
use super::site::ENVELOPE_PORT;
use super::trace::{Flags, Kind, Mac, Packet, decode};
use serde::Serialize;
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use testbed::{Host, Plan};

/// Requests of the connection that are drawn: handed over, moved on, stayed.
const REQUESTS_MAX: usize = 3;
/// Packets that are drawn at most.
const STEPS_MAX: usize = 60;
/// Columns from one machine's line to the next.
const LANE_COLUMNS: usize = 13;
/// Columns before the first machine's line.
const TIME_COLUMNS: usize = 12;

/// A packet on its way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Microseconds since the connection's first packet.
    pub us: f64,
    /// The machine that sent it.
    pub from: String,
    /// The machine it was sent to.
    pub to: String,
    /// What the envelope around it is for, if it is in one: `HANDOFF`, `QUERY`, `RELEASED`.
    pub envelope: Option<&'static str>,
    /// The flags that are set.
    pub flags: String,
    /// The first byte's place in its stream, from 0 (the SYN).
    pub seq: u32,
    /// The place of the byte that is expected next; `None` without ACK.
    pub ack: Option<u32>,
    /// Bytes of payload.
    pub payload_bytes: u32,
    /// The first line of a request or reply that begins in it.
    pub line: Option<String>,
}

impl Step {
    /// What is written beside the arrow.
    pub(super) fn words(&self) -> String {
        let mut text = format!("{} seq {}", self.flags, self.seq);
        if let Some(ack) = self.ack {
            write!(text, " ack {ack}").expect("a string takes all");
        }
        if self.payload_bytes > 0 {
            write!(text, " len {}", self.payload_bytes).expect("a string takes all");
        }
        // Whose version it is of goes without saying.
        let line = self.line.as_deref().map(|line| line.trim_end_matches(" HTTP/1.1"));
        line.map_or(text.clone(), |line| format!("{text}  {line}"))
    }
}

/// The part of a connection that is drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sequence {
    /// Its packets, in the order in which they were sent.
    pub steps: Vec<Step>,
    /// Packets of the connection that follow and are not drawn.
    pub more: usize,
}

impl Sequence {
    /// Of the connection between `client` and `vip`, in all that was sent.
    pub(super) fn of(sent: &[Sent], plan: &Plan, client: SocketAddr, vip: SocketAddr) -> Self {
        let ours = |packet: &Packet| {
            let ends = (packet.source, packet.destination);
            ends == (client, vip) || ends == (vip, client)
        };
        let read = |sent: &Sent| {
            Some((sent.from, sent.frame.at_ns, decode(&sent.frame.bytes, ENVELOPE_PORT)?))
        };
        let packets: Vec<(Host, u64, Packet)> =
            sent.iter().filter_map(read).filter(|(_, _, packet)| ours(packet)).collect();
        let mut drawer = Drawer {
            plan,
            vip,
            began_ns: packets.first().map_or(0, |one| one.1),
            first: [None; 2],
        };
        let mut steps = Vec::new();
        let mut requests = 0;
        for (from, at_ns, packet) in &packets {
            let begins = *from == Host::Client && packet.line.is_some();
            requests += usize::from(begins);
            if requests > REQUESTS_MAX || steps.len() == STEPS_MAX {
                break;
            }
            steps.push(drawer.step(*from, *at_ns, packet));
        }
        Self { more: packets.len() - steps.len(), steps }
    }

    /// The machines that take part, from left to right.
    pub(super) fn machines(&self) -> Vec<&str> {
        let mut servers: Vec<&str> = Vec::new();
        for step in &self.steps {
            for name in [step.from.as_str(), step.to.as_str()] {
                let is_new = !servers.contains(&name) && name.starts_with("server");
                servers.extend(is_new.then_some(name));
            }
        }
        servers.sort_unstable();
        ["client", "front"].into_iter().chain(servers).collect()
    }

    /// The diagram as text, a line for each packet.
    pub fn text(&self) -> String {
        let machines = self.machines();
        let width = TIME_COLUMNS + (machines.len() - 1) * LANE_COLUMNS + 2;
        let mut heading = format!("{:>width$}", "us", width = TIME_COLUMNS - 4);
        for (at, name) in machines.iter().enumerate() {
            let begins = (TIME_COLUMNS + at * LANE_COLUMNS).saturating_sub(name.len() / 2);
            heading = format!("{heading:<begins$}{name}");
        }
        let mut out = heading + "\n";
        for step in &self.steps {
            let arrow = arrow(step, &machines);
            let line = format!("{:>8.0}    {arrow}", step.us);
            writeln!(out, "{line:<width$} {}", step.words()).expect("a string takes all");
        }
        if self.more > 0 {
            writeln!(out, "... and {} packets more", self.more).expect("a string takes all");
        }
        out
    }
}

/// The machines' lines with an arrow from one to another, and the envelope's name on it.
fn arrow(step: &Step, machines: &[&str]) -> String {
    let mut row = vec![' '; (machines.len() - 1) * LANE_COLUMNS + 1];
    row.iter_mut().step_by(LANE_COLUMNS).for_each(|column| *column = '|');
    let place = |name: &str| machines.iter().position(|machine| *machine == name);
    let (Some(from), Some(to)) = (place(&step.from), place(&step.to)) else {
        return row.into_iter().collect();
    };
    let (left, right) = (from.min(to) * LANE_COLUMNS, from.max(to) * LANE_COLUMNS);
    if left == right {
        return row.into_iter().collect();
    }
    let line = if step.envelope.is_some() { '=' } else { '-' };
    row[left + 1..right].fill(line);
    row[if from < to { right - 1 } else { left + 1 }] = if from < to { '>' } else { '<' };
    let name = step.envelope.unwrap_or_default();
    let begins = left + 1 + (right - left - 1 - name.len()) / 2;
    row.splice(begins..begins + name.len(), name.chars());
    row.into_iter().collect()
}

/// Turns packets into steps, remembering where both streams began.
struct Drawer<'a> {
    plan: &'a Plan,
    vip: SocketAddr,
    began_ns: u64,
    /// The first sequence number of the client's stream and of the other one.
    first: [Option<u32>; 2],
}

impl Drawer<'_> {
    fn step(&mut self, from: Host, at_ns: u64, packet: &Packet) -> Step {
        let theirs = usize::from(packet.source == self.vip);
        let first = *self.first[theirs].get_or_insert(packet.seq);
        let acknowledged = self.first[1 - theirs].unwrap_or(packet.ack);
        let has_ack = packet.flags.has(Flags::ACK);
        Step {
            us: at_ns.saturating_sub(self.began_ns) as f64 / 1000.0,
            from: from.to_string(),
            to: self.receiver(from, packet).to_string(),
            envelope: packet.envelope.filter(|kind| *kind != Kind::Plain).map(Kind::name),
            flags: packet.flags.words(),
            seq: packet.seq.wrapping_sub(first),
            ack: has_ack.then(|| packet.ack.wrapping_sub(acknowledged)),
            payload_bytes: packet.payload_bytes,
            line: packet.line.clone(),
        }
    }

    /// Who gets it: the machine of the outer address. All have the virtual one: it is the
    /// front-end, unless the frame goes to another of the neighbours.
    fn receiver(&self, from: Host, packet: &Packet) -> Host {
        let hosts = self.plan.hosts();
        let has = |host: &&Host| {
            self.plan.address(**host).is_some_and(|both| both.each().contains(&packet.to))
        };
        let named = |host: &&Host| self.plan.mac(**host) == Some(in_words(packet.to_mac));
        let is_vip = |address: IpAddr| self.plan.vip().each().contains(&address);
        let found = match is_vip(packet.to) {
            true => hosts.iter().filter(|host| **host != Host::Router).find(named),
            false => hosts.iter().find(has),
        };
        found.copied().unwrap_or(if from == Host::Front { Host::Client } else { Host::Front })
    }
}

/// An Ethernet address as `ip` writes it.
fn in_words(mac: Mac) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(from: &str, to: &str, envelope: Option<&'static str>) -> Step {
        Step {
            us: 12.4,
            from: from.to_owned(),
            to: to.to_owned(),
            envelope,
            flags: "PSH ACK".to_owned(),
            seq: 1,
            ack: Some(7),
            payload_bytes: 70,
            line: Some("GET /a HTTP/1.1".to_owned()),
        }
    }

    #[test]
    fn each_packet_is_an_arrow_from_its_sender_to_its_receiver() {
        let steps = vec![
            step("client", "front", None),
            step("front", "server2", Some("HANDOFF")),
            step("server1", "front", Some("RELEASED")),
            step("server2", "client", None),
        ];
        let sequence = Sequence { steps, more: 3 };
        let expected = "      us client        front       server1      server2
      12    |----------->|            |            |  PSH ACK seq 1 ack 7 len 70  GET /a
      12    |            |=========HANDOFF========>|  PSH ACK seq 1 ack 7 len 70  GET /a
      12    |            |<=RELEASED==|            |  PSH ACK seq 1 ack 7 len 70  GET /a
      12    |<-------------------------------------|  PSH ACK seq 1 ack 7 len 70  GET /a
... and 3 packets more
";
        assert_eq!(sequence.text(), expected, "\n{}", sequence.text());
    }
}
