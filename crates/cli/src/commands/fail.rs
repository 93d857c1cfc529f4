//! `unstuck fail`: a script says what it fails of.

use std::sync::Arc;

use unstuck_core::engine::{Command, Work};
use unstuck_core::fault::{Category, Fault, Kind, Origin};

use crate::args::Fail;
use crate::build::environment_redactor;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Child};
use crate::render;

/// Where such a failure is raised.
const SOURCE: &str = "script";

/// Carries it out. Whatever becomes of it, a script that ends with this ends with a failure.
pub(crate) fn run(args: &Fail) -> Result<Exit, Error> {
    let Fail { code, message, retry_after } = args;
    if code.row().category == Category::Internal {
        return Err(Error::AboutUs { code: *code });
    }
    let message = environment_redactor().text(message).into_owned();
    let colon = if message.is_empty() { "" } else { ": " };
    render::note(&format!("unstuck: {code}{colon}{message}"));
    let fault = Fault::new(Kind::bare(*code), SOURCE, message).from_origin(Origin::Tool);
    let fault = match retry_after {
        Some(wait) => fault.retry_after(*wait),
        None => fault,
    };
    if let Some(child) = Child::of_environment() {
        let told = project::runtime()?.block_on(tell(&child, fault));
        if let Err(error) = told {
            render::note(&format!("unstuck: nobody was told: {error}"));
        }
    }
    Ok(Exit::of(*code))
}

/// Tells whoever holds the project. Only a script that is being run can fail like this.
async fn tell(child: &Child, fault: Fault) -> Result<(), Error> {
    let client = child.connect().await?;
    match client.belongs() {
        Some(effect) if matches!(effect.what, Work::Execute { .. }) => {
            let (effect, fault) = (effect.id, Arc::new(fault));
            client.command(Command::Blame { effect, fault }).await?;
            Ok(())
        }
        _ => Err(Error::NoScript),
    }
}
