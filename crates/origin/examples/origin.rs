//! An origin alone, to look at: `cargo run --release -p origin --example origin -- 127.0.0.1:9001
//! 0.05`. The arguments are the address to listen on and the time scale, both optional.

use origin::{Config, Origin};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let mut config = Config { faults: true, ..Config::default() };
    if let Some(addr) = args.next() {
        config.listen = addr.parse()?;
    }
    if let Some(scale) = args.next() {
        config.time_scale = scale.parse()?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let origin = Origin::bind(config)?;
    println!("http://{}/", origin.addr());
    Ok(runtime.block_on(origin.serve(std::future::pending()))?)
}
