//! Parses the action of the command line.

use std::ffi::OsString;

use unstuck_core::plan::{
    Call, CommandCall, MutationKind, MutationSpec, ProbeCommand, render_command_line,
};
use unstuck_core::time::Span;
use unstuck_world::commands::{CommandPolicy, CommandRules};
use unstuck_world::mcp::DECLARABLE;
use unstuck_world::tool::{Declaration, DeclarationPolicy, IrreversibleAction};

use crate::args::{MutateArgs, MutateKeyScope};
use crate::build::project_redactor;
use crate::error::{CliError, ScriptError};
use crate::project::LocalProject;
use crate::render::words;
use crate::settings::environment_variable;

/// Maximum length of a key.
const KEY_BYTES_MAX: usize = 200;
/// Default time after which the effect of a command without a timeout no longer appears.
const SETTLE: Span = Span::from_mins(1);
/// Maximum time for a probe.
const PROBE_MAX: Span = Span::from_mins(1);

/// Maximum length of a command line that is shown.
const LINE_COLUMNS_MAX: usize = 500;

/// The refusal for a declared command with a secret: it is stored as it is until the checks have passed.
const SPELLS_A_SECRET: &str = "its command spells a secret out that would be kept; quote the variable, \
    so that it is put in when the command runs";

/// Returns the action. With `alone` it belongs to no run, so its key always counts for the whole project.
pub(super) fn action_spec(
    args: &MutateArgs,
    alone: bool,
    project: &LocalProject,
) -> Result<MutationSpec, CliError> {
    let key = args.key.trim();
    let unfit = |why: &'static str| CliError::from(ScriptError::UnfitKey { why });
    if key.is_empty() {
        return Err(unfit("it is empty"));
    }
    if key.len() > KEY_BYTES_MAX || key.contains(char::is_control) {
        return Err(unfit("it is too long, or holds more than plain text"));
    }
    let kept = format!("{key}\n{}", args.probe.as_deref().unwrap_or_default());
    if *project_redactor(project).redact_text(&kept) != *kept {
        return Err(unfit("it, or its probe, spells a secret out that would be kept"));
    }
    let look_up = args.probe.as_ref().map(|probe| ProbeCommand {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), probe.clone()],
        timeout_ms: args.timeout.map_or(PROBE_MAX, |timeout| timeout.min(PROBE_MAX)),
    });
    Ok(MutationSpec {
        key: key.to_owned(),
        kind: MutationKind::Command,
        arguments: command_digest(&args.command),
        probe: look_up.is_some(),
        look_up,
        line: Some(redacted_command_line(args, project)),
        settle_ms: args.settle.or(args.timeout).unwrap_or(SETTLE),
        permanent: alone || args.scope != Some(MutateKeyScope::Firing),
        ..MutationSpec::default()
    })
}

/// Returns the action as an agent's task declares it, a shell line that runs after the checks in the
/// agent's current folder, with the resources that such actions may use.
pub(super) fn declared_action(
    args: &MutateArgs,
    spec: &MutationSpec,
    project: &LocalProject,
) -> Result<(MutationSpec, DeclarationPolicy), CliError> {
    let words: Vec<String> =
        args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some((program, arguments)) = words.split_first() else {
        return Err(ScriptError::NoCommand.into());
    };
    let line = render_command_line(program, arguments);
    if *project_redactor(project).redact_text(&line) != *line {
        return Err(ScriptError::UnfitKey { why: SPELLS_A_SECRET }.into());
    }
    let command = match folder_in_worktree() {
        Some(folder) => format!("cd {} && {line}", render_command_line(&folder, &[])),
        None => line,
    };
    let timeout_seconds = args.timeout.map(|timeout| timeout.as_millis().div_ceil(1_000));
    let declaration = Declaration {
        key: spec.key.clone(),
        action: IrreversibleAction::Command { command, secrets: Vec::new(), timeout_seconds },
        probe: args.probe.clone(),
        after: None,
    };
    let told = environment_variable(DECLARABLE).and_then(|told| serde_json::from_str(&told).ok());
    let declarable: DeclarationPolicy = told.unwrap_or_default();
    let commands = CommandPolicy::new(&CommandRules::default());
    let declared = declarable.build_spec(&declaration, &commands).map_err(CliError::Fault)?;
    Ok((MutationSpec { permanent: spec.permanent, ..declared }, declarable))
}

/// Returns the current folder relative to the root of its worktree; `None` at the root.
fn folder_in_worktree() -> Option<String> {
    let here = std::env::current_dir().ok()?;
    let root = here.ancestors().find(|folder| folder.join(".git").exists())?;
    let folder = here.strip_prefix(root).ok()?.to_str()?;
    (!folder.is_empty()).then(|| folder.to_owned())
}

/// Returns the command line that is shown if the outcome is unknown, with secrets redacted.
fn redacted_command_line(args: &MutateArgs, project: &LocalProject) -> String {
    let words: Vec<String> =
        args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some((program, arguments)) = words.split_first() else { return String::new() };
    let line = render_command_line(program, arguments);
    words::cut_to_columns(&project_redactor(project).redact_text(&line), LINE_COLUMNS_MAX)
}

/// Returns a digest that identifies the command; the command itself is not stored.
fn command_digest(command: &[OsString]) -> u64 {
    let mut words = command.iter().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    let arguments = words.collect();
    Call::Command(CommandCall { program, arguments, ..CommandCall::default() }).digest()
}
