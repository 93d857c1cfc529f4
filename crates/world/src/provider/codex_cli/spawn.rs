//! The command line of Codex: arguments, environment, and a home of its own.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use unstuck_core::fault::Fault;

use super::{CodexAccess, CodexSettings, NAME};
use crate::agent::AgentAssignment;
use crate::mcp;
use crate::process::{Launch, Wall, WallLayers};
use crate::provider::account::AccountAuth;
use crate::provider::login::{self, LoginLoan};
use crate::provider::program;

/// Variables of credentials; Codex gets only the one of its account.
const CREDENTIALS: &[&str] = &["OPENAI_API_KEY", "CODEX_API_KEY"];
/// Time between SIGTERM and SIGKILL: Codex records its work as it goes, and takes seconds to end by
/// itself.
const GRACE: Duration = Duration::from_millis(150);
/// The log level: the wait that the service asks for is only logged. The operator's own setting
/// applies to the commands that Codex runs.
const LOG: (&str, &str) = ("RUST_LOG", "error,codex_core::responses_retry=warn");
/// The provider that is defined for Codex, because the built-in ones cannot be changed and would
/// retry by themselves.
const PROVIDER: &str = "model_providers.unstuck";

impl CodexSettings {
    /// Creates the home, and lends it the operator's login.
    pub(super) async fn prepare_home(&self) -> Result<Option<LoginLoan>, Fault> {
        program::create_home(&self.home, NAME)?;
        login::lend_login(&self.account, &login::CODEX, (&self.home, NAME)).await
    }

    pub(super) fn build_launch(&self, assignment: &AgentAssignment) -> Launch {
        let mut launch = program::build_launch(&self.guard, &self.program, assignment);
        launch.wall = self.build_wall(assignment);
        launch.grace = GRACE;
        launch.arguments = vec!["app-server".into()];
        for setting in self.build_configuration(assignment) {
            launch.arguments.extend(["-c".into(), OsString::from(setting)]);
        }
        launch
            .environment
            .extend(program::filter_environment(&self.environment, assignment, CREDENTIALS));
        let mut set =
            |name: &str, value: OsString| launch.environment.push((name.into(), Some(value)));
        set("CODEX_HOME", self.home.clone().into());
        set(LOG.0, LOG.1.into());
        if let Some((variable, key)) = self.account.exposed_key() {
            set(variable, key.into());
        }
        launch
    }

    /// Returns the permissions on this machine. Inside Unstuck's namespaces Codex needs no sandbox
    /// of its own, which would deny what the wall allows.
    pub(super) fn effective_access(&self, assignment: &AgentAssignment) -> CodexAccess {
        let enclosed =
            assignment.wall.writable.is_some() && WallLayers::detect().bubblewrap.is_some();
        if enclosed { CodexAccess::Full } else { self.access }
    }

    /// Returns the wall. Codex's own sandbox cannot be set up behind Unstuck's wall, so only one of
    /// them is used.
    pub(super) fn build_wall(&self, assignment: &AgentAssignment) -> Wall {
        match self.effective_access(assignment) {
            CodexAccess::Workspace => Wall::default(),
            CodexAccess::Full => {
                program::build_wall(assignment, &self.program, [self.home.clone()])
            }
        }
    }

    fn operator_log_level<'a>(&'a self, assignment: &'a AgentAssignment) -> Option<&'a OsString> {
        let mut all = assignment.environment.iter().chain(&self.environment);
        all.find(|(name, _)| name == LOG.0).map(|(_, value)| value)
    }

    /// Returns the variables of credentials and of the log level: the commands that Codex runs need
    /// none of them.
    fn hidden_variables(&self) -> Vec<&str> {
        let own = match &self.account {
            AccountAuth::Key(key) => Some(&*key.variable),
            AccountAuth::Login(_) => None,
        };
        CREDENTIALS.iter().copied().chain([LOG.0]).chain(own).collect()
    }

    /// Returns the settings; a JSON string is valid TOML as well.
    fn build_configuration(&self, assignment: &AgentAssignment) -> Vec<String> {
        let mut settings = vec![
            "model_provider=\"unstuck\"".to_owned(),
            format!("{PROVIDER}.name=\"OpenAI\""),
            format!("{PROVIDER}.wire_api=\"responses\""),
            format!("{PROVIDER}.request_max_retries=0"),
            // Codex respects the wait that the service asks for, and logs its length only when it
            // is about to wait.
            format!("{PROVIDER}.stream_max_retries=1"),
            "check_for_update_on_startup=false".to_owned(),
            "analytics.enabled=false".to_owned(),
            // A login shell sets `PATH` anew, and Unstuck's entries would be lost.
            "allow_login_shell=false".to_owned(),
            // Codex would write its whole environment to a file, which stays behind when Codex is
            // killed.
            "features.shell_snapshot=false".to_owned(),
            format!("shell_environment_policy.exclude={}", json!(self.hidden_variables())),
        ];
        settings.extend(
            assignment
                .worktree_above()
                .map(|root| format!("sandbox_workspace_write.writable_roots={}", json!([root]))),
        );
        settings.extend(self.operator_log_level(assignment).map(|value| {
            format!("shell_environment_policy.set.{}={}", LOG.0, json!(value.to_string_lossy()))
        }));
        settings.extend(
            self.base_url.as_ref().map(|url| format!("{PROVIDER}.base_url={}", json!(url))),
        );
        settings.push(match &self.account {
            AccountAuth::Key(key) => format!("{PROVIDER}.env_key={}", json!(key.variable)),
            AccountAuth::Login(_) => format!("{PROVIDER}.requires_openai_auth=true"),
        });
        let own_tools = self.own_tools.as_deref();
        let own_tools = own_tools.filter(|_| mcp::can_reach_holder(&assignment.environment));
        settings.extend(own_tools.into_iter().flat_map(own_server_settings));
        settings.extend(self.overrides.iter().cloned());
        settings
    }
}

/// Returns the settings of Unstuck's MCP server. Codex passes on only named variables; their values
/// stay out of its arguments, which every user of the machine can read. The timeout is long,
/// because the server may start slowly on a busy machine.
fn own_server_settings(program: &Path) -> [String; 5] {
    let server = format!("mcp_servers.{}", mcp::NAME);
    [
        format!("{server}.command={}", json!(program.to_string_lossy())),
        format!("{server}.args=[\"mcp\"]"),
        format!("{server}.env_vars={}", json!(mcp::VARIABLES)),
        format!("{server}.default_tools_approval_mode=\"approve\""),
        format!("{server}.startup_timeout_sec=60"),
    ]
}
