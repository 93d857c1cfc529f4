//! For `scripts/corpus/train`: writes what the model of the text rules is trained on, one JSON array of the
//! masked lines, the category, the tool and the kind per line, and last the digest of all of it.
#![expect(clippy::print_stdout, reason = "a program that answers on its output")]

#[path = "../tests/it/corpus/trained.rs"]
mod trained;

fn main() -> serde_json::Result<()> {
    let texts = trained::texts()?;
    for text in &texts {
        println!("{}", serde_json::to_string(text)?);
    }
    println!("{}", serde_json::to_string(trained::digest(&texts).to_hex().as_str())?);
    Ok(())
}
