//! The tool that runs commands: admission, output, and verdict.
//!
//! A failure that Unstuck's own sandbox caused is told apart: the network and the program are in
//! order, so neither a retry nor a question to the operator of the service helps.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::ActionOutcome;
use unstuck_core::fault::{Category, Code, ErrorType, Fault, text_rules};

use super::declare::DeclarationPolicy;
use super::output::{PreventedAction, SHOWN_BYTES_MAX, ToolOutput, shorten_text};
use super::push::DeclaredPush;
use super::wish::RunCommand;
use crate::commands::{
    CommandEnvironment, CommandPolicy, CommandShims, NetworkIsolation, REFUSALS_MAX, find_refusal,
    irreversible_fault,
};
use crate::egress::{EgressProxy, RefusedTarget};
use crate::process::{
    Connections, DeniedPath, GuardCommand, Launch, ProcessEnd, ProcessResult, Wall, derive_fault,
};
use crate::scope::PathScope;

const SOURCE: &str = "shell";
/// The message for a line that contains an irreversible command which the operator allowed.
const ALONE: &str = "is allowed this once, and nothing of this line ran. Run it as a command of its own: it \
    is then declared, and runs once, after the checks";
/// Maximum number of bytes of a command in its label.
const LABEL_BYTES_MAX: usize = 200;

/// The worktree, the permissions and the settings of the tools of one attempt.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The root of the worktree.
    pub root: PathBuf,
    /// The folder of the project in the worktree: commands start there, and paths are relative to
    /// it.
    pub folder: PathBuf,
    /// The scope of paths that the tools may access.
    pub scope: PathScope,
    /// The policy for commands.
    pub commands: CommandPolicy,
    /// The guard that commands run under.
    pub guard: GuardCommand,
    /// The lock file of the run; its directory exists.
    pub lock: PathBuf,
    /// The environment of commands.
    pub environment: CommandEnvironment,
    /// The shims on the `PATH` of that environment.
    pub shims: CommandShims,
    /// The sandbox of commands, to which `network` adds its part.
    pub wall: Wall,
    /// The network access of commands.
    pub network: NetworkIsolation,
    /// The proxy through which commands reach the allowed hosts; `None` if there are none.
    pub egress: Option<Arc<EgressProxy>>,
    /// Maximum duration of a command.
    pub timeout: Duration,
    /// The secrets, places and rules for actions that are declared for later.
    pub declarable: DeclarationPolicy,
}

impl ToolContext {
    /// Returns the complete sandbox of commands. The log of the shims is writable, because they
    /// record their refusals from inside the sandbox.
    pub(super) fn command_wall(&self) -> Wall {
        let mut wall = self.wall.clone();
        if let Some(writable) = &mut wall.writable {
            writable.extend([self.root.clone(), self.shims.log_file().to_owned()]);
        }
        wall.readable.push(self.shims.folder().to_owned());
        self.network.apply_to_wall(wall)
    }
}

#[derive(Debug)]
pub(super) struct CommandRunner(pub(super) ToolContext);

impl CommandRunner {
    pub(super) async fn run(
        &self,
        ask: &RunCommand,
        stop: &CancellationToken,
    ) -> Result<ToolOutput, Box<Fault>> {
        if let Some(refusal) = self.0.commands.check_line(&ask.command).map_err(Box::new)? {
            if self.0.commands.permits_text(&refusal.command) {
                return Ok(ToolOutput::with_failure(format!("`{}` {ALONE}", refusal.command)));
            }
            // The command is refused even if the refusal cannot be recorded.
            let _ = self.0.shims.note_refusal(&refusal);
            let text = refusal.render_sentence();
            return self.handle_refusal(&ask.command, Some(&refusal.command), text);
        }
        let before = self.0.shims.count_refused();
        let hosts = self.refused_hosts();
        let ended = self.run_process(ask, stop).await?;
        if self.0.shims.count_refused() > before {
            return self.handle_refusal(&ask.command, None, output_text(&ended));
        }
        Ok(self.build_output(&ended, &ask.command, &hosts))
    }

    fn refused_hosts(&self) -> Vec<RefusedTarget> {
        self.0.egress.as_ref().map(|egress| egress.list_refusals()).unwrap_or_default()
    }

    /// Returns what the sandbox kept a failed command from; `hosts` are the targets refused before
    /// it ran.
    fn find_denial(
        &self,
        shown: &ToolOutput,
        output: &str,
        hosts: &[RefusedTarget],
    ) -> Option<DeniedAccess> {
        if shown.outcome != ActionOutcome::Failed {
            return None;
        }
        let refused = self.refused_hosts().into_iter().find(|refused| !hosts.contains(refused));
        match (refused, shown.verdict.as_ref()) {
            (Some(refused), _) => Some(DeniedAccess::Host(refused)),
            (None, Some(fault)) => {
                let at = (&self.0.command_wall(), &*self.0.root.join(&self.0.folder));
                find_denied_access(fault, output, self.0.network, at)
            }
            (None, None) => None,
        }
    }

    /// Builds the result of a command. A refusal by Unstuck's own sandbox is reported as such,
    /// without a verdict.
    fn build_output(
        &self,
        ended: &ProcessResult,
        command: &str,
        hosts: &[RefusedTarget],
    ) -> ToolOutput {
        let shown = render_output(ended, command);
        match self.find_denial(&shown, &output_text(ended), hosts) {
            Some(kept) => ToolOutput {
                text: format!("{}\n[{}]", shown.text, kept.render_for_agent()),
                verdict: None,
                kept_from: Some(PreventedAction::Reaching(kept.render_for_people())),
                ..shown
            },
            None => shown,
        }
    }

    /// Handles a refused irreversible command: returns the explanation to the model at first, and a
    /// fault that goes to the operator from refusal number `REFUSALS_MAX` on.
    /// `command` is the refused command, `None` if a program of the line runs it.
    fn handle_refusal(
        &self,
        line: &str,
        command: Option<&str>,
        text: String,
    ) -> Result<ToolOutput, Box<Fault>> {
        let times = self.0.shims.count_refused();
        if times < REFUSALS_MAX {
            let why = find_refusal(&text).unwrap_or_default().to_owned();
            let kept_from = Some(PreventedAction::Running { command: line.to_owned(), why });
            return Ok(ToolOutput { kept_from, ..ToolOutput::with_failure(text) });
        }
        // A push in another form cannot be declared, so allowing it would change nothing.
        let command = command.filter(|line| !matches!(DeclaredPush::parse(line), Some(Err(_))));
        let why =
            format!("refused {times} times in this run; it goes through mutate or not at all");
        Err(Box::new(irreversible_fault(line, command, &why)))
    }

    async fn run_process(
        &self,
        ask: &RunCommand,
        stop: &CancellationToken,
    ) -> Result<ProcessResult, Box<Fault>> {
        let process = self.build_launch(ask).start().await.map_err(Box::new)?;
        Ok(process.wait_or_stop(stop).await)
    }

    fn build_launch(&self, ask: &RunCommand) -> Launch {
        let line = ["sh".into(), "-c".into(), OsString::from(&ask.command)];
        let ToolContext { guard, lock, environment, network, root, folder, timeout, .. } = &self.0;
        let mut words = network.command_prefix().into_iter().chain(line);
        let program = words.next().unwrap_or_default();
        let mut launch = Launch::new(guard.clone(), lock, root.join(folder), program);
        launch.arguments = words.collect();
        launch.inherits_environment = false;
        launch.environment = environment.variables().to_vec();
        launch.wall = self.0.command_wall();
        let asked = ask.timeout_seconds.map_or(*timeout, Duration::from_secs);
        let total = asked.clamp(Duration::from_secs(1), *timeout);
        launch.deadlines.total = Some(total);
        launch
    }
}

fn output_text(ended: &ProcessResult) -> String {
    String::from_utf8_lossy(&ended.output.to_bytes()).into_owned()
}

fn render_output(ended: &ProcessResult, command: &str) -> ToolOutput {
    let text = shorten_text(output_text(ended).trim_end(), SHOWN_BYTES_MAX);
    let how = match ended.how {
        ProcessEnd::Exited(0) if text.is_empty() => "it ended well and wrote nothing".to_owned(),
        ProcessEnd::Exited(0) => String::new(),
        ProcessEnd::Exited(status) => format!("it ended with status {status}"),
        ProcessEnd::Signalled(signal) => format!("it was ended by signal {signal}"),
        ProcessEnd::TimedOut { limit, .. } => format!(
            "it was ended after {} s; it may have taken effect, so look before you repeat it",
            limit.as_secs()
        ),
        ProcessEnd::Stopped => "it was stopped".to_owned(),
        ProcessEnd::NotStarted(_) => "it could not be started".to_owned(),
        ProcessEnd::BeyondLimit(limit) => format!("it {}", limit.describe()),
        ProcessEnd::Lost { .. } => "it was lost".to_owned(),
    };
    let notes = [how, render_leftovers(ended.leftovers_ended)].into_iter();
    let notes = notes.filter(|note| !note.is_empty()).map(|note| format!("[{note}]"));
    let lines: Vec<String> =
        Some(text).filter(|text| !text.is_empty()).into_iter().chain(notes).collect();
    let fine = ended.how == ProcessEnd::Exited(0);
    let outcome = if fine { ActionOutcome::Succeeded } else { ActionOutcome::Failed };
    let verdict = classify_end(ended, command).map(Box::new);
    ToolOutput { text: lines.join("\n"), outcome, verdict, kept_from: None }
}

fn render_leftovers(processes: u32) -> String {
    match processes {
        0 => String::new(),
        1 => "a process it left behind was ended".to_owned(),
        some => format!("{some} processes it left behind were ended"),
    }
}

/// Classifies how a command ended. One that exits with a status and without any diagnostic only
/// answers "no", so it is no fault.
fn classify_end(ended: &ProcessResult, command: &str) -> Option<Fault> {
    let answers = matches!(ended.how, ProcessEnd::Exited(_))
        && !text_rules::classify_output(&ended.output.to_bytes()).diagnostic;
    let label = &command[..command.floor_char_boundary(LABEL_BYTES_MAX)];
    if answers { None } else { derive_fault(ended, SOURCE, label) }
}

/// The message to the agent if the network is off.
const NO_NETWORK: &str = "commands of this project have no network (commands.network is off): this is \
     no outage, and trying again does not help; work with what is here, or ask a person";

/// The message to the agent if only the proxy is reachable.
const ONLY_PROXY: &str = "commands of this project reach only the hosts that commands.network names, \
     through the proxy that HTTPS_PROXY names: this is no outage, and trying again does not help; \
     use the proxy, work with what is here, or ask a person";

/// Words about a connection, in lower case, in the messages of tools whose connection the system
/// refused.
const CONNECTING: [&str; 5] = ["connect", "resolve", "network", "socket", "host"];

/// Messages of the system for a refusal.
const REFUSED: [&str; 2] = ["permission denied", "operation not permitted"];

#[derive(Clone, Debug, PartialEq, Eq)]
enum DeniedAccess {
    /// All of the network.
    Network {
        /// `true` if a proxy is reachable.
        proxied: bool,
    },
    /// A host that the settings do not name.
    Host(RefusedTarget),
    Path(DeniedPath),
}

impl DeniedAccess {
    fn render_for_agent(&self) -> String {
        match self {
            Self::Network { proxied } => if *proxied { ONLY_PROXY } else { NO_NETWORK }.to_owned(),
            Self::Host(RefusedTarget { target, reason, .. }) => format!(
                "Unstuck refused the connection to {target}: {reason} (commands.network). This is \
                 no outage, and trying again does not help; work with what is here, or ask a person"
            ),
            Self::Path(denied) => {
                format!("{}; work below the worktree, or ask a person", denied.render_sentence())
            }
        }
    }

    fn render_for_people(&self) -> String {
        match self {
            Self::Network { proxied } => {
                let why =
                    if *proxied { "names hosts, and it did not use the proxy" } else { "is off" };
                format!("A command was kept from the network, because commands.network {why}.")
            }
            Self::Host(RefusedTarget { target, reason, .. }) => {
                format!("A command was kept from {target}: {reason} (commands.network).")
            }
            Self::Path(denied) => denied.render_log_message(),
        }
    }
}

/// Returns the access whose denial caused the failure; `None` if the sandbox did not cause it.
fn find_denied_access(
    fault: &Fault,
    output: &str,
    network: NetworkIsolation,
    (wall, directory): (&Wall, &Path),
) -> Option<DeniedAccess> {
    if network.is_off() && looks_like_closed_network(fault.code(), output) {
        let proxied = matches!(&wall.network, Connections::Closed(ways) if !ways.is_empty());
        return Some(DeniedAccess::Network { proxied });
    }
    wall.find_denied(output, directory).map(DeniedAccess::Path)
}

/// Returns whether a failure with this code and output is like that of a program without a network.
pub fn looks_like_closed_network(code: Code, output: &str) -> bool {
    let lower = output.to_lowercase();
    let refused = REFUSED.iter().any(|word| lower.contains(word));
    let row = code.row();
    let outage = row.category == Category::Environment
        && row.error_type == ErrorType::Network
        && code != Code::EnvDiskFull;
    outage || (refused && CONNECTING.iter().any(|word| lower.contains(word)))
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::{Kind, Tool};

    use super::*;

    fn fault(code: Code) -> Fault {
        Fault::new(Kind::bare(code), "shell", "x")
    }

    // B45: a refusal by the sandbox is never classified as an outage.
    #[test]
    fn a_closed_network_is_no_outage() {
        let output = "curl: (6) Could not resolve host: example.org";
        let wall = Wall::default();
        let at = (&wall, Path::new("/"));
        let of = |code, output: &str, network| {
            find_denied_access(&fault(code), output, network, at).is_some()
        };
        for code in [Code::EnvDns, Code::EnvConnection, Code::EnvUnavailable, Code::EnvRegistry] {
            assert!(of(code, output, NetworkIsolation::Landlock), "{code}");
            assert!(!of(code, output, NetworkIsolation::Open), "{code}");
            assert!(!of(code, output, NetworkIsolation::NotPossible), "{code}");
        }
        let refused = "Failed to connect to example.org port 443: Permission denied";
        assert!(of(Code::ToolAccessDenied, refused, NetworkIsolation::Landlock));
        assert!(!of(Code::LogicError, "assertion failed", NetworkIsolation::Landlock));
        assert!(!of(Code::EnvDiskFull, "No space left on device", NetworkIsolation::Landlock));
        let other = Fault::tool_missing("shell", "no jq", Tool::default());
        assert_eq!(
            find_denied_access(&other, "jq: not found", NetworkIsolation::Landlock, at),
            None
        );
    }
}
