//! `unstuck land`: what a build did comes into the person's branch.
//!
//! Everything is worked out first, without touching a file. The person's tree then goes on to one
//! finished commit, or stays as it is.

mod bring;
mod coming;
mod page;

use std::io::Write;
use std::path::Path;

use crate::args::Land;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project, which};
use crate::render::{self, Terminal};

use self::bring::How;
use self::coming::Coming;

/// Carries it out.
pub(crate) fn run(args: &Land, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let store = project.store()?;
    let coming = project::runtime()?.block_on(async {
        let build = which::any_build(store.as_ref(), project.name(), args.build).await?;
        let mut coming = Coming::find(project.root(), &build).await?;
        let how = match (args.merge, args.rebase) {
            (true, _) => Some(How::Merge),
            (_, true) => Some(How::Rebase),
            _ => None,
        };
        if let Some(how) = how {
            bring::bring(&mut coming, how).await?;
        }
        Ok::<_, Error>(coming)
    })?;
    let mut out = terminal.styled();
    if args.json {
        render::json(&mut out, &coming)?;
    } else {
        page::write(&mut out, &coming, terminal.width())?;
    }
    out.flush()?;
    Ok(Exit::Done)
}
