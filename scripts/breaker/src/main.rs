//! Rewrites a copy of the engine so that it holds every mutant at once, each asleep until it is
//! named: one build serves them all.
//!
//!     breaker SOURCES LIST [LEFT_OUT…]
//!
//! `SOURCES` is the `src` folder of the core in a throw-away copy. `LIST` gets one JSON line per
//! mutant: `{"id", "file", "line", "what", "text"}`. Mutants whose ids are named after it are left
//! out: they do not compile.

mod breaks;
mod sleepers;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use sleepers::Sleepers;

/// Wakes the mutant that the environment names.
const SWITCH: &str = r#"
/// Whether a mutant is awake.
pub(crate) fn awake(id: u32) -> bool {
    static AWAKE: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let named = || std::env::var("MUTANT").ok().and_then(|id| id.parse().ok()).unwrap_or(u32::MAX);
    *AWAKE.get_or_init(named) == id
}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(sources), Some(list)) = (arguments.next(), arguments.next()) else {
        return Err("breaker SOURCES LIST [LEFT_OUT…]".into());
    };
    let left_out: BTreeSet<u32> = arguments.map(|id| id.parse()).collect::<Result<_, _>>()?;
    let sources = PathBuf::from(sources);
    let mut files = Vec::new();
    collect(&sources.join("engine"), &mut files)?;
    files.sort();
    let mut list = fs::File::create(list)?;
    let mut next = 0;
    for file in files {
        let text = fs::read_to_string(&file)?;
        let mut parsed = syn::parse_file(&text)?;
        let mut sleepers = Sleepers::new(next, &left_out);
        sleepers.put_into(&mut parsed);
        let name = file.strip_prefix(&sources)?.display().to_string();
        for sleeper in &sleepers.found {
            let line = text.lines().nth(sleeper.line - 1).unwrap_or("").trim();
            let entry = serde_json::json!({
                "id": sleeper.id, "file": name, "line": sleeper.line, "what": sleeper.what,
                "text": line,
            });
            writeln!(list, "{entry}")?;
        }
        next = sleepers.next;
        fs::write(&file, prettyplease::unparse(&parsed))?;
    }
    fs::write(sources.join("mutants.rs"), SWITCH)?;
    let library = fs::read_to_string(sources.join("lib.rs"))?;
    fs::write(sources.join("lib.rs"), format!("{library}\nmod mutants;\n"))?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
