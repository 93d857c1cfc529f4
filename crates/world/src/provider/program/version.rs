//! Determines the version of a program.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::timeout;

/// Timeout of the query. Some programs start a whole runtime first.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of bytes to read: a version is one short line.
const SAID_BYTES_MAX: u64 = 4 * 1_024;

/// Returns the first line of the output of `--version`, which makes no call to a model; `None` if
/// the program fails or does not answer in time.
pub async fn query_version(program: &Path) -> Option<String> {
    timeout(PATIENCE, run_version_command(program)).await.ok()?
}

async fn run_version_command(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut said = Vec::new();
    child.stdout.take()?.take(SAID_BYTES_MAX).read_to_end(&mut said).await.ok()?;
    let ended = child.wait().await.ok()?;
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    line.filter(|_| ended.success()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[tokio::test]
    async fn a_program_says_its_version_or_nothing() {
        let place = tempfile::tempdir().unwrap();
        let cases = [
            ("printf '\\n 1.2.3 (Agent)\\nmore'", Some("1.2.3 (Agent)")),
            ("echo 1.2.3; exit 1", None),
            ("exit 0", None),
        ];
        for (n, (script, says)) in cases.into_iter().enumerate() {
            let program = place.path().join(n.to_string());
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(query_version(&program).await.as_deref(), says, "{script}");
        }
        assert_eq!(query_version(&place.path().join("nowhere")).await, None);
    }
}
