//! The ways out that a task's programs have, and what was refused on them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use unstuck_core::engine::{Command, Note};
use unstuck_core::fault::{Category, Code, ErrorType, Fault, Kind, Missing};
use unstuck_world::agent::Assignment;
use unstuck_world::egress::{Egress, EgressPolicy, JAVA_OPTIONS};
use unstuck_world::process::Wall;
use unstuck_world::workspace::Shell;

use super::settings::TaskSettings;
use super::worker::ModelWorker;
use super::world::Shared;
use crate::world::Order;

const SOURCE: &str = "egress";
/// How many refusals of one attempt are told one by one.
const NOTED_MAX: usize = 5;

impl Shared {
    /// Opens the ways out of an agent program; they are open until the result is dropped.
    pub(super) async fn open_egress(
        &self,
        order: &Order,
        task: &TaskSettings,
        assignment: &mut Assignment,
    ) -> Result<Option<Egress>, Fault> {
        let Assignment { wall, environment, .. } = assignment;
        let opened = task.egress.apply(&self.egress_socket(order), wall, environment).await;
        opened.map_err(|error| not_open().caused_by(error))
    }

    /// What is kept from the commands that a model runs, what they find in their environment for it,
    /// and the ways out that are left to them.
    pub(super) async fn open_for_commands(
        &self,
        order: &Order,
        worker: &ModelWorker,
        wall: Wall,
    ) -> Result<(Wall, Vec<(OsString, Option<OsString>)>, Option<Egress>), Fault> {
        if !worker.network.can_filter() {
            return Ok((wall, Vec::new(), None));
        }
        let shell = Shell { wall, environment: Vec::new(), ..self.shell(order) };
        let (shell, egress) = self.shell_reaching(order, &worker.egress, shell).await?;
        Ok((shell.wall, shell.environment, egress))
    }

    /// A shell for checks, which have a time and ways out of their own.
    pub(crate) async fn shell_of_checks(
        &self,
        order: &Order,
    ) -> Result<(Shell, Option<Egress>), Fault> {
        let timeout = self.settings.check_timeout;
        let shell = Shell { timeout, ..self.shell(order) };
        self.shell_reaching(order, &self.settings.check_egress, shell).await
    }

    /// A shell with the ways out that `policy` gives; they are open until the second is dropped.
    pub(super) async fn shell_reaching(
        &self,
        order: &Order,
        policy: &EgressPolicy,
        mut shell: Shell,
    ) -> Result<(Shell, Option<Egress>), Fault> {
        let options = JAVA_OPTIONS.iter();
        let options = options.filter_map(|name| Some((name.into(), shell.variable(name)?)));
        let mut added = options.collect();
        let opened = policy.apply(&self.egress_socket(order), &mut shell.wall, &mut added).await;
        let egress = opened.map_err(|error| not_open().caused_by(error))?;
        shell.environment.extend(added.into_iter().map(|(name, value)| (name, Some(value))));
        Ok((shell, egress))
    }

    /// Writes down what the proxy of an attempt refused.
    pub(super) async fn note_refused_hosts(&self, order: &Order, egress: &Egress) {
        for refused in egress.refusals().into_iter().take(NOTED_MAX) {
            let times = if refused.times > 1 {
                format!(" ({} times)", refused.times)
            } else {
                String::new()
            };
            let note = Note::Refused {
                what: format!("connect to {}{times}", refused.target).into(),
                why: Arc::from(refused.reason.to_string()),
            };
            let note = Command::Note { effect: order.effect.id, note };
            if let Err(error) = self.decider.command(note).await {
                tracing::debug!(%error, "a refused host could not be noted");
            }
        }
    }

    /// Beside the run's lock, so that it is found and removed with it.
    fn egress_socket(&self, order: &Order) -> PathBuf {
        let lock = self.runs.lock_path(order.effect.task, order.effect.run);
        lock.with_extension("egress")
    }
}

/// The fault of a command, with what the proxy refused it. What lies behind a refused host is no
/// outage: a person has to allow it.
pub(super) fn explain_refused(mut fault: Fault, egress: Option<&Egress>) -> Fault {
    let refused = egress.map(Egress::refusals).unwrap_or_default();
    let lines: Vec<String> =
        refused.iter().take(NOTED_MAX).map(|refused| format!("[{}]", refused.sentence())).collect();
    if lines.is_empty() {
        return fault;
    }
    let said = format!("{}\n{}", fault.message.trim_end(), lines.join("\n"));
    if let Kind::ValidationPreCommit(context)
    | Kind::ValidationPrePush(context)
    | Kind::ValidationPrePr(context) = &mut fault.kind
    {
        context.output = format!("{}\n{}", context.output.trim_end(), lines.join("\n"));
        return fault;
    }
    let is_outage =
        fault.category() == Category::Environment && fault.error_type() == ErrorType::Network;
    // A setup command has a question of its own.
    if is_outage && fault.code() != Code::EnvDiskFull && !fault.is_of_setup() {
        let what = refused[0].target.clone();
        return Fault::precondition_missing(fault.source, said, Missing { what });
    }
    Fault { message: said, ..fault }
}

fn not_open() -> Fault {
    let what = "a socket for the proxy beside the run's lock file".to_owned();
    let message = "the proxy through which the agent reaches its service could not be started";
    Fault::precondition_missing(SOURCE, message, Missing { what })
}
