//! `unstuck report`: shows the result of a build.
//!
//! The runner's [`Report`] has the content; this module lays it out as a [`Page`], which becomes text,
//! Markdown or HTML.

mod html;
mod markdown;
mod operators;
mod page;
mod sections;
mod text;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use unstuck_runner::report::{Facts, Report};
use unstuck_store::Store;

use crate::args;
use crate::commands::land;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::{self, Terminal, style};
use crate::settings::{Flags, Resolved};
use page::Page;

pub(crate) fn run(
    args: &args::Report,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, Error> {
    let report = read(args, &Project::find(dir)?)?;
    let mut out = terminal.styled();
    match &args.output {
        None => write(&mut out, form(args, terminal), report, args.all, terminal.width())?,
        Some(path) => {
            let mut written = Vec::new();
            write(&mut written, form(args, terminal), report, args.all, terminal.width())?;
            let place = path.display().to_string();
            fs::write(path, written).map_err(|source| Error::Folder { place, source })?;
            let dim = style::DIM;
            writeln!(out, "{dim}The report is in {}.{dim:#}", path.display())?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Writes a report as on a terminal, for a verb that ends with one and shows the next steps itself.
pub(crate) fn show(out: &mut impl Write, report: Report, width: usize) -> io::Result<()> {
    text::write(out, &Page::of(&report.public()), true, width)
}

/// Returns the public part of a report as Markdown.
pub(crate) fn as_markdown(report: Report) -> String {
    let mut written = Vec::new();
    // Writing to memory cannot fail.
    let _ = markdown::write(&mut written, &Page::of(&report.public()));
    String::from_utf8_lossy(&written).into_owned()
}

fn read(args: &args::Report, project: &Project) -> Result<Report, Error> {
    let store = project.store()?;
    let runtime = project::runtime()?;
    let facts = runtime.block_on(async {
        let held = project::current_holder(project).await.is_some();
        let seen = (held, project::now());
        Facts::read(store.as_ref(), project.name(), args.build, seen).await
    })?;
    match (facts, args.build) {
        (Some(facts), _) => {
            let mut report = Report::of(&facts);
            let request = runtime.block_on(pull_request(project, store.as_ref(), &report))?;
            report.remarks.extend(request);
            Ok(report)
        }
        (None, Some(build)) => {
            Err(Error::Unknown { what: "build", name: build.to_string(), list: "unstuck status" })
        }
        (None, None) => Err(Error::NoBuild { root: project.root().to_owned() }),
    }
}

/// Returns the remark about the pull request of a build that was to have one: its address, or that there is
/// none.
async fn pull_request(
    project: &Project,
    store: &dyn Store,
    report: &Report,
) -> Result<Option<String>, Error> {
    // A report is based on past events, and works even if the settings can no longer be read.
    let wanted = Resolved::load(project.root(), None, &Flags::new())
        .is_ok_and(|resolved| resolved.settings.run.pull_request);
    if !wanted || !report.state.has_ended() || report.shipped.is_empty() {
        return Ok(None);
    }
    let build = report.build;
    Ok(Some(match land::opened_pull_request(project, store, build).await? {
        Some(url) if url.is_empty() => "Its pull request is open.".to_owned(),
        Some(url) => format!("Its pull request is {url}."),
        None => {
            format!("No pull request was opened for it. `unstuck land {build} --pr` opens one.")
        }
    }))
}

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Markdown,
    Html,
    Json,
}

fn form(args: &args::Report, terminal: &Terminal) -> Form {
    let ending = args.output.as_deref().and_then(Path::extension).and_then(|e| e.to_str());
    match ending {
        _ if args.json => Form::Json,
        _ if args.html => Form::Html,
        _ if args.markdown => Form::Markdown,
        Some("json") => Form::Json,
        Some("html" | "htm") => Form::Html,
        None if args.output.is_none() && terminal.is_terminal() => Form::Text,
        _ => Form::Markdown,
    }
}

fn write(
    out: &mut impl Write,
    form: Form,
    report: Report,
    all: bool,
    width: usize,
) -> io::Result<()> {
    match form {
        Form::Json => render::json(out, &report),
        // The parts for operators are folded, so that an operator can open them.
        Form::Html => html::write(out, &Page::of(&report)),
        Form::Markdown => markdown::write(out, &Page::of(&seen(report, all))),
        Form::Text => text::write(out, &Page::of(&seen(report, all)), all, width),
    }
}

fn seen(report: Report, all: bool) -> Report {
    if all { report } else { report.public() }
}
