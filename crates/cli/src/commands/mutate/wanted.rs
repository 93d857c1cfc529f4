//! The action that the command line asks for.

use std::ffi::OsString;

use unstuck_core::plan::{Call, CommandCall, MutationKind, MutationSpec, ProbeCommand};
use unstuck_core::time::Span;

use crate::args::{KeyScope, Mutate};
use crate::build::redactor;
use crate::error::{Error, ScriptError};
use crate::project::Project;

/// The longest key.
const KEY_BYTES_MAX: usize = 200;
/// How long a command that may take any time may leave something behind that still appears.
const SETTLE: Span = Span::from_mins(1);
/// How long a probe may take.
const PROBE_MAX: Span = Span::from_mins(1);

/// The action. `alone`: it belongs to no run, so its key counts for the project.
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
        settle_ms: args.settle.or(args.timeout).unwrap_or(SETTLE),
        permanent: alone || args.scope == KeyScope::Project,
        ..MutationSpec::default()
    })
}

/// Recognises the same command again; the command itself is not kept.
fn digest(command: &[OsString]) -> u64 {
    let mut words = command.iter().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    let arguments = words.collect();
    Call::Command(CommandCall { program, arguments, ..CommandCall::default() }).digest()
}
