//! `unstuck clean`: removes the leftovers of builds that are over, unless they hold changes that are saved
//! nowhere else.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use unstuck_core::engine::RunId;
use unstuck_store::Store;
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_world::workspace::{
    self, BranchStatus, LeftoverBranch, RemovalOutcome, Workspace, WorkspaceKey, WorktreeKeepReason,
};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, CommandConnection, LocalProject};
use crate::render::style::{DIM, TITLE};
use crate::render::{self, Terminal, words, wrap_text};

/// Remove worktrees and branches of finished builds
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Removes the worktrees and branches of finished builds if everything in them \
        exists elsewhere, and says what it keeps and why: an unfinished build, uncommitted \
        changes, commits that are in none of your branches. Saved attempts stay. It asks for \
        confirmation; without a terminal it needs --yes. It does nothing while something is \
        running.",
    after_long_help = CLEAN_EXAMPLES
)]
pub(crate) struct CleanArgs {
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,

    /// Only show what would be removed and what would stay
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,

    /// Write JSON; needs --yes or --dry-run
    #[arg(long)]
    json: bool,
}

const CLEAN_EXAMPLES: &str = "\
Examples:
  unstuck clean --dry-run            show what would be removed
  unstuck clean                      show it, then ask
  unstuck clean --yes                without confirmation";

const VERB: &str = "clean";

pub(crate) fn run(args: &CleanArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let terminal = context.terminal;
    let store = project.open_store()?;
    let runtime = project::create_runtime()?;
    let found = || runtime.block_on(sweep_while_holding(&project, &store, false));
    let swept = if args.yes {
        runtime.block_on(sweep_while_holding(&project, &store, true))?
    } else {
        let found = found()?;
        if args.dry_run || found.removable_count() == 0 {
            found
        } else {
            if !args.json {
                write_result(&found, false, terminal)?;
            }
            // The project is released while the operator decides; the sweep is repeated afterwards.
            if !render::ask_confirmation(terminal, VERB, "Remove this?")? {
                terminal.write_line("Nothing was changed.")?;
                return Ok(Exit::Done);
            }
            runtime.block_on(sweep_while_holding(&project, &store, true))?
        }
    };
    write_result(&swept, args.json, terminal)?;
    Ok(Exit::Done)
}

fn write_result(swept: &SweepResult, json: bool, terminal: &Terminal) -> Result<(), CliError> {
    terminal.write_result(json, swept, |out| write_page(out, swept, terminal.width()))
}

/// Lists or removes the leftovers while holding the project, so that no other process begins work there.
async fn sweep_while_holding(
    project: &LocalProject,
    store: &Arc<dyn Store>,
    remove: bool,
) -> Result<SweepResult, CliError> {
    let connection = CommandConnection::open(project, store, VERB).await?;
    if let Some(who) = connection.other_holder() {
        let hint = "wait until it is done, or stop it; then try again".to_owned();
        return Err(CliError::NotNow { verb: VERB, said: format!("{who} is running here"), hint });
    }
    let swept = sweep_builds(project, store.as_ref(), remove).await;
    connection.close().await?;
    swept
}

/// The prefix of a branch's full name.
const HEADS: &str = "refs/heads/";

/// The leftovers that were found or removed.
#[derive(Debug, Default, Serialize)]
struct SweepResult {
    /// Set if the leftovers were removed, not only listed.
    removed: bool,
    things: Vec<SweepItem>,
    /// Number of saved attempts, which stay.
    attempts: usize,
    /// Bytes that are free now, or would be.
    freed_bytes: u64,
}

/// A worktree or a branch.
#[derive(Debug, Serialize)]
struct SweepItem {
    what: String,
    bytes: u64,
    /// The reason for keeping it; `None` if it is removed.
    kept: Option<String>,
}

impl SweepResult {
    /// Returns how many leftovers are removed.
    fn removable_count(&self) -> usize {
        self.things.iter().filter(|thing| thing.kept.is_none()).count()
    }
}

async fn sweep_builds(
    project: &LocalProject,
    store: &dyn Store,
    remove: bool,
) -> Result<SweepResult, CliError> {
    let repository = workspace::ProjectRepository::open("git", project.root()).await?;
    let name = project.name();
    let mut swept = SweepResult { removed: remove, ..SweepResult::default() };
    for build in store.load_builds(name).await?.iter().filter(|build| build.is_performed_here()) {
        let tasks = store.load_build_tasks(name, build.id).await?;
        let mut sweep = BuildSweep {
            repository: &repository,
            build,
            remove,
            stay: Vec::new(),
            swept: &mut swept,
        };
        // Listed before the worktrees are removed, because some branches go with them.
        let branches = repository.list_build_branches(build.id).await?;
        sweep.sweep_worktrees(&tasks).await?;
        sweep.sweep_branches(&branches).await?;
        if remove && build.state.has_ended() {
            repository.delete_backup(build.id).await?;
        }
        for task in &tasks {
            let runs = store.load_task_runs(name, task.id).await?;
            let runs: Vec<RunId> = runs.iter().map(|run| run.id).collect();
            swept.attempts += repository.count_attempts(&runs).await?;
        }
    }
    let gone = swept.things.iter().filter(|thing| thing.kept.is_none());
    swept.freed_bytes = gone.map(|thing| thing.bytes).sum();
    Ok(swept)
}

struct BuildSweep<'a> {
    repository: &'a workspace::ProjectRepository,
    build: &'a BuildRow,
    remove: bool,
    /// Branches whose worktrees stay.
    stay: Vec<String>,
    swept: &'a mut SweepResult,
}

impl BuildSweep<'_> {
    fn open_build_reason(&self) -> Option<String> {
        let open = !self.build.state.has_ended();
        open.then(|| format!("build {} is not over", self.build.id))
    }

    async fn sweep_worktrees(&mut self, tasks: &[TaskRow]) -> Result<(), CliError> {
        for task in tasks {
            let place = WorkspaceKey { build: self.build.id, task: task.id };
            let Some(folder) = self.repository.find_worktree(place) else { continue };
            let bytes = measure_folder(&folder);
            let kept = match self.open_build_reason() {
                Some(open) => Some(open),
                None => self.sweep_worktree(place, task.moved.last_run).await?,
            };
            if kept.is_some() {
                self.stay.push(workspace::ProjectRepository::task_branch(place));
            }
            let what = format!("worktree of “{}”", words::task_name(task.id, &task.spec));
            self.swept.things.push(SweepItem { what, bytes, kept });
        }
        Ok(())
    }

    /// Removes a worktree; returns the reason if it stays.
    async fn sweep_worktree(
        &self,
        place: WorkspaceKey,
        run: Option<RunId>,
    ) -> Result<Option<String>, CliError> {
        let run = run.unwrap_or_default();
        // A worktree that cannot be opened is left for a person to inspect.
        let opened = match Workspace::open(self.repository, place, &[]).await {
            Ok(opened) => opened,
            Err(fault) => return Ok(Some(words::plain_line(&fault.message))),
        };
        let needed = if self.remove {
            match opened.remove_worktree(run).await? {
                RemovalOutcome::Gone => None,
                RemovalOutcome::Kept(why) => Some(why),
            }
        } else {
            opened.find_keep_reason(run).await?
        };
        Ok(needed.map(|why| match why {
            WorktreeKeepReason::InPlace => "it is your own".to_owned(),
            WorktreeKeepReason::Quarantined(why) => words::plain_line(&why),
            WorktreeKeepReason::Unsaved(1) => "1 change in it is saved nowhere else".to_owned(),
            WorktreeKeepReason::Unsaved(count) => {
                format!("{count} changes in it are saved nowhere else")
            }
        }))
    }

    async fn sweep_branches(&mut self, branches: &[LeftoverBranch]) -> Result<(), CliError> {
        for leftover in branches {
            let mut kept = self.open_build_reason().or_else(|| self.branch_keep_reason(leftover));
            if kept.is_none() && self.remove {
                let gone = self.repository.delete_branch(self.build.id, leftover).await?;
                kept = (!gone).then(|| "it moved just now".to_owned());
            }
            let name = leftover.name.strip_prefix(HEADS).unwrap_or(&leftover.name);
            self.swept.things.push(SweepItem { what: format!("branch {name}"), bytes: 0, kept });
        }
        Ok(())
    }

    fn branch_keep_reason(&self, leftover: &LeftoverBranch) -> Option<String> {
        match &leftover.branch {
            _ if self.stay.contains(&leftover.name) => Some("its worktree stays".to_owned()),
            BranchStatus::Free => None,
            BranchStatus::Needed(count) => {
                let commits = words::render_count(*count, "commit is", "commits are");
                Some(format!(
                    "{commits} in none of your branches: `unstuck land {}`",
                    self.build.id
                ))
            }
            BranchStatus::InUse(by) => {
                let by = words::plain_line(&by.to_string_lossy());
                Some(format!("it is checked out in {by}"))
            }
        }
    }
}

/// Columns by which the reason for keeping a leftover is indented.
const INDENT: usize = 4;

fn write_page(out: &mut impl Write, swept: &SweepResult, width: usize) -> io::Result<()> {
    let (gone, kept): (Vec<&SweepItem>, Vec<&SweepItem>) =
        swept.things.iter().partition(|thing| thing.kept.is_none());
    if !gone.is_empty() {
        let head = if swept.removed { "Removed" } else { "To be removed" };
        writeln!(out, "{TITLE}{head}{TITLE:#}")?;
        for thing in &gone {
            write_removed(out, thing)?;
        }
    }
    if !kept.is_empty() {
        writeln!(out, "{TITLE}Kept{TITLE:#}")?;
        for thing in &kept {
            writeln!(out, "  {}", thing.what)?;
            let why = thing.kept.as_deref().unwrap_or_default();
            writeln!(out, "{:INDENT$}{DIM}{}{DIM:#}", "", wrap_text(why, INDENT, width))?;
        }
    }
    if swept.attempts > 0 {
        let attempts =
            words::render_count(swept.attempts, "saved attempt stays", "saved attempts stay");
        writeln!(out, "{attempts}: `git for-each-ref refs/unstuck/attempts` lists them.")?;
    }
    writeln!(out, "{}", render_summary(swept, gone.len()))
}

fn write_removed(out: &mut impl Write, thing: &SweepItem) -> io::Result<()> {
    match thing.bytes {
        0 => writeln!(out, "  {}", thing.what),
        bytes => writeln!(out, "  {}  {DIM}{}{DIM:#}", thing.what, format_bytes(bytes)),
    }
}

fn render_summary(swept: &SweepResult, gone: usize) -> String {
    let bytes = format_bytes(swept.freed_bytes);
    match (gone, swept.removed) {
        (0, _) => "There is nothing to remove.".to_owned(),
        (_, true) if swept.freed_bytes == 0 => "It is removed. It took no space.".to_owned(),
        (_, false) if swept.freed_bytes == 0 => "That takes no space.".to_owned(),
        (_, true) => format!("{bytes} are free again."),
        (_, false) => format!("That would free {bytes}."),
    }
}

/// Bytes per block of `st_blocks`, whatever the file system's own block size.
const BLOCK_BYTES: u64 = 512;

/// Returns the bytes that removing the folder would free. Symbolic links are not followed, because their
/// targets stay.
fn measure_folder(folder: &Path) -> u64 {
    let mut sum = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            sum += found.blocks() * BLOCK_BYTES;
            if found.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    sum
}

/// Formats a size, such as `340 kB`, `12 MB` or `1.5 GB`.
fn format_bytes(bytes: u64) -> String {
    const KILO: u64 = 1_000;
    const MEGA: u64 = KILO * KILO;
    const GIGA: u64 = KILO * MEGA;
    match bytes {
        0..MEGA => format!("{} kB", bytes.div_ceil(KILO)),
        MEGA..GIGA => format!("{} MB", bytes / MEGA),
        _ => format!("{}.{} GB", bytes / GIGA, bytes % GIGA / (GIGA / 10)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_shortly() {
        let cases = [
            (0, "0 kB"),
            (1, "1 kB"),
            (340_000, "340 kB"),
            (12_900_000, "12 MB"),
            (1_570_000_000, "1.5 GB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(format_bytes(bytes), expected);
        }
    }
}
