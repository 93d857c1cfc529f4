//! `unstuck fail`: lets a script state the reason of its failure.

use unstuck_core::engine::Work;
use unstuck_core::fault::Category;
use unstuck_runner::control::Stated;

use crate::args::Fail;
use crate::build::environment_redactor;
use crate::error::{Error, ScriptError};
use crate::exit::Exit;
use crate::project::{self, Child};
use crate::render;

/// Reports the failure and returns its exit code, whether the report arrives or not, so that a script that
/// ends with this command ends with a failure.
pub(crate) fn run(args: &Fail) -> Result<Exit, Error> {
    let Fail { code, message, account, retry_after } = args;
    if code.row().category == Category::Internal {
        return Err(ScriptError::AboutUs { code: *code }.into());
    }
    let message = environment_redactor().text(message).into_owned();
    let colon = if message.is_empty() { "" } else { ": " };
    render::note(&format!("unstuck: {code}{colon}{message}"));
    // Rounded up to whole seconds: a retry that is too early would only have to wait again.
    let wait = retry_after.map(|wait| wait.as_millis().div_ceil(1_000));
    if let Some(child) = Child::of_environment() {
        let account = account.as_ref().map(|name| environment_redactor().text(name).into_owned());
        let stated = Stated { code: *code, message, retry_after_seconds: wait, account };
        let told = project::runtime()?.block_on(tell(&child, stated));
        if let Err(error) = told {
            render::note(&format!("unstuck: it could not be reported: {error}"));
        }
    }
    Ok(Exit::of(*code))
}

/// Reports the failure to the holder. Only a running script can fail like this.
async fn tell(child: &Child, stated: Stated) -> Result<(), Error> {
    let client = child.connect().await?;
    match client.belongs() {
        Some(effect) if matches!(effect.what, Work::Execute { .. }) => {
            client.fail(stated).await?;
            Ok(())
        }
        _ => Err(ScriptError::NoScript.into()),
    }
}
