//! `unstuck report`: shows the result of a build.
//!
//! The runner's [`BuildReport`] has the content; this module lays it out as a [`ReportLayout`], which becomes text,
//! Markdown or HTML.

mod html;
mod markdown;
mod page;
mod sections;
mod text;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use unstuck_core::engine::BuildId;
use unstuck_runner::report::{BuildFacts, BuildReport};
use unstuck_store::Store;

use self::page::ReportLayout;
use super::pull_request;
use crate::args::parse_build_id;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::style::DIM;
use crate::render::{self, Terminal};
use crate::settings::{ResolvedSettings, SettingFlags};

/// Show the result of a build: what is done, what is not and why, what waits for you
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Shows the result of a build: what is done and what was actually checked, what \
        was not done and why, what waits for you, how long accounts were unavailable, and what it \
        cost. While the build runs, it shows the result so far.\n\n\
        On a terminal it is formatted for reading, elsewhere it is Markdown. Errors that were \
        overcome are shown with `--all` only; in HTML they are folded away.",
    after_long_help = REPORT_EXAMPLES
)]
#[expect(clippy::struct_excessive_bools, reason = "each of them is a flag of its own")]
pub(crate) struct ReportArgs {
    /// The build, such as `3` or `b3`; default: the newest one
    #[arg(value_name = "BUILD", value_parser = parse_build_id)]
    build: Option<BuildId>,

    /// Write a self-contained HTML page
    #[arg(long, group = "form")]
    html: bool,

    /// Write Markdown, also on a terminal
    #[arg(long, group = "form")]
    markdown: bool,

    /// Write JSON with all details
    #[arg(long, group = "form")]
    json: bool,

    /// Also show each check and the errors that were overcome
    #[arg(long)]
    all: bool,

    /// Write to this file; `.html`, `.md` or `.json` sets the format
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  unstuck report                     the newest build
  unstuck report b3 --all            build b3, with each check and the errors that were overcome
  unstuck report -o report.html      a page to send to others
  unstuck report --json              for a program";

pub(crate) fn run(args: &ReportArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let report = load_report(args, &context.find_project()?)?;
    let terminal = context.terminal;
    let form = choose_format(args, terminal);
    match &args.output {
        None => terminal
            .write_page(|out| write_formatted(out, form, report, args.all, terminal.width()))?,
        Some(path) => {
            let mut written = Vec::new();
            write_formatted(&mut written, form, report, args.all, terminal.width())?;
            fs::write(path, written).map_err(CliError::unusable(path))?;
            terminal.write_line(&format!("{DIM}The report is in {}.{DIM:#}", path.display()))?;
        }
    }
    Ok(Exit::Done)
}

/// Writes a report as on a terminal, for a verb that ends with one and shows the next steps itself.
pub(crate) fn write_report(
    out: &mut impl Write,
    report: BuildReport,
    width: usize,
) -> io::Result<()> {
    text::write_text(out, &ReportLayout::from_report(&report.into_public()), true, width)
}

/// Returns the public part of a report as Markdown.
pub(crate) fn render_as_markdown(report: BuildReport) -> String {
    let mut written = Vec::new();
    // Writing to memory cannot fail.
    let _ =
        markdown::write_markdown(&mut written, &ReportLayout::from_report(&report.into_public()));
    String::from_utf8_lossy(&written).into_owned()
}

fn load_report(args: &ReportArgs, project: &LocalProject) -> Result<BuildReport, CliError> {
    let store = project.open_store()?;
    let runtime = project::create_runtime()?;
    let facts = runtime.block_on(async {
        let held = project::current_holder(project).await.is_some();
        let seen = (held, project::now());
        BuildFacts::load(store.as_ref(), project.name(), args.build, seen).await
    })?;
    match (facts, args.build) {
        (Some(facts), _) => {
            let mut report = BuildReport::from_facts(&facts);
            let request =
                runtime.block_on(pull_request_remark(project, store.as_ref(), &report))?;
            report.remarks.extend(request);
            Ok(report)
        }
        (None, Some(build)) => Err(CliError::unknown("build", build, "unstuck status")),
        (None, None) => Err(CliError::NoBuild { root: project.root().to_owned() }),
    }
}

/// Returns the remark about the pull request of a build that was to have one: its address, or that there is
/// none.
async fn pull_request_remark(
    project: &LocalProject,
    store: &dyn Store,
    report: &BuildReport,
) -> Result<Option<String>, CliError> {
    // A report is based on past events, and works even if the settings can no longer be read.
    let wanted = ResolvedSettings::load(project.root(), None, &SettingFlags::new())
        .is_ok_and(|resolved| resolved.settings.run.pull_request);
    if !wanted || !report.state.has_ended() || report.shipped.is_empty() {
        return Ok(None);
    }
    let build = report.build;
    Ok(Some(match pull_request::find_for_build(project, store, build).await? {
        Some(url) if url.is_empty() => "Its pull request is open.".to_owned(),
        Some(url) => format!("Its pull request is {url}."),
        None => {
            format!("No pull request was opened for it. `unstuck land {build} --pr` opens one.")
        }
    }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportFormat {
    Text,
    Markdown,
    Html,
    Json,
}

fn choose_format(args: &ReportArgs, terminal: &Terminal) -> ReportFormat {
    let ending = args.output.as_deref().and_then(Path::extension).and_then(|e| e.to_str());
    match ending {
        _ if args.json => ReportFormat::Json,
        _ if args.html => ReportFormat::Html,
        _ if args.markdown => ReportFormat::Markdown,
        Some("json") => ReportFormat::Json,
        Some("html" | "htm") => ReportFormat::Html,
        None if args.output.is_none() && terminal.is_terminal() => ReportFormat::Text,
        _ => ReportFormat::Markdown,
    }
}

fn write_formatted(
    out: &mut impl Write,
    form: ReportFormat,
    report: BuildReport,
    all: bool,
    width: usize,
) -> io::Result<()> {
    match form {
        ReportFormat::Json => render::write_json(out, &report),
        // The parts for operators are folded, so that an operator can open them.
        ReportFormat::Html => html::write_html(out, &ReportLayout::from_report(&report)),
        ReportFormat::Markdown => {
            markdown::write_markdown(out, &ReportLayout::from_report(&visible_part(report, all)))
        }
        ReportFormat::Text => text::write_text(
            out,
            &ReportLayout::from_report(&visible_part(report, all)),
            all,
            width,
        ),
    }
}

fn visible_part(report: BuildReport, all: bool) -> BuildReport {
    if all { report } else { report.into_public() }
}
