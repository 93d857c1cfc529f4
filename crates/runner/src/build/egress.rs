//! Network access of a task's programs, and the record of refused connections.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use unstuck_core::engine::{Command, RunNote};
use unstuck_core::fault::{Category, Code, ErrorType, Fault, Kind, Missing};
use unstuck_core::text::{QUESTION_CHARS_MAX, quote_words};
use unstuck_world::agent::AgentAssignment;
use unstuck_world::egress::{EgressPolicy, EgressProxy, JAVA_OPTIONS, RefusedTarget};
use unstuck_world::process::Wall;
use unstuck_world::workspace::Shell;

use super::context::BuildContext;
use super::settings::{ModelWorker, TaskSettings};
use crate::effects::EffectRequest;

const SOURCE: &str = "egress";
/// Maximum number of refusals of one attempt that are reported individually.
const NOTED_MAX: usize = 5;
/// Maximum number of refused connections to a host that count as the agent program's own.
const OWN_CALLS_MAX: u64 = 5;

impl BuildContext {
    /// Opens the network access of an agent program, until the result is dropped.
    pub(super) async fn open_egress(
        &self,
        order: &EffectRequest,
        task: &TaskSettings,
        assignment: &mut AgentAssignment,
    ) -> Result<Option<EgressProxy>, Fault> {
        let AgentAssignment { wall, environment, .. } = assignment;
        let opened =
            task.egress.apply_to_run(&self.egress_socket_path(order), wall, environment).await;
        opened.map_err(|error| proxy_not_started_fault().with_cause(error))
    }

    /// Returns the sandbox of the commands that a model runs, the environment variables for its
    /// proxy, and the proxy, which serves until it is dropped.
    pub(super) async fn open_command_egress(
        &self,
        order: &EffectRequest,
        worker: &ModelWorker,
        wall: Wall,
    ) -> Result<(Wall, Vec<(OsString, Option<OsString>)>, Option<EgressProxy>), Fault> {
        if !worker.network.can_filter() {
            return Ok((wall, Vec::new(), None));
        }
        let shell = Shell { wall, environment: Vec::new(), ..self.task_shell(order) };
        let (shell, egress) = self.open_shell_with_egress(order, &worker.egress, shell).await?;
        Ok((shell.wall, shell.environment, egress))
    }

    /// Returns a shell for checks, which have a timeout and network access of their own.
    pub(crate) async fn open_check_shell(
        &self,
        order: &EffectRequest,
    ) -> Result<(Shell, Option<EgressProxy>), Fault> {
        let timeout = self.settings.check_timeout;
        let shell = Shell { timeout, ..self.task_shell(order) };
        self.open_shell_with_egress(order, &self.settings.check_egress, shell).await
    }

    /// Returns a shell with the network access of `policy`, until the [`EgressProxy`] is dropped.
    pub(super) async fn open_shell_with_egress(
        &self,
        order: &EffectRequest,
        policy: &EgressPolicy,
        mut shell: Shell,
    ) -> Result<(Shell, Option<EgressProxy>), Fault> {
        let options = JAVA_OPTIONS.iter();
        let options = options.filter_map(|name| Some((name.into(), shell.find_variable(name)?)));
        let mut added = options.collect();
        let opened =
            policy.apply_to_run(&self.egress_socket_path(order), &mut shell.wall, &mut added).await;
        let egress = opened.map_err(|error| proxy_not_started_fault().with_cause(error))?;
        shell.environment.extend(added.into_iter().map(|(name, value)| (name, Some(value))));
        Ok((shell, egress))
    }

    /// Records the connections that the proxy of an attempt refused, except a few to the hosts that the
    /// agent's program connects to by itself.
    pub(super) async fn note_refused_hosts(
        &self,
        order: &EffectRequest,
        egress: &EgressProxy,
        own_hosts: &[&str],
    ) {
        let refused = egress.list_refusals().into_iter();
        for refused in refused.filter(|refused| !is_own_call(refused, own_hosts)).take(NOTED_MAX) {
            let times = if refused.times > 1 {
                format!(" ({} times)", refused.times)
            } else {
                String::new()
            };
            let note = RunNote::Refused {
                what: format!("connect to {}{times}", refused.target).into(),
                why: Arc::from(refused.reason.to_string()),
            };
            let note = Command::Note { effect: order.effect.id, note };
            if let Err(error) = self.decider.submit_command(note).await {
                tracing::debug!(%error, "a refused host could not be noted");
            }
        }
    }

    /// Returns the path of the proxy's socket, next to the run's lock so that it is found and
    /// removed with it.
    fn egress_socket_path(&self, order: &EffectRequest) -> PathBuf {
        let lock = self.runs.lock_path(order.effect.task, order.effect.run);
        lock.with_extension("egress")
    }
}

/// Returns whether an agent program itself may have made these connections to one of its hosts.
fn is_own_call(refused: &RefusedTarget, own_hosts: &[&str]) -> bool {
    let host = refused.target.split(':').next().unwrap_or_default();
    refused.times <= OWN_CALLS_MAX && own_hosts.contains(&host)
}

/// The connections that the sandbox of a command refused.
pub(super) struct Refusals {
    /// The first of them, or the setting that would allow them.
    pub(super) target: String,
    /// A line for each, with the setting that would allow it.
    pub(super) lines: Vec<String>,
    /// The line of the settings that would allow the first.
    pub(super) allowed_by: Option<String>,
}

impl Refusals {
    /// Returns the connections that a proxy refused; `None` if it refused none.
    pub(super) fn of_proxy(egress: &EgressProxy) -> Option<Self> {
        let refused = egress.list_refusals();
        let RefusedTarget { target, allowed_by, .. } = refused.first()?.clone();
        let lines = refused.iter().take(NOTED_MAX).map(RefusedTarget::render_sentence).collect();
        Some(Self { target, lines, allowed_by })
    }

    /// Returns how the sandbox stopped a command, to be put after its name.
    fn describe_stop(&self) -> String {
        let in_quotes = |words: &str| quote_words(words, QUESTION_CHARS_MAX).unwrap_or_default();
        let target = in_quotes(&self.target);
        let line = self.allowed_by.as_deref().map(|lines| in_quotes(&lines.replace('\n', " ")));
        let allows =
            line.map_or_else(String::new, |line| format!(" ({line} in the settings allows it)"));
        format!("was refused the connection to {target} by the sandbox{allows}")
    }

    /// Formats the lines in brackets, as they follow an output.
    pub(super) fn render(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(|line| format!("[{line}]")).collect();
        lines.join("\n")
    }
}

/// Adds the connections that the proxy refused to the fault of a command.
pub(super) fn explain_refused_hosts(fault: Fault, egress: Option<&EgressProxy>) -> Fault {
    match egress.and_then(Refusals::of_proxy) {
        Some(refused) => add_refusals(fault, &refused),
        None => fault,
    }
}

/// Adds refused connections to the fault of a command. A refused host is not an outage: the
/// operator has to allow it.
pub(super) fn add_refusals(mut fault: Fault, refused: &Refusals) -> Fault {
    let lines = refused.render();
    let said = format!("{}\n{lines}", fault.message.trim_end());
    if let Kind::ValidationPreCommit(context)
    | Kind::ValidationPrePush(context)
    | Kind::ValidationPrePr(context) = &mut fault.kind
    {
        context.output = format!("{}\n{lines}", context.output.trim_end());
        return fault;
    }
    let is_outage =
        fault.category() == Category::Environment && fault.error_type() == ErrorType::Network;
    // Setup commands have a question of their own.
    if is_outage && fault.code() != Code::EnvDiskFull && !fault.is_setup_failure() {
        let what = refused.target.clone();
        return Fault::precondition_missing(fault.source, said, Missing { what });
    }
    let cause = fault.is_setup_failure().then(|| refused.describe_stop());
    Fault { message: said, cause: cause.or(fault.cause), ..fault }
}

fn proxy_not_started_fault() -> Fault {
    let what = "a socket for the proxy beside the run's lock file".to_owned();
    let message = "the proxy through which the agent reaches its service could not be started";
    Fault::precondition_missing(SOURCE, message, Missing { what })
}

#[cfg(test)]
mod tests {
    use unstuck_world::egress::RefusalReason;

    use super::*;

    #[test]
    fn a_few_calls_of_the_program_itself_are_no_news() {
        let refused = |target: &str, times| RefusedTarget {
            target: target.to_owned(),
            reason: RefusalReason::NotListed,
            times,
            allowed_by: None,
        };
        let own = ["github.com"];
        assert!(is_own_call(&refused("github.com:443", OWN_CALLS_MAX), &own));
        assert!(!is_own_call(&refused("github.com:443", OWN_CALLS_MAX + 1), &own));
        assert!(!is_own_call(&refused("api.github.com:443", 1), &own));
    }
}
