//! The admin interface of a made-up switch, to look at its page in a browser:
//! `cargo run -p control --example status_page`, then open the address it prints.

#[path = "../tests/fake/mod.rs"]
mod fake;

use control::{Admin, Bind, Control, EjectionRule, ServerSpec, Supervisor, Switch, Token};
use std::sync::Arc;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const TOKEN: &str = "only-for-looking-at";
    let names = ["ash", "birch", "cedar", "dogwood", "elm"];
    let switch = Arc::new(fake::Fake::new(&names));
    let supervisor = Supervisor::new(switch.clone());
    let spec = |name: &str, checked: bool| ServerSpec {
        name: name.to_owned(),
        address: "127.0.0.1:1".to_owned(),
        check: checked.then(|| control::Check::new(control::Probe::http("/health"))),
        ejection: EjectionRule::default(),
        slow_start: Duration::from_secs(30),
    };
    supervisor.apply(names[..4].iter().map(|name| spec(name, *name == "cedar")).collect());
    supervisor.drain("birch", true)?;
    let feed = supervisor.feed("dogwood").ok_or("dogwood is looked after")?;
    (0..5).for_each(|_| feed.failure());
    supervisor.apply(names.iter().map(|name| spec(name, *name == "cedar")).collect());
    supervisor.set_weight("ash", 2)?;

    let address = "127.0.0.1:0".parse()?;
    let admin = Admin::bind(&Bind::Tcp(address, Token::new(TOKEN)?))?;
    let address = admin.address().ok_or("TCP has an address")?;
    let _control = Control::start(supervisor, vec![admin])?;
    println!("http://me:{TOKEN}@{address}/");
    for second in 0.. {
        std::thread::sleep(Duration::from_millis(500));
        let mut status = switch.status.lock().map_err(|error| error.to_string())?;
        status.requests += 900 + (second * 37) % 400;
        let mut totals = switch.totals.lock().map_err(|error| error.to_string())?;
        let more = fake::histogram(1);
        totals.durations.iter_mut().for_each(|timed| assert!(timed.duration.merge(&more)));
        drop((status, totals));
        let mut servers = switch.servers.lock().map_err(|error| error.to_string())?;
        servers.iter_mut().for_each(|server| server.expected_hits += 80);
        servers.iter_mut().for_each(|server| server.expected_misses += 9);
        drop(servers);
        let _ = switch.status();
    }
    Ok(())
}
