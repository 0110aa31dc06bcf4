//! An emulated server reports its load as an agent does: the agent's own client understands it.

use agent::LoadReport;
use agent::client::fetch_load;
use origin::{Config, Origin};
use policy::Instant;
use std::net::TcpStream;
use std::time::Duration;

/// What a relay that keeps its connections leaves open at a server.
const IDLE: u32 = 40;

/// No answer takes longer, or the test fails.
const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn the_client_of_agents_reads_the_load_of_an_origin() {
    let config = Config {
        name: "web1".into(),
        agent: true,
        report_period: Duration::from_millis(20),
        ..Config::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    let (report, crowded): (LoadReport, LoadReport) = local.block_on(&runtime, async {
        let origin = Origin::bind(config).unwrap();
        let address = origin.addr().to_string();
        let serving = tokio::task::spawn_local(origin.serve(std::future::pending()));
        let first = until(&address, |report| report.period_s > 0.0).await;
        let idle: Vec<TcpStream> =
            (0..IDLE).map(|_| TcpStream::connect(&address).unwrap()).collect();
        let crowded = until(&address, |report| report.established > Some(IDLE)).await;
        drop(idle);
        serving.abort();
        (first, crowded)
    });
    assert_eq!(report.server, "web1");
    assert!(report.healthy && report.uptime_s.is_some(), "{report:?}");
    assert_eq!((report.disk_busy, report.disk_queue), (Some(0.0), Some(0.0)));
    assert!(report.cpu_busy.is_some_and(|share| (0.0..=1.0).contains(&share)), "{report:?}");
    assert_eq!((report.accept_queue, report.established), (Some(0), Some(1)));
    assert!(report.accept_backlog.is_some_and(|places| places > 0));
    // A switch can tell a policy of it.
    let told = report.report(Instant(7)).unwrap();
    assert_eq!((told.at, told.active, told.disk_queue), (Instant(7), 0, 0));
    // Connections that nobody asks anything on are no load.
    assert_eq!((crowded.established, crowded.active), (Some(IDLE + 1), Some(0)));
    assert_eq!(crowded.report(Instant(8)).unwrap().active, 0);
    // Who does not count requests has connections stand for them.
    let counts_none = LoadReport { active: None, ..crowded };
    assert_eq!(counts_none.report(Instant(9)).unwrap().active, IDLE + 1);
}

/// Asks until the answer is as wanted.
async fn until(address: &str, mut wanted: impl FnMut(&LoadReport) -> bool) -> LoadReport {
    let asking = async {
        loop {
            let report = fetch_load(address, LIMIT).await.expect("an answer");
            if wanted(&report) {
                return report;
            }
        }
    };
    tokio::time::timeout(LIMIT, asking).await.expect("as wanted, in time")
}
