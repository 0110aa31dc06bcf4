//! Bytes by chance, most of them close to what makes sense: nothing that comes from a network may
//! make a program do what it was not made for.

use crate::chance::Chance;
use crate::segment::{
    ACK, FIN, KEY, Letter, PORT, PSH, RST, SYN, Segment, TRACK, mss, sack, usual_stamps,
};
use crate::stage::{DROPPED, MULTI, NOT_OURS, REDIRECTED, Stage, UP_THE_STACK, get};
use handoff::{Back, Delivery, Site, Trial, Tried};
use std::net::SocketAddr;
use testbed::{Host, TestBed};

/// Packets for each program.
pub const PACKETS: usize = 100_000;

/// What marks packets that a program sends to itself; the network cannot, but others may.
const MARKS: [u32; 6] =
    [0, 1, 0xba70_0001, 0xba70_0002, crate::stage::MARK_RELAY, crate::stage::MARK_RELAY + 1];

/// A client's packet or an envelope, sealed as it should be, with some of it changed.
fn packet(chance: &mut Chance, bed: &TestBed, known: &[Segment]) -> Vec<u8> {
    let way = usize::from(chance.one_in(2));
    let address = ["10.77.0.200", "fd77::200"][way].parse().unwrap();
    let client = SocketAddr::new(address, 1000 + u16::from(chance.byte()));
    let mut segment = Segment::new(client, bed.vip().at(MULTI)[way]);
    if chance.one_in(2) {
        segment = known[chance.below(known.len())].clone();
    }
    segment.flags = *chance.of(&[&ACK, &SYN, &(ACK | PSH), &(ACK | FIN), &RST, &(SYN | FIN), &255]);
    if chance.one_in(2) {
        segment = segment.with([mss(1460), sack(), usual_stamps(1, 2)]);
    }
    if chance.one_in(2) {
        segment.payload = get("/known");
    }
    if chance.one_in(8) {
        segment.payload = (0..chance.below(1400)).map(|_| chance.byte()).collect();
    }
    if chance.one_in(8) {
        segment.seq = segment.seq.wrapping_add(u32::from(chance.byte()));
    }
    let mut frame = if chance.one_in(3) { segment.refused_by_router() } else { segment.frame() };
    if chance.one_in(2) {
        let (front, server) = (bed.address(Host::Front), bed.server(1));
        let letter = Letter::around(&segment, front.v4.into(), server.v4.into())
            .kind(chance.byte() % 8)
            .flags(TRACK | (chance.byte() % 8));
        let connection = if chance.one_in(2) { known[0].seq } else { segment.seq };
        frame = letter.of(connection).frame();
    }
    for _ in 0..chance.below(4) {
        // Headers more often than what they carry.
        let bound = if chance.one_in(2) { frame.len() } else { frame.len().min(100) };
        frame[12 + chance.below(bound - 12)] = chance.byte();
    }
    if chance.one_in(8) {
        frame.truncate(54 + chance.below(frame.len() - 53));
    }
    frame
}

fn sane(number: usize, frame: &[u8], tried: Result<Tried, handoff::Error>) -> i32 {
    let tried = tried.unwrap_or_else(|why| panic!("packet {number}: {why}\n{frame:02x?}"));
    let may = [NOT_OURS, UP_THE_STACK, DROPPED, REDIRECTED];
    assert!(may.contains(&tried.verdict), "packet {number}: {}\n{frame:02x?}", tried.verdict);
    if matches!(tried.verdict, NOT_OURS) {
        assert_eq!(tried.frame, frame, "packet {number} is not ours and was changed");
    }
    tried.verdict
}

/// Shows both programs as many packets; how often each had which verdict.
pub fn both(t: &Stage<'_>, pins: &std::path::Path) {
    t.knows("/known", 0);
    let mut known = vec![];
    for _ in 0..8 {
        let (client, first) = t.handed(MULTI);
        known.extend([first, client.acks(), client.says(get("/other"))]);
    }
    let mut chance = Chance(0xf022);
    let mut verdicts = std::collections::BTreeMap::new();
    for number in 0..PACKETS {
        let frame = packet(&mut chance, t.bed, &known);
        let mark = MARKS[if chance.one_in(4) { chance.below(MARKS.len()) } else { 0 }];
        let ifindex = if chance.one_in(8) { t.tap } else { t.interface };
        let trial = Trial { mark, ..Trial::new(&frame, ifindex) };
        let verdict = sane(number, &frame, t.front.try_packet(&trial));
        *verdicts.entry(("front", verdict)).or_insert(0) += 1;
    }
    let site = Site { key: KEY, port: PORT, routed: false, mtu: 1500 };
    let back = Back::open(&site, pins).unwrap();
    for vip in t.bed.vip().at(MULTI) {
        back.listen(vip, Some(Delivery::Multi), 80, 8080).unwrap();
    }
    for number in 0..PACKETS {
        let frame = packet(&mut chance, t.bed, &known);
        let mark = MARKS[if chance.one_in(4) { chance.below(MARKS.len()) } else { 0 }];
        let trial = Trial { mark, ..Trial::new(&frame, t.interface) };
        let verdict = if chance.one_in(8) {
            sane(number, &frame, back.try_reply(&trial))
        } else {
            sane(number, &frame, back.try_packet(&trial))
        };
        *verdicts.entry(("back", verdict)).or_insert(0) += 1;
    }
    println!("       fuzz       (program, verdict): packets {verdicts:?}");
    // Enough of them got far.
    for far in [("front", REDIRECTED), ("front", DROPPED), ("back", DROPPED)] {
        assert!(verdicts.get(&far).is_some_and(|count| *count > PACKETS / 50), "{verdicts:?}");
    }
}
