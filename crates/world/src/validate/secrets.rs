//! Scans a change for secrets: keys of known shapes, and values that are known to be secret. A
//! finding has the location and the kind of a secret, never the secret itself.

use unstuck_core::fault::{Fault, Validation};
use unstuck_core::text::SECRETS;

use crate::redact::Redactor;

const COMMAND: &str = "scan for secrets";

/// A place in a change that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFinding {
    /// The path of the changed file.
    pub file: String,
    /// The line in the changed file, counted from 1.
    pub line: u64,
    /// The kind of secret.
    pub kind: &'static str,
}

/// A scanner for secrets.
#[derive(Debug)]
pub struct SecretScanner(Redactor);

impl SecretScanner {
    /// Makes a scanner for keys and for these values; skips values that are too short.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self(Redactor::new(values))
    }

    /// Scans a change. A finding is a red check before the commit.
    pub fn check_patch(&self, patch: &[u8]) -> Result<(), Fault> {
        let findings = self.scan_patch(patch);
        if findings.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = findings
            .iter()
            .map(|SecretFinding { file, line, kind }| format!("{file}:{line}: a secret ({kind})"))
            .collect();
        let message = "the change holds what looks like a secret";
        let context =
            Validation { command: COMMAND.to_owned(), exit: None, output: lines.join("\n") };
        Err(Fault::validation_pre_commit(SECRETS, message, context))
    }

    /// Scans the lines that a patch adds.
    pub fn scan_patch(&self, patch: &[u8]) -> Vec<SecretFinding> {
        let mut findings = Vec::new();
        let mut file = String::new();
        let mut number = 0_u64;
        let mut left = 0_u64;
        for line in patch.split(|byte| *byte == b'\n') {
            if left == 0 {
                if let Some(name) = line.strip_prefix(b"+++ ") {
                    let name = name.strip_prefix(b"b/").unwrap_or(name);
                    file = String::from_utf8_lossy(name.trim_ascii_end()).into_owned();
                } else if let Some((start, count)) = parse_hunk(line) {
                    (number, left) = (start, count);
                }
                continue;
            }
            let Some((mark, text)) = line.split_first() else { continue };
            if *mark == b'+'
                && let Some(kind) = self.0.find_secret_kind(text)
            {
                findings.push(SecretFinding { file: file.clone(), line: number, kind });
            }
            if matches!(mark, b'+' | b' ') {
                number = number.saturating_add(1);
                left -= 1;
            }
        }
        findings
    }
}

/// Parses the header of a hunk: its first line in the new file, and its number of lines there.
fn parse_hunk(line: &[u8]) -> Option<(u64, u64)> {
    let numbers = line.strip_prefix(b"@@ -")?;
    // The text after the second `@@` is a line of the file, in any encoding.
    let end = numbers.windows(3).position(|window| window == b" @@")?;
    let line = std::str::from_utf8(&numbers[..end]).ok()?;
    let new = line.split(' ').nth(1)?.strip_prefix('+')?;
    let (start, count) = new.split_once(',').unwrap_or((new, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(patch: &str) -> Vec<(u64, &'static str)> {
        let secrets = SecretScanner::new(["the-secret-value", "short"]);
        secrets
            .scan_patch(patch.as_bytes())
            .into_iter()
            .map(|found| (found.line, found.kind))
            .collect()
    }

    #[test]
    fn only_added_lines_count_and_the_line_is_named() {
        let key = format!("ghp_{}", "a1".repeat(18));
        let patch = format!(
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +10,4 @@ fn {key}\n a\n-{key}\n+b\n\
             +let t = \"{key}\";\n+++ short the-secret-value\n"
        );
        assert_eq!(scan(&patch), [(12, "github"), (13, "value")]);
        let found = SecretScanner::new(["xxxxxxxxx"]).scan_patch(patch.as_bytes());
        assert_eq!(found[0].file, "x");
    }

    #[test]
    fn shapes_are_whole_and_stand_alone() {
        let line = |text: &str| scan(&format!("+++ b/x\n@@ -0,0 +1 @@\n+{text}\n"));
        let drawn = "a1B2".repeat(9);
        let key = |begins: &str| line(&format!("api_key = \"{begins}{drawn}\""));
        for (begins, kind) in
            [("sk-ant-", "api-key"), ("glpat-", "gitlab"), ("AIza", "google"), ("npm_", "npm")]
        {
            assert_eq!(key(begins), [(1, kind)], "{begins}");
        }
        assert_eq!(line("AKIAABCDEFGHIJKLMNOP"), [(1, "aws")]);
        assert_eq!(line("-----BEGIN OPENSSH PRIVATE KEY-----"), [(1, "private-key")]);
        for harmless in [
            "AKIA",
            "xAKIAABCDEFGHIJKLMNOP",
            "sk-ant-short",
            "ghp_ and so on",
            "short",
            "sk-fading-circle-animation-of-a-page",
            "password = \"hunter2hunter2\"",
            "authorization: bearer {token_of_the_session_1}",
        ] {
            assert_eq!(line(harmless), [], "{harmless}");
        }
    }
}
