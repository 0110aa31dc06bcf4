//! Method: texts as kernels wrote them, in pairs whose difference was worked out by hand; then
//! texts that no kernel writes, which are missing and named, never a panic.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

mod made_up;

use agent::host::Connection;
use agent::sample::{Accept, Cpu, Reading, between, cpu, disks, load_average, read, uptime};
use made_up::MadeUp;
use proptest::prelude::*;

const STAT: &str = "\
cpu  4705 356 584 3699176 23060 10 277 5 0 0
cpu0 1393 178 292 1849588 11530 5 139 2 0 0
intr 114930548 113199788
ctxt 1990473
";

const DISKSTATS: &str = "\
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 3911157 110955 121172066 5643320 367505 627303 297993736 1497955 0 289176 \
7232387 445016 148 235811160 86477 14288 4633
 254       1 vda1 3911000 110955 121172066 5643320 367505 627303 297993736 1497955 0 289176 7232387
   8       0 sda 10 0 10 10 0 0 0 0 2 1000 4294967000
   8       1 sda1 9 0 10 10 0 0 0 0 2 1000 4294967000
 259       0 nvme0n1 1 0 1 1 0 0 0 0 0 1 1
 259       1 nvme0n1p1 1 0 1 1 0 0 0 0 0 1 1
 259       2 nvme0n10 1 0 1 1 0 0 0 0 0 1 1
 252       0 dm-0 1 0 1 1 0 0 0 0 0 1 1
  65     160 sdaa 1 0 1 1 0 0 0 0 0 1 1
";

#[test]
fn the_processors_time_is_read_without_counting_guests_twice() {
    let expected = Cpu { busy: 4705 + 356 + 584 + 10 + 277 + 5, idle: 3_699_176 + 23_060 };
    assert_eq!(cpu(STAT), Some(expected));
    assert_eq!(cpu("cpu  1 2 3 4\n"), Some(Cpu { busy: 6, idle: 4 }), "before Linux 2.6");
    for odd in ["", "cpu0 1 2 3 4 5\n", "cpu  1 2 3\n", "cpu  1 2 x 4 5\n", "cpu  -1 2 3 4\n"] {
        assert_eq!(cpu(odd), None, "{odd:?}");
    }
}

#[test]
fn whole_disks_alone_are_disks() {
    let found = disks(DISKSTATS).unwrap();
    let names: Vec<&str> = found.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names, ["vda", "sda", "nvme0n1", "nvme0n10", "sdaa"]);
    assert_eq!((found[0].busy_ms, found[0].weighted_ms), (289_176, 7_232_387));
    assert_eq!(disks(""), Some(vec![]), "a host may have none");
    assert_eq!(disks("8 0 sda 1 2\n"), None);
}

#[test]
fn shares_and_queues_are_those_of_the_time_between_two_readings() {
    let at = |s: f64, busy, idle, disk: &str| Reading {
        uptime_s: Some(s),
        cpu: Some(Cpu { busy, idle }),
        disks: disks(disk),
        ..Reading::default()
    };
    let sda = |busy: u64, weighted: u64| {
        format!("8 0 sda 0 0 0 0 0 0 0 0 2 {busy} {weighted}\n8 16 sdb 0 0 0 0 0 0 0 0 0 0 100\n")
    };
    let earlier = at(100.0, 1000, 3000, &sda(1000, 4_294_967_000));
    // Two seconds: half of them busy, three requests on average; the counter has begun again.
    let later = at(102.0, 1030, 3090, &sda(2000, 4_294_967_000 + 6000));
    let rates = between(&earlier, &later);
    assert_eq!(rates.period_s, 2.0);
    assert_eq!(rates.cpu_busy, Some(0.25));
    assert_eq!(rates.disk_busy, Some(0.5));
    assert_eq!(rates.disk_queue, Some(3.0));
    let wrapped = at(102.0, 1030, 3090, &sda(2000, 6000 - 296));
    assert_eq!(between(&earlier, &wrapped).disk_queue, Some(3.0), "2^32 - 296 + 6000 - 2^32");
}

#[test]
fn where_no_time_passed_there_are_no_shares() {
    let reading = Reading { uptime_s: Some(5.0), cpu: cpu(STAT), ..Reading::default() };
    let rates = between(&reading, &reading);
    assert_eq!((rates.period_s, rates.cpu_busy, rates.disk_busy), (0.0, None, None));
    let first = between(&Reading::default(), &reading);
    assert_eq!((first.period_s, first.cpu_busy), (0.0, None));
}

#[test]
fn a_disk_that_was_plugged_in_meanwhile_counts_from_the_next_reading() {
    let text = "8 0 sda 0 0 0 0 0 0 0 0 2 90000 90000\n";
    let earlier = Reading { uptime_s: Some(1.0), disks: Some(vec![]), ..Reading::default() };
    let later = Reading { uptime_s: Some(2.0), disks: disks(text), ..Reading::default() };
    assert_eq!(between(&earlier, &later).disk_queue, Some(0.0));
}

fn files() -> MadeUp {
    let host = MadeUp::default();
    host.file("/proc/uptime", "12345.67 23456.78\n").file("/proc/stat", STAT);
    host.file("/proc/diskstats", DISKSTATS).file("/proc/loadavg", "0.50 1.25 2.00 3/412 5123\n");
    host
}

#[test]
fn a_reading_has_everything_there_is() {
    let mut host = files().listener("0.0.0.0:8080", 3, 100).listener("[::]:8080", 1, 50);
    let client = "198.51.100.7:4711".parse().unwrap();
    for (port, state) in [(80, 1), (80, 8), (8080, 1), (81, 1)] {
        let local = format!("192.0.2.100:{port}").parse().unwrap();
        host.connections.push(Connection { local, client, state });
    }
    let found = read(&host, 8080, &[80, 8080], &Reading::default());
    assert_eq!(found.unread, [""; 0]);
    assert_eq!(found.uptime_s, Some(12345.67));
    assert_eq!(found.load_average, Some([0.5, 1.25, 2.0]));
    assert_eq!(found.accept, Some(Accept { queue: 4, backlog: 150 }), "both sockets");
    assert_eq!(found.established, Some(2), "established, on both ports, and no other");
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_goes_on() {
    let mut host = files();
    host.forbidden = vec!["/proc/diskstats"];
    host.file("/proc/loadavg", "what is this");
    let found = read(&host, 80, &[80], &Reading::default());
    assert_eq!((found.disks.clone(), found.load_average), (None, None));
    assert!(found.cpu.is_some() && found.uptime_s.is_some() && found.established.is_some());
    assert_eq!(found.unread.len(), 2, "{:?}", found.unread);
    assert!(found.unread[0].contains("/proc/diskstats"));
    assert!(found.unread[1].contains("/proc/loadavg"));
}

#[test]
fn many_connections_are_not_counted_at_every_reading() {
    let host = files();
    let after = |before: &Reading| read(&host, 80, &[80], before);
    let few = Reading { established: Some(9_999), ..Reading::default() };
    assert_eq!(after(&few).established, Some(0), "few are counted each time; now there are none");
    let many = Reading { established: Some(25_000), ..Reading::default() };
    let (first, second) = (after(&many), after(&after(&many)));
    assert_eq!((first.established, second.established), (Some(25_000), Some(25_000)));
    let third = after(&second);
    assert_eq!((third.established, third.counted_ago), (Some(0), 0));
}

proptest! {
    #[test]
    fn no_text_can_panic(text in "\\PC{0,200}", words in "([a-z]{0,4}[0-9]{0,22} ?){0,20}") {
        for text in [&text, &words] {
            let _ = (cpu(text), disks(text), uptime(text), load_average(text));
        }
    }

    #[test]
    fn shares_are_shares_whatever_the_counters_do(
        ticks in prop::array::uniform4(any::<u64>()),
        spans in prop::array::uniform2(0.0f64..1e9),
        ms in prop::array::uniform4(any::<u32>()),
    ) {
        let disk = |busy, weighted| disks(&format!("8 0 sda 0 0 0 0 0 0 0 0 2 {busy} {weighted}"));
        let at = |uptime_s, busy, idle, disks| Reading {
            uptime_s: Some(uptime_s),
            cpu: Some(Cpu { busy, idle }),
            disks,
            ..Reading::default()
        };
        let earlier = at(spans[0], ticks[0], ticks[1], disk(ms[0], ms[1]));
        let later = at(spans[1], ticks[2], ticks[3], disk(ms[2], ms[3]));
        let rates = between(&earlier, &later);
        for share in [rates.cpu_busy, rates.disk_busy].into_iter().flatten() {
            prop_assert!((0.0..=1.0).contains(&share), "{rates:?}");
        }
        prop_assert!(rates.disk_queue.is_none_or(|queue| queue >= 0.0));
    }
}
