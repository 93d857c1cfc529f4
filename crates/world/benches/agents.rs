//! Reading the streams of agent programs on one core: cut into lines, parsed and turned into
//! activities; beside cutting the same bytes into lines alone, and beside `serde_json` reading the
//! same lines and keeping nothing. Aim: 200 MB/s.
#![expect(clippy::print_stdout, reason = "a benchmark answers on its output")]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use serde::de::IgnoredAny;
use unstuck_world::agent::Activity;
use unstuck_world::provider::LineSplitter;
use unstuck_world::provider::claude_cli::ClaudeStream;
use unstuck_world::provider::codex_cli::{CodexAccess, CodexSession, CodexSessionParams};

const BYTES_MIN: usize = 100_000_000;
/// About how long a long stream is.
const LONG_BYTES: usize = 4_000_000;
const CHUNK_BYTES: usize = 64 * 1_024;
const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/agents");

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let claude = |bytes: &[u8]| {
        let (mut stream, mut activities) = (ClaudeStream::default(), Vec::new());
        in_chunks(bytes, |line| stream.handle_line(line, &mut activities));
        activities
    };
    let codex = |bytes: &[u8]| {
        let (mut session, mut activities, mut reply) = (session(), Vec::new(), Vec::new());
        in_chunks(bytes, |line| session.handle_line(line, &mut activities, &mut reply));
        activities
    };
    // Most captures are short and end with a failure; a night's work is long.
    for (name, streams) in [("captures", streams("claude")?), ("long", long("claude")?)] {
        report(&format!("claude-cli, {name}"), &streams, claude);
    }
    for (name, streams) in [("captures", streams("codex")?), ("long", long("codex")?)] {
        report(&format!("codex-cli, {name}"), &streams, codex);
    }
    Ok(())
}

/// The longest capture with all but its first and last line many times over.
fn long(of: &str) -> Outcome<Vec<Vec<u8>>> {
    let longest = streams(of)?.into_iter().max_by_key(Vec::len).unwrap_or_default();
    let lines: Vec<&[u8]> = longest.split_inclusive(|byte| *byte == b'\n').collect();
    let [first, middle @ .., last] = &lines[..] else { return Ok(Vec::new()) };
    let middle = middle.concat();
    let times = LONG_BYTES / middle.len().max(1);
    Ok(vec![[first, &middle.repeat(times)[..], last].concat()])
}

fn session() -> CodexSession {
    CodexSession::new(CodexSessionParams {
        commands: None,
        asks_first: false,
        directory: "/repo".into(),
        prompt: String::new(),
        thread: None,
        model: None,
        turns_max: None,
        access: CodexAccess::Workspace,
        allowed_commands: std::collections::BTreeSet::new(),
        zone: unstuck_world::notify::TimeZone::UTC,
    })
}

fn streams(of: &str) -> Outcome<Vec<Vec<u8>>> {
    let mut streams = Vec::new();
    for entry in std::fs::read_dir(Path::new(CAPTURES).join(of))? {
        streams.push(std::fs::read(entry?.path())?);
    }
    Ok(streams)
}

fn report(name: &str, streams: &[Vec<u8>], read: impl Fn(&[u8]) -> Vec<Activity>) {
    let ours = speed(streams, |bytes| {
        black_box(read(black_box(bytes)));
    });
    let cut = speed(streams, |bytes| {
        in_chunks(black_box(bytes), |line| {
            black_box(line);
        });
    });
    let json = speed(streams, |bytes| {
        in_chunks(black_box(bytes), |line| {
            let _ = black_box(serde_json::from_slice::<IgnoredAny>(line));
        });
    });
    println!("{name}: {ours:.0} MB/s; lines alone {cut:.0} MB/s; JSON alone {json:.0} MB/s");
    println!("{name}: {:.2} times as fast as reading the JSON and keeping nothing", ours / json);
}

fn in_chunks(bytes: &[u8], mut each: impl FnMut(&[u8])) {
    let mut lines = LineSplitter::default();
    for chunk in bytes.chunks(CHUNK_BYTES) {
        lines.push(chunk, &mut each);
    }
    lines.finish(each);
}

/// Megabytes per second, over all passes.
#[expect(clippy::cast_precision_loss, reason = "a hundred megabytes fit")]
#[expect(clippy::disallowed_methods, reason = "a benchmark measures the clock")]
fn speed(streams: &[Vec<u8>], read: impl Fn(&[u8])) -> f64 {
    let size: usize = streams.iter().map(Vec::len).sum();
    let passes = BYTES_MIN.div_ceil(size);
    let start = Instant::now();
    for stream in (0..passes).flat_map(|_| streams) {
        read(stream);
    }
    (size * passes) as f64 / 1e6 / start.elapsed().as_secs_f64()
}
