//! Throughput of select + normalise + classify + hash on one core, over outputs of the corpus, one
//! reading per output, beside blake3 over the same bytes. Prints MB/s of both and their ratio.
#![expect(clippy::print_stdout, reason = "a benchmark answers on its output")]

use std::hint::black_box;
use std::time::Instant;

use unstuck_core::fault::text_rules;

const BYTES_MIN: usize = 100_000_000;
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/corpus/dev.jsonl");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let texts = texts()?;
    let size: usize = texts.iter().map(Vec::len).sum();
    let rounds = BYTES_MIN.div_ceil(size);
    let read = speed(&texts, rounds, |text| {
        black_box(text_rules::classify_output(black_box(text)));
    });
    let hashed = speed(&texts, rounds, |text| {
        black_box(blake3::hash(black_box(text)));
    });
    println!("{} outputs, {} MB", texts.len() * rounds, size * rounds / 1_000_000);
    println!("select + normalise + classify + hash: {read}");
    println!("blake3 over the same bytes:           {hashed}");
    println!("ratio: {:.3} over all, {:.3} best", read.mean / hashed.mean, read.best / hashed.best);
    Ok(())
}

fn texts() -> Result<Vec<Vec<u8>>, Box<dyn std::error::Error>> {
    let corpus = std::fs::read_to_string(CORPUS)?;
    let mut texts = Vec::new();
    for line in corpus.lines() {
        let record: serde_json::Value = serde_json::from_str(line)?;
        let text = record["text"].as_str().ok_or("a record without text")?;
        texts.push(text.as_bytes().to_vec());
    }
    Ok(texts)
}

/// Megabytes per second, over all passes and in the best one: on a busy machine they differ.
struct Speed {
    mean: f64,
    best: f64,
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0} MB/s over all, {:.0} MB/s best pass", self.mean, self.best)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a hundred megabytes fit")]
fn speed(texts: &[Vec<u8>], rounds: usize, mut read: impl FnMut(&[u8])) -> Speed {
    let size: usize = texts.iter().map(Vec::len).sum();
    let seconds: Vec<f64> = (0..rounds).map(|_| pass(texts, &mut read)).collect();
    let all: f64 = seconds.iter().sum();
    let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let megabytes = size as f64 / 1e6;
    Speed { mean: megabytes * rounds as f64 / all, best: megabytes / best }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures the clock")]
fn pass(texts: &[Vec<u8>], read: &mut impl FnMut(&[u8])) -> f64 {
    let start = Instant::now();
    for text in texts {
        read(text);
    }
    start.elapsed().as_secs_f64()
}
