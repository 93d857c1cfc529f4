//! Output of `init`.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::files::{Did, Wrote};
use super::found::{Found, Repository};
use crate::error::Error;
use crate::render::{self, Terminal, style};

/// The report in its JSON form.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    pub(super) root: &'a Path,
    pub(super) files: &'a [Wrote],
    pub(super) found: &'a Found,
    /// The next commands, in order.
    pub(super) next: Vec<&'static str>,
}

const DOCTOR: (&str, &str) = ("unstuck doctor", "whether a run could begin");
const DRY_RUN: (&str, &str) = ("unstuck run tasks/ --dry-run", "what would be done");

/// Returns the command that creates a repository or its first commit.
const fn missing(git: Repository) -> Option<(&'static str, &'static str)> {
    match git {
        Repository::Ready => None,
        Repository::NoCommit => {
            Some(("git add -A && git commit -m 'First commit'", "a commit to start from"))
        }
        Repository::None => Some((
            "git init && git add -A && git commit -m 'First commit'",
            "agents work in worktrees of a repository",
        )),
        Repository::NoGit => Some(("git status", "git cannot be used here, and this says why")),
    }
}

fn next(found: &Found) -> impl Iterator<Item = (&'static str, &'static str)> {
    missing(found.git).into_iter().chain([DOCTOR, DRY_RUN])
}

impl<'a> Report<'a> {
    pub(super) fn new(root: &'a Path, files: &'a [Wrote], found: &'a Found) -> Self {
        let next = next(found).map(|(command, _)| command).collect();
        Self { root, files, found, next }
    }

    /// Writes the report for a person.
    pub(super) fn page(&self, terminal: &Terminal) -> Result<(), Error> {
        let title = style::TITLE;
        let dim = style::DIM;
        let mut out = terminal.styled();
        writeln!(out, "{title}{}{title:#}", self.root.display())?;
        for wrote in self.files {
            let (mark, look) = match wrote.did {
                Did::LeftAlone => ("·", style::DIM),
                _ => ("✔", style::HINT),
            };
            writeln!(out, "{look}{mark}{look:#} {:20}  {}", wrote.path, said(wrote))?;
        }
        writeln!(out)?;
        for (what, found) in rows(self.found) {
            let found = render::wrapped(&found, 12, terminal.line_width());
            writeln!(out, "  {dim}{what:8}{dim:#}  {found}")?;
        }
        writeln!(out, "\n{title}Next{title:#}")?;
        let code = style::CODE;
        for (command, why) in next(self.found) {
            writeln!(out, "  {code}{command}{code:#}  {dim}{why}{dim:#}")?;
        }
        out.flush()?;
        Ok(())
    }
}

fn said(wrote: &Wrote) -> String {
    match (wrote.did, wrote.why, &wrote.kept) {
        (Did::LeftAlone, Some(why), _) => format!("left alone: {why}"),
        (Did::LeftAlone, None, _) => "left alone".to_owned(),
        (Did::Rewritten, _, Some(kept)) => format!("written anew; the old one is {kept}"),
        (Did::Written | Did::Extended, ..) if !wrote.added.is_empty() => {
            format!("git ignores {} now", wrote.added.join(", "))
        }
        (Did::Written | Did::Rewritten | Did::Extended, ..) => "written".to_owned(),
    }
}

fn rows(found: &Found) -> [(&'static str, String); 7] {
    let or = |items: &[&str], none: &str| match items {
        [] => none.to_owned(),
        items => items.join(", "),
    };
    let protect: Vec<&str> = found.protect.iter().map(String::as_str).collect();
    let checks: Vec<&str> = found.checks.iter().map(String::as_str).collect();
    let setup: Vec<&str> = found.setup.iter().map(String::as_str).collect();
    let agents: Vec<&str> = found.agents.iter().map(|agent| agent.name()).collect();
    [
        ("language", or(&found.languages, "none that is known here")),
        ("checks", or(&checks, "no test command was found; set validate.pre_commit")),
        ("setup", or(&setup, "nothing")),
        ("protects", or(&protect, "nothing: there is no folder with tests")),
        ("asks", or(&found.ask_first, "about nothing: there is no pipeline")),
        ("agents", or(&agents, "neither claude nor codex is on the path")),
        ("keys", or(&found.keys, "none in the environment")),
    ]
}
