//! `unstuck clean`: removes the leftovers of builds that are over, unless they hold changes that are saved
//! nowhere else.

mod page;
mod size;
mod sweep;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use unstuck_store::Store;

use self::sweep::Swept;
use crate::args::Clean;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Line, Project};
use crate::render::{self, Terminal};

const VERB: &str = "clean";

pub(crate) fn run(args: &Clean, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let store = project.store()?;
    let runtime = project::runtime()?;
    let found = || runtime.block_on(held(&project, &store, false));
    let swept = if args.yes {
        runtime.block_on(held(&project, &store, true))?
    } else {
        let found = found()?;
        if args.dry_run || found.would_go() == 0 {
            found
        } else {
            if !args.json {
                tell(&found, false, terminal)?;
            }
            // The project is released while the operator decides; the sweep is repeated afterwards.
            if !render::agreed(terminal, VERB, "Remove this?")? {
                let mut out = terminal.styled();
                writeln!(out, "Nothing was changed.")?;
                out.flush()?;
                return Ok(Exit::Done);
            }
            runtime.block_on(held(&project, &store, true))?
        }
    };
    tell(&swept, args.json, terminal)?;
    Ok(Exit::Done)
}

fn tell(swept: &Swept, json: bool, terminal: &Terminal) -> Result<(), Error> {
    let mut out = terminal.styled();
    if json {
        render::json(&mut out, swept)?;
    } else {
        page::write(&mut out, swept, terminal.width())?;
    }
    out.flush()?;
    Ok(())
}

/// Lists or removes the leftovers while holding the project, so that no other process begins work there.
async fn held(project: &Project, store: &Arc<dyn Store>, remove: bool) -> Result<Swept, Error> {
    let line = Line::open(project, store, VERB).await?;
    if line.is_held() {
        let holder = project::current_holder(project).await;
        let who = holder.map_or_else(|| "another process".to_owned(), |holder| holder.to_string());
        let hint = "wait until it is done, or stop it; then try again".to_owned();
        return Err(Error::NotNow { verb: VERB, said: format!("{who} is at work here"), hint });
    }
    let swept = sweep::sweep(project, store.as_ref(), remove).await;
    line.close().await?;
    swept
}
