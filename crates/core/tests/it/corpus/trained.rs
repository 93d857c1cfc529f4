//! What the model of the text rules is trained on: for the example that hands it to the training script,
//! and for the test that the weights belong to it.

use serde_json::Value;
use unstuck_core::signature::masked_lines;

const OUTPUTS: [&str; 7] = [
    include_str!("../../../../../testdata/corpus/dev.jsonl"),
    include_str!("../../../../../testdata/corpus/unseen.jsonl"),
    include_str!("../../../../../testdata/corpus/captured.jsonl"),
    include_str!("../../../../../testdata/corpus/tools25.jsonl"),
    include_str!("../../../../../testdata/corpus/fresh.jsonl"),
    include_str!("../../../../../testdata/corpus/fresh2.jsonl"),
    include_str!("../../../../../testdata/corpus/fresh3.jsonl"),
];
const CHECKS: &str = include_str!("../../../../../testdata/corpus/checks.jsonl");
const SENTENCES: [&str; 2] = [
    include_str!("../../../../../testdata/corpus/said.txt"),
    include_str!("../../../../../testdata/corpus/ways.txt"),
];

/// One text: what the model reads of it, its category, its tool and which error it is. A sentence and
/// the output of a check have no tool.
pub(crate) type Text = [String; 4];

/// Every text in the order of training. What is sealed in the corpus is not among them.
pub(crate) fn texts() -> serde_json::Result<Vec<Text>> {
    let mut texts = Vec::new();
    for line in OUTPUTS.iter().flat_map(|file| file.lines()) {
        let record: Value = serde_json::from_str(line)?;
        if !matches!(record["part"].as_str(), Some("sealed" | "after")) {
            let [text, category, tool, kind] =
                ["text", "category", "tool", "kind_label"].map(|field| string(&record[field]));
            texts.push([seen(&text), category, tool, kind]);
        }
    }
    for line in CHECKS.lines() {
        let text = string(&serde_json::from_str::<Value>(line)?["text"]);
        texts.push([seen(&text), "code_error".to_owned(), String::new(), text]);
    }
    for line in SENTENCES.iter().flat_map(|file| file.lines()) {
        let (category, text) = line.split_once('|').unwrap_or_default();
        texts.push([seen(text), category.to_owned(), String::new(), text.to_owned()]);
    }
    Ok(texts)
}

/// What stands behind the weights that were trained on these texts.
pub(crate) fn digest(texts: &[Text]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for field in texts.iter().flatten() {
        hasher.update(&(field.len() as u64).to_le_bytes()).update(field.as_bytes());
    }
    hasher.finalize()
}

/// The lines that the signature is made of, or all of them where there are none.
fn seen(text: &str) -> String {
    let masked = masked_lines(text.as_bytes());
    if masked.is_empty() { text.to_owned() } else { masked }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
