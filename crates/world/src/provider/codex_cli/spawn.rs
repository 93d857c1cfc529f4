//! How Codex is started: arguments, environment, and a home of its own.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use unstuck_core::fault::Fault;

use super::{Access, LOGIN, NAME, Settings};
use crate::agent::Assignment;
use crate::mcp;
use crate::process::{Launch, Layers, Wall};
use crate::provider::account::{Account, Key};
use crate::provider::program;

/// What it would get into an account with; it has exactly the one that its account says.
const CREDENTIALS: &[&str] = &["OPENAI_API_KEY", "CODEX_API_KEY"];
/// From the polite signal to the one that cannot be refused: it writes down what it does as it does
/// it, and takes seconds to end by itself.
const GRACE: Duration = Duration::from_millis(150);
/// What it logs: the wait that its service asks for stands nowhere else. A person's own setting is for
/// the commands that it runs.
const LOG: (&str, &str) = ("RUST_LOG", "error,codex_core::responses_retry=warn");
/// The provider that is defined for it. What is built in cannot be changed, and it would try again
/// by itself.
const PROVIDER: &str = "model_providers.unstuck";

impl Settings {
    /// Makes its home, with the way to the person's login in it.
    pub(super) fn prepare(&self) -> Result<(), Fault> {
        program::make_home(&self.home, NAME)?;
        let Account::Login(directory) = &self.account else { return Ok(()) };
        link(&directory.join(LOGIN), &self.home.join(LOGIN))
            .map_err(|error| program::no_home(&self.home, NAME).caused_by(error))
    }

    pub(super) fn launch(&self, assignment: &Assignment) -> Launch {
        let mut launch = program::launch(&self.guard, &self.program, assignment);
        launch.wall = self.wall(assignment);
        launch.grace = GRACE;
        launch.arguments = vec!["app-server".into()];
        for setting in self.configuration(assignment) {
            launch.arguments.extend(["-c".into(), OsString::from(setting)]);
        }
        launch.environment.extend(program::without(&self.environment, assignment, CREDENTIALS));
        let mut set =
            |name: &str, value: OsString| launch.environment.push((name.into(), Some(value)));
        set("CODEX_HOME", self.home.clone().into());
        set(LOG.0, LOG.1.into());
        if let Account::Key(Key { variable, credential: Some(key) }) = &self.account {
            set(variable, key.expose().into());
        }
        launch
    }

    /// What it may do on this machine. In namespaces of ours it needs no sandbox of its own, which
    /// would keep it from what our wall lets it reach.
    pub(super) fn access(&self, assignment: &Assignment) -> Access {
        let enclosed = assignment.wall.writable.is_some() && Layers::here().bubblewrap.is_some();
        if enclosed { Access::Full } else { self.access }
    }

    /// Its own sandbox cannot be put up from behind a wall of ours: one of the two stands.
    pub(super) fn wall(&self, assignment: &Assignment) -> Wall {
        let login = match &self.account {
            Account::Login(directory) => Some(directory.join(LOGIN)),
            Account::Key(_) => None,
        };
        match self.access(assignment) {
            Access::Workspace => Wall::default(),
            Access::Full => program::wall(
                assignment,
                &self.program,
                login.into_iter().chain([self.home.clone()]),
            ),
        }
    }

    /// What of the person's says how much programs log.
    fn persons_log<'a>(&'a self, assignment: &'a Assignment) -> Option<&'a OsString> {
        let mut all = assignment.environment.iter().chain(&self.environment);
        all.find(|(name, _)| name == LOG.0).map(|(_, value)| value)
    }

    /// The variables that it gets into its account with, and what it logs: the commands that it runs
    /// need none of them.
    fn kept_from_commands(&self) -> Vec<&str> {
        let own = match &self.account {
            Account::Key(key) => Some(&*key.variable),
            Account::Login(_) => None,
        };
        CREDENTIALS.iter().copied().chain([LOG.0]).chain(own).collect()
    }

    /// A JSON text is one of TOML as well.
    fn configuration(&self, assignment: &Assignment) -> Vec<String> {
        let mut settings = vec![
            "model_provider=\"unstuck\"".to_owned(),
            format!("{PROVIDER}.name=\"OpenAI\""),
            format!("{PROVIDER}.wire_api=\"responses\""),
            format!("{PROVIDER}.request_max_retries=0"),
            // It keeps to the wait that the service asks for, and says how long it is only when it is
            // going to wait.
            format!("{PROVIDER}.stream_max_retries=1"),
            "check_for_update_on_startup=false".to_owned(),
            "analytics.enabled=false".to_owned(),
            // A login shell sets the path anew, and what we put on it would be lost.
            "allow_login_shell=false".to_owned(),
            // It would write its whole environment into a file, which outlives it when it is killed.
            "features.shell_snapshot=false".to_owned(),
            format!("shell_environment_policy.exclude={}", json!(self.kept_from_commands())),
        ];
        settings.extend(self.persons_log(assignment).map(|value| {
            format!("shell_environment_policy.set.{}={}", LOG.0, json!(value.to_string_lossy()))
        }));
        settings.extend(
            self.base_url.as_ref().map(|url| format!("{PROVIDER}.base_url={}", json!(url))),
        );
        settings.push(match &self.account {
            Account::Key(key) => format!("{PROVIDER}.env_key={}", json!(key.variable)),
            Account::Login(_) => format!("{PROVIDER}.requires_openai_auth=true"),
        });
        let own_tools = self.own_tools.as_deref();
        let own_tools = own_tools.filter(|_| mcp::reaches_us(&assignment.environment));
        settings.extend(own_tools.into_iter().flat_map(own));
        settings.extend(self.overrides.iter().cloned());
        settings
    }
}

/// Our own server of tools. Codex hands on only variables that are named; what they hold stays out
/// of its arguments, which anybody on the machine can read. On a busy machine it may take a while to
/// start.
fn own(program: &Path) -> [String; 5] {
    let server = format!("mcp_servers.{}", mcp::NAME);
    [
        format!("{server}.command={}", json!(program.to_string_lossy())),
        format!("{server}.args=[\"mcp\"]"),
        format!("{server}.env_vars={}", json!(mcp::VARIABLES)),
        format!("{server}.default_tools_approval_mode=\"approve\""),
        format!("{server}.startup_timeout_sec=60"),
    ]
}

/// Codex renews a login in the same file, so that a link to it stays one and both homes have the
/// newest.
fn link(login: &Path, at: &Path) -> io::Result<()> {
    if std::fs::read_link(at).is_ok_and(|target| target == login) {
        return Ok(());
    }
    match std::fs::remove_file(at) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    symlink(login, at)
}
