//! For `scripts/corpus/train`: reads one JSON string per line and writes its diagnostic lines, as they are
//! selected and masked for the signature, as another.
#![expect(clippy::print_stdout, reason = "a program that answers on its output")]

use std::io::BufRead as _;

use unstuck_core::signature::masked_lines;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in std::io::stdin().lock().lines() {
        let output: String = serde_json::from_str(&line?)?;
        println!("{}", serde_json::to_string(&masked_lines(output.as_bytes()))?);
    }
    Ok(())
}
