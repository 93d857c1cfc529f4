//! `unstuck fail`: lets a script state the reason of its failure.

use unstuck_core::engine::EffectKind;
use unstuck_core::fault::Category;
use unstuck_runner::control::ScriptFailure;

use crate::args::FailArgs;
use crate::build::environment_redactor;
use crate::error::{CliError, ScriptError};
use crate::exit::Exit;
use crate::project::{self, EnclosingRun};
use crate::render;

/// Reports the failure and returns its exit code, whether the report arrives or not, so that a script that
/// ends with this command ends with a failure.
pub(crate) fn run(args: &FailArgs) -> Result<Exit, CliError> {
    let FailArgs { code, message, account, retry_after } = args;
    if code.row().category == Category::Internal {
        return Err(ScriptError::AboutUs { code: *code }.into());
    }
    let message = environment_redactor().redact_text(message).into_owned();
    let colon = if message.is_empty() { "" } else { ": " };
    render::write_note(&format!("unstuck: {code}{colon}{message}"));
    // Rounded up to whole seconds: a retry that is too early would only have to wait again.
    let wait = retry_after.map(|wait| wait.as_millis().div_ceil(1_000));
    if let Some(child) = EnclosingRun::from_environment() {
        let account =
            account.as_ref().map(|name| environment_redactor().redact_text(name).into_owned());
        let stated = ScriptFailure { code: *code, message, retry_after_seconds: wait, account };
        let told = project::create_runtime()?.block_on(report_failure(&child, stated));
        if let Err(error) = told {
            render::write_note(&format!("unstuck: it could not be reported: {error}"));
        }
    }
    Ok(Exit::from_code(*code))
}

/// Reports the failure to the holder. Only a running script can fail like this.
async fn report_failure(child: &EnclosingRun, stated: ScriptFailure) -> Result<(), CliError> {
    let client = child.connect().await?;
    match client.own_effect() {
        Some(effect) if matches!(effect.what, EffectKind::Execute { .. }) => {
            client.report_failure(stated).await?;
            Ok(())
        }
        _ => Err(ScriptError::NoScript.into()),
    }
}
