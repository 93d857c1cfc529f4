//! A server under load: many readers of live events, and a long list of questions that is asked for
//! again and again. The server is this process, on a real store; those who load it are a second one.
//!
//! `cargo bench -p unstuck-server --bench load` measures 500 readers and 100 events a second for a
//! minute, then the list and the answers. `-- streams 2000 200 60` asks for other numbers.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a program that measures and prints"
)]

mod ask;
#[path = "../../tests/it/desk.rs"]
mod desk;
mod house;
mod read;

use std::env;
use std::process::{Command, Stdio};
use std::time::Duration;

use house::House;

/// The word that makes this program the one that loads.
const LOADS: &str = "--loads";

fn main() {
    let args: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let number = |at: usize, otherwise: u64| {
        args.get(at).and_then(|arg| arg.parse().ok()).unwrap_or(otherwise)
    };
    match args.first().map(String::as_str) {
        Some(LOADS) if args[1] == "read" => runtime.block_on(read::read(&args[2..])),
        Some(LOADS) => runtime.block_on(ask::ask(&args[2..])),
        Some("streams") => runtime.block_on(streams(number(1, 500), number(2, 100), number(3, 60))),
        Some("questions") => runtime.block_on(questions(number(1, 10_000), number(2, 5))),
        _ => {
            runtime.block_on(streams(500, 100, 60));
            runtime.block_on(questions(10_000, 5));
        }
    }
}

/// Runs a process that loads the server, until it has reported its figures.
async fn load(args: &[String]) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.arg(LOADS).args(args).stdin(Stdio::null());
    let status = tokio::task::spawn_blocking(move || command.status()).await.unwrap();
    assert!(status.unwrap().success(), "the one that loads ended early");
}

async fn streams(readers: u64, per_second: u64, seconds: u64) {
    let house = House::open().await;
    house.build(1).await;
    let events = per_second * seconds;
    println!("{readers} readers of {per_second} events a second for {seconds} s");
    let args = [house.address(), house.token(), readers.to_string(), events.to_string()];
    let args: Vec<String> = [&["read".to_owned()], &args[..]].concat();
    let loading = tokio::spawn(async move { load(&args).await });
    house::readers(readers).await;
    let mut beat = tokio::time::interval(Duration::from_micros(1_000_000 / per_second));
    let before = house::cpu();
    for _ in 0..events {
        beat.tick().await;
        house.note().await;
    }
    loading.await.unwrap();
    println!("  server: {:.0} MB resident, {:.0} % of a core", house::resident_mb(), {
        (house::cpu() - before) / seconds as f64 * 100.0
    });
}

async fn questions(stored: u64, seconds: u64) {
    let house = House::open().await;
    house.asked(stored).await;
    println!("{stored} questions stored");
    let args = [house.address(), house.token(), seconds.to_string()];
    load(&[&["ask".to_owned()], &args[..]].concat()).await;
    println!("  server: {:.0} MB resident", house::resident_mb());
    println!("  a durable write here takes {:.2} ms at its 99th percentile", house.durable_write());
}
