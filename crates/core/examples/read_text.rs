//! Reads one JSON string (an output) per line and prints what the text rules make of it:
//! signature, code, rule, whether it tells a failure, and the masked lines as a JSON string.
#![expect(clippy::print_stdout, reason = "a program that answers on its output")]

use std::io::BufRead;

use unstuck_core::fault::text_rules;
use unstuck_core::signature;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in std::io::stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        let reading = text_rules::read(text.as_bytes());
        let masked = serde_json::to_string(&signature::masked_lines(text.as_bytes()))?;
        let text_rules::Reading { code, rule, signature, diagnostic } = reading;
        println!("{signature}\t{code}\t{rule}\t{diagnostic}\t{masked}");
    }
    Ok(())
}
