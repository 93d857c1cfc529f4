//! Knowledge that a module must not have, read from its sources.

#![expect(
    clippy::unwrap_used,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}

// T3.18, T3.10, I8: the engine has no way to look at words.
#[test]
fn the_engine_never_looks_at_a_message() {
    let words = [".message", ".cause", ".source", "starts_with(", "ends_with(", "find(\"", "regex"];
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine");
    let files = sources(&engine);
    assert!(files.len() > 40, "the engine has moved: {}", engine.display());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for (number, line) in (1..).zip(code) {
            for word in words {
                assert!(!line.contains(word), "{}, code line {number}: {line}", file.display());
            }
        }
    }
}
