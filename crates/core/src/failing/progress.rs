//! Lines in which build tools say what they are doing: what is compiled, fetched or waited for depends on
//! what was built before, not on the code.

/// Width to which cargo aligns its verbs.
const CARGO_COLUMN: usize = 12;

/// Verbs of cargo's lines of progress.
const CARGO: [&str; 18] = [
    "Adding", "Blocking", "Building", "Checking", "Compiling", "Documenting", "Downgrading",
    "Downloaded", "Downloading", "Finished", "Fresh", "Installing", "Locking", "Removing",
    "Running", "Scraping", "Unpacking", "Updating",
];

/// Beginnings of other lines of progress, after their blanks.
const BEGINNINGS: [&str; 18] = [
    // cargo: which of its parallel jobs end first varies.
    "warning: build failed, waiting for other jobs",
    "error: could not compile `",
    // npm, pnpm
    "npm warn ",
    "npm WARN ",
    "npm notice",
    "npm http ",
    "up to date in ",
    "up to date, audited ",
    "Progress: resolved ",
    // go
    "go: downloading ",
    "go: finding ",
    // maven
    "[INFO] ",
    "Downloading from ",
    "Downloaded from ",
    "Progress (",
    // gradle
    "> Task :",
    "Starting a Gradle Daemon",
    "Daemon will be stopped ",
];

/// Returns whether a line is progress of cargo, npm, go, Maven or Gradle.
pub(super) fn is_progress(line: &str) -> bool {
    let bare = line.trim();
    is_cargo(line)
        || bare == "[INFO]"
        || BEGINNINGS.iter().any(|start| bare.starts_with(start)) && !bare.ends_with(" FAILED")
        || bare.starts_with("BUILD FAILED in ")
        || is_generated_count(bare)
        || is_npm_count(bare)
        || bare.contains(" actionable task") && bare.starts_with(|c: char| c.is_ascii_digit())
}

/// Parses `   Compiling shop v0.1.0`: a verb at the end of its column, and a blank.
fn is_cargo(line: &str) -> bool {
    let Some((verb, rest)) = line.split_at_checked(CARGO_COLUMN) else { return false };
    rest.starts_with(' ') && verb.starts_with(' ') && CARGO.contains(&verb.trim_start())
}

/// Parses "warning: `shop` (lib test) generated 1 warning (1 duplicate)".
fn is_generated_count(line: &str) -> bool {
    line.starts_with("warning: `") && line.contains(" generated ") && line.contains(" warning")
}

/// Parses `added 12 packages in 2s`, `added 1 package, and audited 2 packages in 1s`.
fn is_npm_count(line: &str) -> bool {
    let starts = ["added ", "removed ", "changed "].iter().any(|start| line.starts_with(start));
    starts && line.contains(" package") && line.contains(" in ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_of_known_tools_is_told_from_what_they_find() {
        let progress = [
            "   Compiling shop v0.1.0 (/w)",
            "    Finished `test` profile [unoptimized] target(s) in 0.21s",
            "    Blocking waiting for file lock on build directory",
            " Downloading crates ...",
            "     Running unittests src/lib.rs (target/debug/deps/shop-0123456789abcdef)",
            "warning: build failed, waiting for other jobs to finish...",
            "error: could not compile `shop` (lib test) due to 1 previous error",
            "warning: `shop` (lib test) generated 1 warning (1 duplicate)",
            "npm warn deprecated inflight@1.0.6",
            "added 1 package, and audited 2 packages in 1s",
            "go: downloading golang.org/x/text v0.3.0",
            "[INFO] Total time:  2.1 s",
            "Downloading from central: https://repo.maven.apache.org/x.jar",
            "> Task :compileJava UP-TO-DATE",
            "BUILD FAILED in 3s",
            "3 actionable tasks: 1 executed, 2 up-to-date",
        ];
        for line in progress {
            assert!(is_progress(line), "{line}");
        }
        let found = [
            "error[E0308]: mismatched types",
            "Compiling the shop failed",
            "Running 3 checks: 2 are wrong",
            "warning: unused variable: `x`",
            "npm error code 1",
            "go: no such tool \"x\"",
            "[ERROR] COMPILATION ERROR",
            "> Task :compileJava FAILED",
            "added 3 lines",
            "",
        ];
        for line in found {
            assert!(!is_progress(line), "{line}");
        }
    }
}
