//! `unstuck fail`: lets a script state the reason of its failure.

use unstuck_core::engine::EffectKind;
use unstuck_core::fault::{Category, Code};
use unstuck_core::time::Span;
use unstuck_runner::control::ScriptFailure;

use crate::args::{parse_code, parse_span};
use crate::error::{CliError, ScriptError};
use crate::exit::Exit;
use crate::project::{self, EnclosingRun};
use crate::render;
use crate::settings::environment_redactor;

/// Report from inside a script why it fails
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Lets a script report why it fails, so that its output need not be interpreted. \
        Inside `unstuck exec` and jobs the code decides what happens next when the script ends \
        without success: wait and try again, ask you to log in, or repair the script.\n\n\
        The exit code fits the failure and is never 0, so that a script can end with it. This also \
        works without Unstuck around it.",
    after_long_help = FAIL_EXAMPLES
)]
pub(crate) struct FailArgs {
    /// The code, such as `AUTH_EXPIRED`; `unstuck explain` lists all
    #[arg(long, value_name = "CODE", value_parser = parse_code)]
    code: Code,

    /// A message for the operator: what went wrong
    #[arg(long, value_name = "TEXT", default_value = "")]
    message: String,

    /// The service, account or host that the failure is about
    #[arg(long, value_name = "NAME")]
    account: Option<String>,

    /// How long the service asked to wait: 30, 30s, 10m
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    retry_after: Option<Span>,
}

const FAIL_EXAMPLES: &str = "\
Examples:
  ./login || exec unstuck fail --code AUTH_EXPIRED --account 'the shop'
  unstuck fail --code TOOL_RATE_LIMIT --retry-after 90s; exit 75

Exit codes: 75 for temporary failures, 77 for logins and permissions, 78 for settings, 124 for
timeouts, 1 for everything else.";

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
    let client = child.connect().await.map_err(|source| ScriptError::Unreachable { source })?;
    match client.own_effect() {
        Some(effect) if matches!(effect.what, EffectKind::Execute { .. }) => {
            client.report_failure(stated).await?;
            Ok(())
        }
        _ => Err(ScriptError::NoScript.into()),
    }
}
