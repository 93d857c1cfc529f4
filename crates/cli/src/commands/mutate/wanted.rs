//! Parses the action of the command line.

use std::ffi::OsString;

use unstuck_core::plan::{Call, CommandCall, MutationKind, MutationSpec, ProbeCommand, line_of};
use unstuck_core::time::Span;
use unstuck_world::commands::{Commands, Rules};
use unstuck_world::mcp::DECLARABLE;
use unstuck_world::tool::{Declarable, Declaration, Irreversible};

use crate::args::{KeyScope, Mutate};
use crate::build::redactor;
use crate::error::{Error, ScriptError};
use crate::project::Project;
use crate::render::words;
use crate::settings::variable;

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
pub(super) fn spec(args: &Mutate, alone: bool, project: &Project) -> Result<MutationSpec, Error> {
    let key = args.key.trim();
    let unfit = |why: &'static str| Error::from(ScriptError::UnfitKey { why });
    if key.is_empty() {
        return Err(unfit("it is empty"));
    }
    if key.len() > KEY_BYTES_MAX || key.contains(char::is_control) {
        return Err(unfit("it is too long, or holds more than plain text"));
    }
    let kept = format!("{key}\n{}", args.probe.as_deref().unwrap_or_default());
    if *redactor(project).text(&kept) != *kept {
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
        arguments: digest(&args.command),
        probe: look_up.is_some(),
        look_up,
        line: Some(line(args, project)),
        settle_ms: args.settle.or(args.timeout).unwrap_or(SETTLE),
        permanent: alone || args.scope != Some(KeyScope::Firing),
        ..MutationSpec::default()
    })
}

/// Returns the action as an agent's task declares it, a shell line that runs after the checks in the
/// agent's current folder, with the resources that such actions may use.
pub(super) fn declared(
    args: &Mutate,
    spec: &MutationSpec,
    project: &Project,
) -> Result<(MutationSpec, Declarable), Error> {
    let words: Vec<String> =
        args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some((program, arguments)) = words.split_first() else {
        return Err(ScriptError::NoCommand.into());
    };
    let line = line_of(program, arguments);
    if *redactor(project).text(&line) != *line {
        return Err(ScriptError::UnfitKey { why: SPELLS_A_SECRET }.into());
    }
    let command = match folder_in_worktree() {
        Some(folder) => format!("cd {} && {line}", line_of(&folder, &[])),
        None => line,
    };
    let timeout_seconds = args.timeout.map(|timeout| timeout.as_millis().div_ceil(1_000));
    let declaration = Declaration {
        key: spec.key.clone(),
        action: Irreversible::Command { command, secrets: Vec::new(), timeout_seconds },
        probe: args.probe.clone(),
        after: None,
    };
    let told = variable(DECLARABLE).and_then(|told| serde_json::from_str(&told).ok());
    let declarable: Declarable = told.unwrap_or_default();
    let commands = Commands::new(&Rules::default());
    let declared = declarable.action(&declaration, &commands).map_err(Error::Fault)?;
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
fn line(args: &Mutate, project: &Project) -> String {
    let words: Vec<String> =
        args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some((program, arguments)) = words.split_first() else { return String::new() };
    let line = line_of(program, arguments);
    words::cut(&redactor(project).text(&line), LINE_COLUMNS_MAX)
}

/// Returns a digest that identifies the command; the command itself is not stored.
fn digest(command: &[OsString]) -> u64 {
    let mut words = command.iter().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    let arguments = words.collect();
    Call::Command(CommandCall { program, arguments, ..CommandCall::default() }).digest()
}
