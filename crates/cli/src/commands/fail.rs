//! `unstuck fail`: a script says what it fails of.

use unstuck_core::engine::Work;
use unstuck_core::fault::{Category, Code};

use crate::args::Fail;
use crate::build::environment_redactor;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Child};
use crate::render;

/// Carries it out. Whatever becomes of it, a script that ends with this ends with a failure.
pub(crate) fn run(args: &Fail) -> Result<Exit, Error> {
    let Fail { code, message, retry_after } = args;
    if code.row().category == Category::Internal {
        return Err(Error::AboutUs { code: *code });
    }
    let message = environment_redactor().text(message).into_owned();
    let colon = if message.is_empty() { "" } else { ": " };
    render::note(&format!("unstuck: {code}{colon}{message}"));
    // Parts of a second are a second: too early would only be told to wait again.
    let wait = retry_after.map(|wait| wait.as_millis().div_ceil(1_000));
    if let Some(child) = Child::of_environment() {
        let told = project::runtime()?.block_on(tell(&child, *code, message, wait));
        if let Err(error) = told {
            render::note(&format!("unstuck: nobody was told: {error}"));
        }
    }
    Ok(Exit::of(*code))
}

/// Tells whoever holds the project. Only a script that is being run can fail like this.
async fn tell(child: &Child, code: Code, message: String, wait: Option<u64>) -> Result<(), Error> {
    let client = child.connect().await?;
    match client.belongs() {
        Some(effect) if matches!(effect.what, Work::Execute { .. }) => {
            client.fail(code, message, wait).await?;
            Ok(())
        }
        _ => Err(Error::NoScript),
    }
}
