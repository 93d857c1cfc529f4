//! The page of `land` for people.

use std::io::{self, Write};

use super::coming::LandingPlan;
use crate::render::{style, words, wrap_text};

/// Maximum number of commits and of files that are shown.
const ROWS_MAX: usize = 20;
/// Number of characters of a commit id that are shown.
const NAME_CHARS: usize = 9;

pub(super) fn write_page(
    out: &mut impl Write,
    coming: &LandingPlan,
    width: usize,
) -> io::Result<()> {
    let build = coming.build;
    let onto = coming.onto.as_deref().unwrap_or("what you have here");
    let commits = words::render_count(coming.commits.len(), "commit", "commits");
    if coming.commits.is_empty() && !coming.has_work {
        let why =
            if coming.unfinished { "no task of it is done yet" } else { "it changed nothing" };
        writeln!(out, "There is nothing of build {build} to land: {why}.")?;
        return write_unfinished(out, coming);
    }
    if coming.commits.is_empty() {
        writeln!(out, "Everything of build {build} is in {onto} already.")?;
        return write_unfinished(out, coming);
    }
    if let Some(landed) = &coming.landed {
        let at: String = landed.as_str().chars().take(NAME_CHARS).collect();
        writeln!(out, "{onto} has the {commits} of build {build} now. It is at {at}.")?;
        return write_unfinished(out, coming);
    }
    if let Some(opened) = &coming.pull_request {
        let said = if opened.before { "is" } else { "is now" };
        let code = style::CODE;
        let url = words::plain_line(&opened.url);
        writeln!(out, "A pull request for the {commits} of build {build} {said} open to {onto}:")?;
        writeln!(out, "  {code}{url}{code:#}")?;
        return write_unfinished(out, coming);
    }
    let files = words::render_count(coming.files.len(), "file", "files");
    let title = style::TITLE;
    writeln!(out, "{title}Build {build} brings {commits} to {onto}, in {files}.{title:#}\n")?;
    write_rows(out, coming)?;
    write_unfinished(out, coming)?;
    write_fit(out, coming, width)
}

fn write_rows(out: &mut impl Write, coming: &LandingPlan) -> io::Result<()> {
    let dim = style::DIM;
    let code = style::CODE;
    for title in coming.commits.iter().take(ROWS_MAX) {
        let name: String = title.commit.as_str().chars().take(NAME_CHARS).collect();
        writeln!(out, "  {code}{name}{code:#}  {}", words::plain_line(&title.title))?;
    }
    write_more(out, coming.commits.len())?;
    writeln!(out)?;
    for file in coming.files.iter().take(ROWS_MAX) {
        let path = words::plain_line(&file.path.to_string_lossy());
        writeln!(out, "  {dim}{:7}{dim:#}  {path}", file.what)?;
    }
    write_more(out, coming.files.len())
}

fn write_more(out: &mut impl Write, count: usize) -> io::Result<()> {
    let dim = style::DIM;
    let rest = count.saturating_sub(ROWS_MAX);
    if rest == 0 { Ok(()) } else { writeln!(out, "  {dim}… and {rest} more{dim:#}") }
}

fn write_unfinished(out: &mut impl Write, coming: &LandingPlan) -> io::Result<()> {
    let dim = style::DIM;
    if !coming.unfinished {
        return Ok(());
    }
    writeln!(out, "\n{dim}Build {} is not over: more may come.{dim:#}", coming.build)
}

/// Writes whether the result can be brought, and the next commands.
fn write_fit(out: &mut impl Write, coming: &LandingPlan, width: usize) -> io::Result<()> {
    let dim = style::DIM;
    let build = coming.build;
    let branch = &coming.branch;
    writeln!(out)?;
    if let Some(hindrance) = &coming.hindrance {
        let line = format!("It cannot be brought yet: {hindrance}. Nothing was changed.");
        writeln!(out, "{}", wrap_text(&line, 0, width))?;
    } else if coming.conflicts.is_empty() {
        writeln!(out, "It fits. Nothing was changed yet.")?;
        writeln!(out, "  {dim}`unstuck land {build} --merge` brings it.{dim:#}")?;
        writeln!(out, "  {dim}`unstuck land {build} --rebase` puts it on top of yours.{dim:#}")?;
    } else {
        let files: Vec<String> = coming
            .conflicts
            .iter()
            .map(|path| words::plain_line(&path.to_string_lossy()))
            .collect();
        let line = format!("It does not fit: both sides changed {}.", files.join(", "));
        writeln!(out, "{}", wrap_text(&line, 0, width))?;
        writeln!(out, "  {dim}`git merge {branch}` lets you join them by hand.{dim:#}")?;
    }
    writeln!(out, "  {dim}`unstuck land {build} --pr` opens a pull request for it.{dim:#}")
}
