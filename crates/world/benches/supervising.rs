//! What supervising adds to a run of an agent program: the same run under the guard with its stream
//! read, beside the bare program with its output thrown away. They take turns, and medians are
//! compared. Aims: 20 ms, and 2 % of a real run.
//!
//! A script that replays a capture is always measured; Claude Code itself where `scripts/agents`
//! has put it.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, answers on its output and ends where it cannot go on"
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_world::agent::{ACTIVITIES_QUEUED_MAX, Agent as _, Assignment, End, Limits};
use unstuck_world::fake::server::{Answer, Server};
use unstuck_world::process::Guard;
use unstuck_world::provider::claude_cli::{ClaudeCli, Permissions, Settings};
use unstuck_world::provider::{Account, Key};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PROMPT: &str = "Do it.";
const FAR_OFF: Duration = Duration::from_mins(10);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let root = Path::new(ROOT).canonicalize().unwrap();
    let replay = root.join("testdata/agents/agent");
    measure("a script that replays a capture", &replay, 200).await;
    let claude = root.join(".tools/agents/node_modules/.bin/claude");
    match claude.canonicalize() {
        Ok(claude) => measure("Claude Code", &claude, 15).await,
        Err(_) => println!("Claude Code: not installed, so not measured (./scripts/agents)"),
    }
}

/// A place to work, a service to talk to, and a program.
struct Place {
    root: tempfile::TempDir,
    program: PathBuf,
    server: Server,
}

async fn measure(name: &str, program: &Path, turns: usize) {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for directory in ["work", "home"] {
        std::fs::create_dir(root.path().join(directory)).unwrap();
    }
    let server = Server::start(Answer::text("Done.")).await.unwrap();
    let place = Place { root, program: program.to_owned(), server };
    let (mut bare, mut supervised) = (Vec::new(), Vec::new());
    for turn in 0..=turns {
        let (one, two) = (place.bare().await, place.supervised().await);
        // The first run fills caches.
        if turn > 0 {
            bare.push(one);
            supervised.push(two);
        }
    }
    let (bare, supervised) = (median(bare), median(supervised));
    let more = supervised - bare;
    println!(
        "{name}: bare {bare:.1} ms, supervised {supervised:.1} ms: {more:+.1} ms, {:+.1} %",
        100.0 * more / bare
    );
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

impl Place {
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let script = self.root.path().join("script.sh");
        std::fs::write(&script, "cat >/dev/null; exec cat \"$CAPTURE\"").unwrap();
        let capture = Path::new(ROOT).join("testdata/agents/claude/ok_tool.jsonl");
        let pairs: [(&str, OsString); 4] = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME", self.root.path().into()),
            ("AGENT_SCRIPT", script.into()),
            ("CAPTURE", capture.into()),
        ];
        pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
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
        let agent = ClaudeCli::new(Settings {
            program: self.program.clone(),
            guard: Guard {
                executable: env!("CARGO_BIN_EXE_unstuck-guard").into(),
                arguments: Vec::new(),
            },
            account: Account::Key(Key {
                variable: "ANTHROPIC_API_KEY".to_owned(),
                value: "none".to_owned(),
            }),
            home: self.root.path().join("home"),
            base_url: Some(self.server.url()),
            permissions: Permissions::Skipped,
            sandboxed: true,
            mcp_config: None,
            arguments: Vec::new(),
        });
        let assignment = Assignment {
            directory: self.root.path().join("work"),
            lock: self.root.path().join("lock"),
            prompt: PROMPT.to_owned(),
            thread: None,
            attempt: 1,
            model: None,
            environment: self.environment(),
            allowed_commands: std::collections::BTreeSet::new(),
            limits: Limits {
                turns_max: None,
                money_micros_max: None,
                first_byte: FAR_OFF,
                idle: FAR_OFF,
                total: FAR_OFF,
            },
        };
        let (tell, mut told) = mpsc::channel(ACTIVITIES_QUEUED_MAX);
        let start = Instant::now();
        let listening = async { while told.recv().await.is_some() {} };
        let working = agent.work(assignment, tell, CancellationToken::new());
        let (ended, ()) = tokio::join!(working, listening);
        let spent = start.elapsed();
        assert!(matches!(ended.end, End::Finished { .. }), "{:?}", ended.end);
        spent
    }
}
