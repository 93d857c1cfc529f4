//! The command line of Claude Code: arguments, environment, and a directory of its own.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use serde_json::{Map, Value, json};
use unstuck_core::fault::Fault;

use super::{ClaudePermissions, ClaudeSettings, NAME};
use crate::agent::AgentAssignment;
use crate::commands::strip_redirections;
use crate::mcp;
use crate::process::{Launch, Wall};
use crate::provider::login::{self, LoginLoan};
use crate::provider::program;

/// Variables that leave backoff and retries to the engine, and disable all traffic except for the
/// work itself. One retry is allowed so that the program announces when the service wants to be
/// called again; that announcement ends the run before the retry. The program waits for Unstuck's
/// tools: by default its first request goes out while they connect, and it starts without those that
/// are not there after five seconds, so that an agent on a busy machine could not ask.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("CLAUDE_CODE_MAX_RETRIES", "1"),
    ("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("MCP_CONNECTION_NONBLOCKING", "0"),
    ("MCP_CONNECT_TIMEOUT_MS", "60000"),
    ("MCP_TIMEOUT", "60000"),
];
/// The tool rule for every command.
const SHELL: &str = "Bash";
/// The tool rule for declaring an irreversible action in its shell; the ledger decides about the
/// action.
const DECLARING: &str = "Bash(unstuck mutate:*)";
/// Variables of credentials; the program gets only the one of its account.
const CREDENTIALS: &[&str] =
    &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];
/// Variables that would make the program wait by itself, or assume that it runs inside another
/// instance.
const TAKEN_AWAY: &[&str] =
    &["CLAUDE_CODE_RETRY_WATCHDOG", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "IS_SANDBOX"];

impl ClaudeSettings {
    /// Creates the home, and lends it the operator's login.
    pub(super) async fn prepare_home(&self) -> Result<Option<LoginLoan>, Fault> {
        program::create_home(&self.home, NAME)?;
        login::lend_login(&self.account, &login::CLAUDE, (&self.home, NAME)).await
    }

    pub(super) fn build_launch(
        &self,
        assignment: &AgentAssignment,
        thread: Option<&str>,
    ) -> Launch {
        let mut launch = program::build_launch(&self.guard, &self.program, assignment);
        launch.arguments = self.build_arguments(assignment, thread);
        launch
            .environment
            .extend(program::filter_environment(&self.environment, assignment, CREDENTIALS));
        launch.environment.extend(self.build_environment());
        launch.wall = self.build_wall(assignment);
        launch
    }

    pub(super) fn build_wall(&self, assignment: &AgentAssignment) -> Wall {
        program::build_wall(assignment, &self.program, [self.home.clone()])
    }

    fn build_arguments(&self, assignment: &AgentAssignment, thread: Option<&str>) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
        add(&["-p", "--output-format", "stream-json", "--verbose"]);
        // The operator's own settings and hooks are for the operator's own sessions.
        add(&["--setting-sources", "project,local"]);
        match &self.permissions {
            ClaudePermissions::Skipped => add(&["--dangerously-skip-permissions"]),
            ClaudePermissions::Listed(rules) => {
                add(&["--permission-mode", "acceptEdits"]);
                let own =
                    self.reachable_own_tools(assignment).into_iter().flat_map(|_| mcp::mcp_tools());
                let own = own.map(|tool| mcp::claude_name(tool.name));
                let shell = self.reachable_own_tools(assignment).map(|_| DECLARING.to_owned());
                // A program inside a fully enforced wall needs no permission, as with the built-in
                // loop and Codex.
                let is_kept_in =
                    !rules.only_allowed && self.build_wall(assignment).try_out().is_whole();
                let shell = shell.into_iter().chain(is_kept_in.then(|| SHELL.to_owned()));
                let tools: Vec<String> =
                    rules.allowed.iter().cloned().chain(own).chain(shell).collect();
                if !tools.is_empty() {
                    add(&["--allowedTools", &tools.join(",")]);
                }
                if !rules.blocked.is_empty() {
                    add(&["--disallowedTools", &rules.blocked.join(",")]);
                }
                if let Some(settings) = build_allow_settings(&assignment.allowed_commands) {
                    add(&["--settings", &settings]);
                }
            }
        }
        // Files of the worktree outside the folder that it starts in may be changed as well.
        if let Some(root) = assignment.worktree_above() {
            add(&["--add-dir", &root.to_string_lossy()]);
        }
        let limits = assignment.limits;
        let turns = limits.turns_max.map(|turns| turns.to_string());
        let money = limits.money_micros_max.map(format_dollars);
        let options = [
            ("--resume", thread),
            ("--model", assignment.model.as_deref()),
            ("--max-turns", turns.as_deref()),
            ("--max-budget-usd", money.as_deref()),
        ];
        for (option, value) in options {
            if let Some(value) = value {
                add(&[option, value]);
            }
        }
        for argument in &self.arguments {
            add(&[argument]);
        }
        if let Some(program) = self.reachable_own_tools(assignment) {
            add(&["--mcp-config", &own_server_config(program)]);
        }
        arguments
    }

    fn reachable_own_tools(&self, assignment: &AgentAssignment) -> Option<&Path> {
        self.own_tools.as_deref().filter(|_| mcp::can_reach_holder(&assignment.environment))
    }

    fn build_environment(&self) -> Vec<(OsString, Option<OsString>)> {
        let taken_away = TAKEN_AWAY.iter().map(|name| (OsString::from(name), None));
        let mut environment: Vec<(OsString, Option<OsString>)> = taken_away.collect();
        let mut set = |name: &str, value: OsString| environment.push((name.into(), Some(value)));
        for (name, value) in ENVIRONMENT {
            set(name, value.into());
        }
        set("CLAUDE_CONFIG_DIR", self.home.clone().into());
        if self.sandboxed {
            set("IS_SANDBOX", "1".into());
        }
        if let Some(url) = &self.base_url {
            set("ANTHROPIC_BASE_URL", url.into());
        }
        if let Some((variable, key)) = self.account.exposed_key() {
            set(variable, key.into());
        }
        environment
    }
}

/// Returns the configuration of Unstuck's MCP server. It finds its run by the agent's own
/// variables, so no secret is in it.
fn own_server_config(program: &Path) -> String {
    let variable = |name: &str| (name.to_owned(), json!(format!("${{{name}:-}}")));
    let variables: Map<String, Value> = mcp::VARIABLES.into_iter().map(variable).collect();
    let server = json!({
        "type": "stdio",
        "command": program.to_string_lossy(),
        "args": ["mcp"],
        "env": variables,
    });
    json!({ "mcpServers": { mcp::NAME: server } }).to_string()
}

/// Returns settings that allow exactly these commands. A command with a star is left out, because
/// the rule would allow other commands as well.
fn build_allow_settings(commands: &BTreeSet<String>) -> Option<String> {
    let plain = commands.iter().filter(|command| !command.contains('*'));
    // The program compares a command without its redirections.
    let both = plain.flat_map(|command| [Some(command.clone()), strip_redirections(command)]);
    let rules: Vec<String> = both.flatten().map(|command| format!("Bash({command})")).collect();
    (!rules.is_empty()).then(|| json!({ "permissions": { "allow": rules } }).to_string())
}

fn format_dollars(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_allowed_is_allowed_by_that_very_rule() {
        let allows = |commands: &[&str]| {
            build_allow_settings(&commands.iter().map(|&command| command.to_owned()).collect())
        };
        assert_eq!(allows(&[]), None);
        assert_eq!(allows(&["rm *.o"]), None, "it would allow more than was asked");
        assert_eq!(
            allows(&["npm install, \"x\" (y)"]).unwrap(),
            r#"{"permissions":{"allow":["Bash(npm install, \"x\" (y))"]}}"#
        );
        assert_eq!(
            allows(&["python3 -c 'print(1 > 0)' > answer.txt 2>&1"]).unwrap(),
            r#"{"permissions":{"allow":["Bash(python3 -c 'print(1 > 0)' > answer.txt 2>&1)","Bash(python3 -c 'print(1 > 0)')"]}}"#
        );
    }

    #[test]
    fn our_own_tools_are_named_without_a_secret() {
        insta::assert_snapshot!(own_server_config(Path::new("/usr/bin/unstuck")));
    }

    #[test]
    fn an_amount_is_written_out() {
        assert_eq!(format_dollars(2_000), "0.002000");
        assert_eq!(format_dollars(12_345_678), "12.345678");
    }
}
