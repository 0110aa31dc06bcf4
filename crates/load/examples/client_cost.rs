//! What a request costs the client: `cost [REQUESTS] [BODY_BYTES] [SESSIONS] [PER_SESSION]`.
//!
//! Plays a made-up plan against a minimal server in threads of this process and prints the
//! processor time of the client's thread alone, per request, from the kernel's own statistics.

use load::{Options, replay};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use workload::{Builder, Clock, Pick, Plan, Shape, format, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<usize> =
        std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let word = |place: usize, usual| words.get(place).copied().unwrap_or(usual);
    let (requests, body_bytes) = (word(0, 100_000), word(1, 1500));
    let (sessions, per_session) = (word(2, 64), word(3, 1_000_000).max(1));

    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let mut reply = format!(
        "HTTP/1.1 200 OK\r\nServer: cost\r\nContent-Type: text/plain\r\n\
         Cache-Status: cost; hit\r\nContent-Length: {body_bytes}\r\n\r\n"
    )
    .into_bytes();
    reply.resize(reply.len() + body_bytes, b'x');
    let reply = Arc::new(reply);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let reply = Arc::clone(&reply);
            std::thread::spawn(move || {
                // A request fits into one read: the client sends one at a time.
                let mut head = [0; 4096];
                while matches!(stream.read(&mut head), Ok(1..)) {
                    if stream.write_all(&reply).is_err() {
                        return;
                    }
                }
            });
        }
    });

    let mut text =
        String::from("#baton-trace/1\tat_ms\tclient\tmethod\tstatus\tbytes\tsite\tsize\turl\n");
    let clients = (requests / per_session).max(sessions);
    for number in 0..requests {
        let (client, url) = (number % clients, number % 1000);
        text += &format!("0\t{client}\tGET\t200\t1\tcost\t{body_bytes}\t/target/{url}.html\n");
    }
    let mut builder = Builder::new(Clock::Kept);
    let mut full = Ok(());
    read(format("baton").ok_or("no such format")?, text.as_bytes(), |record| {
        full = full.and_then(|()| builder.push("", record));
    })?;
    full?;
    let plan = Arc::new(Plan::new(builder.finish(), Pick::All, Shape::default()));

    let options = Options { sessions, verify_size: true, ..Options::new(address) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let before_ns = thread_ns()?;
    let report = runtime.block_on(replay(plan, options, |_| {}, std::future::pending()));
    let cost_us = (thread_ns()? - before_ns) as f64 / 1000.0 / report.planned as f64;
    println!(
        "{cost_us:.2} us of processor a request; {} answered, {} failed, {} connections, \
         {:.0} a second, p50 {:.3} ms, p99 {:.3} ms",
        report.answered,
        report.failures(),
        report.connections,
        report.throughput_rps(),
        report.latency_ms(0.5),
        report.latency_ms(0.99),
    );
    for failure in &report.examples {
        println!("  {}: {} ({})", failure.cause, failure.target, failure.detail);
    }
    Ok(())
}

/// Nanoseconds that this thread has run.
fn thread_ns() -> Result<u64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().ok_or("no schedstat")?.parse()?)
}
