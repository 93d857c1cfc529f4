//! `unstuck explain`: shows the page of a fault code, or all codes.

use std::io::Write;

use serde::Serialize;
use unstuck_core::fault::{
    Asks, Category, Charge, Class, Code, ErrorType, Reaction, RunFailure, Work, page,
};

use crate::error::CliError;
use crate::exit::Exit;
use crate::render::style::{CODE, TITLE};
use crate::render::{self, Terminal};

/// Explain a fault code and what Unstuck does about it
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Explains a fault code: what happened, what Unstuck does about it by itself, and \
        what you can do. Without a code it lists all of them by category.\n\n\
        On a terminal the page is formatted for reading; elsewhere it is Markdown.",
    after_long_help = EXPLAIN_EXAMPLES
)]
pub(crate) struct ExplainArgs {
    /// A code such as `AUTH_EXPIRED`; letter case and `-` for `_` do not matter
    code: Option<String>,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  unstuck explain                    list all codes by category
  unstuck explain git-conflict       letter case and `-` do not matter
  unstuck explain --json             the whole table, for a program

An unknown code ends with exit code 2 and the nearest names.";

pub(crate) fn run(args: &ExplainArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let code = args.code.as_deref().map(str::parse::<Code>).transpose()?;
    let mut out = terminal.styled();
    match (code, args.json) {
        (Some(code), true) => {
            render::write_json(
                &mut out,
                &CodeEntry { page: Some(page(code)), ..code_entry(code) },
            )?;
        }
        (None, true) => {
            render::write_json(
                &mut out,
                &CodeTable { codes: Code::ALL.iter().copied().map(code_entry).collect() },
            )?;
        }
        (Some(code), false) if terminal.is_terminal() => {
            render::write_markdown(&mut out, page(code), terminal.width())?;
        }
        (Some(code), false) => out.write_all(page(code).as_bytes())?,
        (None, false) => write_codes(&mut out, terminal.line_width())?,
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Writes all codes by category, in the order of the table.
fn write_codes(out: &mut impl Write, line_width: usize) -> Result<(), CliError> {
    let width = Code::ALL.iter().map(|code| code.as_str().len()).max().unwrap_or_default();
    for category in Category::ALL {
        writeln!(out, "{TITLE}{category}{TITLE:#}")?;
        for code in Code::ALL.iter().filter(|code| code.row().category == *category) {
            let summary = render::wrap_text(code.summary(), width + 4, line_width);
            writeln!(out, "  {CODE}{code:width$}{CODE:#}  {summary}")?;
        }
        writeln!(out)?;
    }
    writeln!(out, "`unstuck explain CODE` says what each leads to.")?;
    Ok(())
}

#[derive(Serialize)]
struct CodeTable {
    codes: Vec<CodeEntry>,
}

#[derive(Serialize)]
struct CodeEntry {
    code: Code,
    summary: &'static str,
    category: Category,
    #[serde(rename = "type")]
    error_type: ErrorType,
    class: Class,
    retryable: bool,
    run_status: RunFailure,
    /// The automatic reaction of Unstuck.
    reaction: ByWork<Reaction>,
    /// Counters that the code increments.
    charges: ByWork<&'static [Charge]>,
    /// Absent for codes that ask no person.
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<Asks>,
    /// The page, only for a single code.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<&'static str>,
}

/// A value that differs between an agent's task and a job's script.
#[derive(Serialize)]
struct ByWork<T> {
    task: T,
    job: T,
}

impl<T> ByWork<T> {
    fn from_fn(value: impl Fn(Work) -> T) -> Self {
        Self { task: value(Work::Task), job: value(Work::Job) }
    }
}

fn code_entry(code: Code) -> CodeEntry {
    let row = code.row();
    CodeEntry {
        code,
        summary: code.summary(),
        category: row.category,
        error_type: row.error_type,
        class: row.class,
        retryable: row.class.is_retryable(),
        run_status: row.error_type.run_status(),
        reaction: ByWork::from_fn(|work| code.reaction(work)),
        charges: ByWork::from_fn(|work| code.charges(work)),
        asks: (row.asks != Asks::NoQuestion).then_some(row.asks),
        page: None,
    }
}
