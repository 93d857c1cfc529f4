//! The time that supervising adds to a run of an agent program: the same run under the guard with
//! its stream read, beside the bare program with its output thrown away. They take turns, and the
//! median of the differences counts: one run of a real agent differs from the next by a tenth.
//! Aims: 20 ms, and 2 % of a real run.
//!
//! A script that replays a capture is always measured; Claude Code itself where `scripts/agents`
//! has put it.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, answers on its output and ends where it cannot go on"
)]

#[path = "support/agent.rs"]
mod agent;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use agent::{PROMPT, ROOT};
use tokio::io::AsyncWriteExt as _;
use unstuck_world::fake::server::{FakeAnswer, FakeServer};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let root = Path::new(ROOT).canonicalize().unwrap();
    measure("a script that replays a capture", &agent::stand_in(), 200).await;
    let claude = root.join(".tools/agents/node_modules/.bin/claude");
    match claude.canonicalize() {
        Ok(claude) => measure("Claude Code", &claude, 60).await,
        Err(_) => println!("Claude Code: not installed, so not measured (./scripts/agents)"),
    }
}

/// A place to work, a service to talk to, and a program.
struct Place {
    root: tempfile::TempDir,
    program: PathBuf,
    server: FakeServer,
}

async fn measure(name: &str, program: &Path, turns: usize) {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for directory in ["work", "home"] {
        std::fs::create_dir(root.path().join(directory)).unwrap();
    }
    let server = FakeServer::start(FakeAnswer::with_text("Done.")).await.unwrap();
    let place = Place { root, program: program.to_owned(), server };
    let mut pairs = Vec::new();
    for turn in 0..=turns {
        // The first of the two finds the machine in another state.
        let pair = if turn % 2 == 0 {
            let bare = place.bare().await;
            (bare, place.supervised().await)
        } else {
            let supervised = place.supervised().await;
            (place.bare().await, supervised)
        };
        // The first run fills caches.
        if turn > 0 {
            pairs.push(pair);
        }
    }
    let bare = median(pairs.iter().map(|(bare, _)| bare.as_secs_f64() * 1e3));
    let more = pairs.iter().map(|(bare, both)| (both.as_secs_f64() - bare.as_secs_f64()) * 1e3);
    let more = median(more);
    println!("{name}: bare {bare:.1} ms, supervised {more:+.1} ms, {:+.1} %", 100.0 * more / bare);
}

fn median(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

impl Place {
    fn environment(&self) -> Vec<(OsString, OsString)> {
        agent::environment(self.root.path(), "cat >/dev/null; exec cat \"$CAPTURE\"")
    }

    async fn bare(&self) -> Duration {
        let mut command = tokio::process::Command::new(&self.program);
        command
            .args(["-p", "--output-format", "stream-json", "--verbose"])
            .args(["--setting-sources", "project,local", "--dangerously-skip-permissions"])
            .env_clear()
            .envs(self.environment())
            .env("CLAUDE_CODE_MAX_RETRIES", "0")
            .env("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "1")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("DISABLE_ERROR_REPORTING", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("CLAUDE_CONFIG_DIR", self.root.path().join("home"))
            .env("IS_SANDBOX", "1")
            .env("ANTHROPIC_BASE_URL", self.server.url())
            .env("ANTHROPIC_API_KEY", "none")
            .current_dir(self.root.path().join("work"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(PROMPT.as_bytes()).await.unwrap();
        assert!(child.wait().await.unwrap().success());
        start.elapsed()
    }

    async fn supervised(&self) -> Duration {
        let (environment, url) = (self.environment(), Some(self.server.url()));
        let start = Instant::now();
        agent::work(self.root.path(), &self.program, url, environment).await;
        start.elapsed()
    }
}
