//! Checks that the lines of checks are commands which a shell can start.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;
use unstuck_core::fault::Code;
use unstuck_core::text::brief::plain_line;

use super::programs::name_place;
use super::{CHECKS, PreflightConcern};
use crate::settings::Settings;

/// Maximum time in which a shell reads a line.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Returns a concern for each check that holds no command, or that a shell does not understand.
pub(super) async fn inspect_lines(settings: &Settings, checks: &[String]) -> Vec<PreflightConcern> {
    let mut found = Vec::new();
    for line in checks {
        let place = name_place(settings, line);
        let shown = plain_line(line);
        let (says, todo) = if holds_no_command(line) {
            (
                format!("the check `{shown}` of {place} is no command, and would always pass"),
                format!(
                    "write a command such as `make test` in its place, or take it out of {place}"
                ),
            )
        } else if let Some(error) = find_syntax_error(line).await {
            (
                format!("no shell can run the check `{shown}` of {place} ({})", plain_line(&error)),
                format!("correct the quotes and signs of the line in {place}"),
            )
        } else {
            continue;
        };
        found.push(PreflightConcern::new_stop(CHECKS, Code::ConfigInvalid, says, todo));
    }
    found
}

/// Returns whether a line is empty, or holds only comments.
fn holds_no_command(line: &str) -> bool {
    line.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// Returns what a shell says about a line that it does not understand, without running it.
async fn find_syntax_error(line: &str) -> Option<String> {
    let mut command = Command::new("sh");
    command.args(["-n", "-c", line]).stdin(Stdio::null()).kill_on_drop(true);
    let ended = timeout(ANSWER_MAX, command.output()).await.ok()?.ok()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    (!ended.status.success()).then(|| said.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_is_no_command_stops() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let look = |line: &str| {
            let mut settings = Settings::default();
            settings.validate.pre_commit = vec![line.to_owned()];
            let checks = settings.validate.pre_commit.clone();
            let found = runtime.block_on(inspect_lines(&settings, &checks));
            found.into_iter().map(|concern| concern.says).next()
        };
        for fine in ["make test", "a && 'b c'", "# first\nmake test", "cat <<EOF\nx\nEOF"] {
            assert_eq!(look(fine), None, "{fine}");
        }
        for empty in ["", "  ", "# make test", "\n# a\n"] {
            let said = look(empty).unwrap();
            assert!(
                said.contains("is no command") && said.contains("validate.pre_commit"),
                "{said}"
            );
        }
        for broken in ["make 'test", "if true; then make test"] {
            let said = look(broken).unwrap();
            assert!(said.contains("no shell can run"), "{said}");
        }
    }
}
