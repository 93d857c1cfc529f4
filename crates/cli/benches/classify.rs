//! What the program adds to the library: `classify --signature-only` on a file, beside the same
//! calls in a loop. The two take turns; medians are compared. Aim: at most 1.5 times as long.

use std::hint::black_box;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use unstuck_core::fault::text_rules;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/corpus/dev.jsonl");
/// So that starting a process is a small part of what is measured.
const COPIES: usize = 40;
const ROUNDS: usize = 11;

fn main() -> io::Result<()> {
    let texts = texts()?;
    let mut lines = Vec::new();
    for text in &texts {
        writeln!(lines, "{}", Value::from(text.as_str()))?;
    }
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-classify.jsonl");
    std::fs::write(&input, lines)?;
    let (mut library, mut program) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        library.push(timed(|| loop_over(&texts))?);
        program.push(timed(|| read_by_program(&input))?);
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    let (library, program) = (median(library), median(program));
    let mut out = io::stdout().lock();
    writeln!(out, "{} texts, {} KB", texts.len(), bytes / 1000)?;
    writeln!(out, "library  {:7.1} MB/s", per_second(bytes, library))?;
    writeln!(out, "program  {:7.1} MB/s", per_second(bytes, program))?;
    writeln!(out, "ratio    {:7.2}", program.as_secs_f64() / library.as_secs_f64())
}

fn texts() -> io::Result<Vec<String>> {
    let corpus = std::fs::read_to_string(CORPUS)?;
    let text_of = |line: &str| -> io::Result<String> {
        let record: Value = serde_json::from_str(line)?;
        Ok(record["text"].as_str().unwrap_or_default().to_owned())
    };
    let once: Vec<String> = corpus.lines().map(text_of).collect::<io::Result<_>>()?;
    Ok(once.iter().cycle().take(once.len() * COPIES).cloned().collect())
}

fn loop_over(texts: &[String]) -> io::Result<()> {
    let mut answers = Vec::new();
    for text in texts {
        writeln!(answers, "{}", text_rules::classify_output(text.as_bytes()).signature)?;
    }
    black_box(answers);
    Ok(())
}

fn read_by_program(input: &Path) -> io::Result<()> {
    let output = Command::new(env!("CARGO_BIN_EXE_unstuck"))
        .args(["classify", "--signature-only"])
        .arg(input)
        .output()?;
    black_box(output);
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "measuring time is what a benchmark is for")]
fn timed(work: impl FnOnce() -> io::Result<()>) -> io::Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "a speed to one decimal")]
fn per_second(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}
