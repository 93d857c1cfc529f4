//! `unstuck init`: inspects a project and writes its first settings.

mod files;
mod found;
mod settings_file;
mod tables;
mod when;

pub(crate) use found::detect_checks_of;

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use self::files::{InitFile, InitFileChange};
use self::found::{InitRepositoryState, ProjectFindings};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project;
use crate::render::style::{CODE, DIM, HINT, TITLE};
use crate::render::wrap_text;

/// Set up a project: settings, an example task and a line in .gitignore
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Sets up a project. It detects the language, the test command, the setup of a new \
        worktree, folders with tests and installed agents, and writes the result to unstuck.toml, \
        with an example task in tasks/ and a line for .unstuck/ in .gitignore.\n\n\
        Existing files are left alone, so it can be run again at any time.",
    after_long_help = EXAMPLES
)]
pub(crate) struct InitArgs {
    /// Write a new unstuck.toml; the old one is kept as unstuck.toml.bak
    #[arg(long)]
    force: bool,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  unstuck init                       in the folder of your project
  unstuck -C ../shop init            in another one
  unstuck init --force               detect again and write a new unstuck.toml";

pub(crate) fn run(args: &InitArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let root = project.root();
    if project::is_bare_repository(root) {
        return Err(CliError::NotNow {
            verb: "init",
            said: format!("{} is a bare repository, which has no files to work on", root.display()),
            hint: "clone it, and run `unstuck init` in the clone".to_owned(),
        });
    }
    let found = project::create_runtime()?.block_on(ProjectFindings::inspect(root));
    let files = [
        files::write_settings(root, &settings_file::compose_settings(&found), args.force)?,
        files::write_example(root)?,
        files::write_gitignore(root, &found.not_ignored)?,
    ];
    let report = InitReport::new(root, &files, &found);
    let line_width = context.terminal.line_width();
    context.terminal.write_result(args.json, &report, |out| report.write_page(out, line_width))?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct InitReport<'a> {
    root: &'a Path,
    files: &'a [InitFile],
    found: &'a ProjectFindings,
    /// The next commands, in order.
    next: Vec<&'static str>,
}

const DOCTOR: (&str, &str) = ("unstuck doctor", "check whether a run can start");
const DRY_RUN: (&str, &str) = ("unstuck run tasks/ --dry-run", "show what would be done");

/// Returns the command that creates a repository or its first commit.
const fn repository_command(git: InitRepositoryState) -> Option<(&'static str, &'static str)> {
    match git {
        InitRepositoryState::Ready => None,
        InitRepositoryState::NoCommit => {
            Some(("git add -A && git commit -m 'First commit'", "a commit to start from"))
        }
        InitRepositoryState::None => Some((
            "git init && git add -A && git commit -m 'First commit'",
            "agents work in worktrees of a repository",
        )),
        InitRepositoryState::NoGit => {
            Some(("git status", "git cannot be used here, and this says why"))
        }
    }
}

fn next_commands(found: &ProjectFindings) -> impl Iterator<Item = (&'static str, &'static str)> {
    repository_command(found.git).into_iter().chain([DOCTOR, DRY_RUN])
}

impl<'a> InitReport<'a> {
    fn new(root: &'a Path, files: &'a [InitFile], found: &'a ProjectFindings) -> Self {
        let next = next_commands(found).map(|(command, _)| command).collect();
        Self { root, files, found, next }
    }

    fn write_page(&self, out: &mut impl Write, line_width: usize) -> io::Result<()> {
        writeln!(out, "{TITLE}{}{TITLE:#}", self.root.display())?;
        for wrote in self.files {
            let (mark, look) = match wrote.did {
                InitFileChange::LeftAlone => ("·", DIM),
                _ => ("✔", HINT),
            };
            writeln!(out, "{look}{mark}{look:#} {:20}  {}", wrote.path, render_file(wrote))?;
        }
        writeln!(out)?;
        for (what, found) in finding_rows(self.found) {
            let found = wrap_text(&found, 12, line_width);
            writeln!(out, "  {DIM}{what:8}{DIM:#}  {found}")?;
        }
        writeln!(out, "\n{TITLE}Next{TITLE:#}")?;
        for (command, why) in next_commands(self.found) {
            writeln!(out, "  {CODE}{command}{CODE:#}  {DIM}{why}{DIM:#}")?;
        }
        Ok(())
    }
}

fn render_file(wrote: &InitFile) -> String {
    match (wrote.did, wrote.why, &wrote.kept) {
        (InitFileChange::LeftAlone, Some(why), _) => format!("left alone: {why}"),
        (InitFileChange::LeftAlone, None, _) => "left alone".to_owned(),
        (InitFileChange::Rewritten, _, Some(kept)) => {
            format!("written anew; the old one is {kept}")
        }
        (InitFileChange::Written | InitFileChange::Extended, ..) if !wrote.added.is_empty() => {
            format!("git ignores {} now", wrote.added.join(", "))
        }
        (InitFileChange::Written | InitFileChange::Rewritten | InitFileChange::Extended, ..) => {
            "written".to_owned()
        }
    }
}

fn finding_rows(found: &ProjectFindings) -> [(&'static str, String); 7] {
    let or = |items: &[&str], none: &str| match items {
        [] => none.to_owned(),
        items => items.join(", "),
    };
    let protect: Vec<&str> = found.protect.iter().map(String::as_str).collect();
    let checks: Vec<&str> = found.checks.iter().map(String::as_str).collect();
    let setup: Vec<&str> = found.setup.iter().map(String::as_str).collect();
    let agents: Vec<&str> = found.agents.iter().map(|agent| agent.name()).collect();
    [
        ("language", or(&found.languages, "none that is known")),
        ("checks", or(&checks, "no test command was found; set validate.pre_commit")),
        ("setup", or(&setup, "nothing")),
        ("protects", or(&protect, "nothing: no folder with tests was found")),
        ("asks", or(&found.ask_first, "about no file: no CI configuration was found")),
        ("agents", or(&agents, "neither claude nor codex was found on PATH")),
        ("keys", or(&found.keys, "none in the environment")),
    ]
}
