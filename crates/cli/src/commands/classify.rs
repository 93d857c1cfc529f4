//! `unstuck classify`: prints the fault code and signature of a failed program's output.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Visitor};
use unstuck_core::fault::text_rules::{self, OutputClassification};
use unstuck_core::fault::{Category, Class, Code, ErrorType};
use unstuck_core::signature::{self, Signature};

use crate::error::CliError;
use crate::exit::Exit;
use crate::input::InputReader;
use crate::render::style::{CODE, DIM, TITLE};
use crate::render::{self, Terminal};

/// Classify a program's output: code, class, rule and signature
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Reads the output of a failed program and classifies the failure: its code, the \
        class that says whether another try can help, the rule that matched, and the signature \
        that recognises the same error again, whatever its paths, line numbers and times are.\n\n\
        The result is formatted for reading on a terminal and is one line of JSON elsewhere. The \
        text need not be UTF-8.\n\n\
        In bulk, the input is one JSON string per line and the output one result per line, in \
        order. A line that is not a JSON string ends the command with exit code 2 and its number; \
        the lines before it have been answered.",
    after_long_help = CLASSIFY_EXAMPLES
)]
#[expect(clippy::struct_excessive_bools, reason = "one field per flag of the command line")]
pub(crate) struct ClassifyArgs {
    /// The file to read; default or `-`: standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Write JSON, also on a terminal
    #[arg(long)]
    json: bool,

    /// Read one JSON string per line, write one JSON object per line
    #[arg(long)]
    bulk: bool,

    /// Like --bulk, but write only the code
    #[arg(long, conflicts_with_all = ["json", "signature_only"])]
    code_only: bool,

    /// Like --bulk, but write only the signature
    #[arg(long, conflicts_with = "json")]
    signature_only: bool,
}

const CLASSIFY_EXAMPLES: &str = "\
Examples:
  cargo test 2>&1 | unstuck classify
  unstuck classify build.log --json
  unstuck classify --signature-only < errors.jsonl | sort | uniq -c";

pub(crate) fn run(args: &ClassifyArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let mut input = InputReader::open(args.file.as_deref())?;
    if input.is_terminal() {
        render::write_note("reading from the keyboard; Ctrl-D on an empty line ends the text");
    }
    match BulkAnswerForm::from_args(args) {
        Some(answer) => classify_lines(&mut input, answer, &mut terminal.plain())?,
        None => classify_text(&mut input, args.json, terminal)?,
    }
    Ok(Exit::Done)
}

fn classify_text(input: &mut InputReader, json: bool, terminal: &Terminal) -> Result<(), CliError> {
    let end = input.read_tail()?;
    let reading = text_rules::classify_output(&end.text);
    terminal.write_page(|out| {
        if json || !terminal.is_terminal() {
            let skipped_bytes = (end.skipped_bytes > 0).then_some(end.skipped_bytes);
            write_json(out, &ClassifyAnswer { skipped_bytes, ..ClassifyAnswer::from(&reading) })
        } else {
            write_for_reading(out, &reading, end.skipped_bytes)
        }
    })
}

/// Classifies each line of input, a JSON string, and writes one answer per line. If an error ends the
/// input, all answers before it have been written.
fn classify_lines(
    input: &mut InputReader,
    answer: BulkAnswerForm,
    out: &mut impl Write,
) -> Result<(), CliError> {
    let ended = answer_lines(input, answer, out);
    out.flush()?;
    ended
}

fn answer_lines(
    input: &mut InputReader,
    answer: BulkAnswerForm,
    out: &mut impl Write,
) -> Result<(), CliError> {
    let mut line = Vec::new();
    while input.next_line(&mut line)? {
        let ClassifiedLine(reading) = serde_json::from_slice(&line)
            .map_err(|error| input.wrong_line(render_parse_error(&line, &error)))?;
        match answer {
            BulkAnswerForm::Code => writeln!(out, "{}", reading.code)?,
            BulkAnswerForm::Signature => writeln!(out, "{}", reading.signature)?,
            BulkAnswerForm::Json => write_json(out, &ClassifyAnswer::from(&reading))?,
        }
        if !input.has_buffered_input() {
            out.flush()?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum BulkAnswerForm {
    Json,
    Code,
    Signature,
}

impl BulkAnswerForm {
    /// Returns the form of bulk answers; `None` if the input is one text.
    fn from_args(args: &ClassifyArgs) -> Option<Self> {
        match args {
            ClassifyArgs { code_only: true, .. } => Some(Self::Code),
            ClassifyArgs { signature_only: true, .. } => Some(Self::Signature),
            ClassifyArgs { bulk: true, .. } => Some(Self::Json),
            _ => None,
        }
    }
}

#[derive(Serialize)]
struct ClassifyAnswer {
    code: Code,
    category: Category,
    #[serde(rename = "type")]
    error_type: ErrorType,
    class: Class,
    retryable: bool,
    rule: &'static str,
    /// Set if the text tells of a failure at all.
    diagnostic: bool,
    signature: Signature,
    /// The version of signatures; signatures compare only within one version.
    signature_version: u32,
    /// Number of bytes at the beginning that were not examined.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped_bytes: Option<u64>,
}

impl From<&OutputClassification> for ClassifyAnswer {
    fn from(reading: &OutputClassification) -> Self {
        let row = reading.code.row();
        Self {
            code: reading.code,
            category: row.category,
            error_type: row.error_type,
            class: row.class,
            retryable: row.class.is_retryable(),
            rule: reading.rule,
            diagnostic: reading.diagnostic,
            signature: reading.signature,
            signature_version: signature::VERSION,
            skipped_bytes: None,
        }
    }
}

fn write_json(out: &mut impl Write, reported: &ClassifyAnswer) -> Result<(), CliError> {
    serde_json::to_writer(&mut *out, reported).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(())
}

fn write_for_reading(
    out: &mut impl Write,
    reading: &OutputClassification,
    skipped: u64,
) -> Result<(), CliError> {
    let OutputClassification { code, rule, signature, diagnostic } = reading;
    writeln!(out, "{TITLE}{code}{TITLE:#}  {}", code.summary())?;
    writeln!(out, "  {DIM}class{DIM:#}      {}", render_class(code.row().class))?;
    writeln!(out, "  {DIM}rule{DIM:#}       {rule}")?;
    writeln!(out, "  {DIM}signature{DIM:#}  {signature}")?;
    writeln!(out, "  {DIM}more{DIM:#}       {CODE}unstuck explain {code}{CODE:#}")?;
    if !diagnostic {
        writeln!(out, "  {DIM}nothing in the text tells of a failure{DIM:#}")?;
    }
    if skipped > 0 {
        writeln!(out, "  {DIM}the first {skipped} bytes were not looked at{DIM:#}")?;
    }
    Ok(())
}

fn render_class(class: Class) -> &'static str {
    match class {
        Class::NeverRetry => "never_retry: trying again cannot help, a person is needed",
        Class::CodeError => "code_error: another approach can help, the same one cannot",
        Class::EnvError => "env_error: the same again can help, later",
    }
}

/// The classification of a line of bulk input. The text is read in place, without a copy, and as bytes:
/// tools write output that is not Unicode, and JSON made of it contains lone surrogates.
struct ClassifiedLine(OutputClassification);

impl<'de> Deserialize<'de> for ClassifiedLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(ClassifyVisitor)
    }
}

struct ClassifyVisitor;

impl Visitor<'_> for ClassifyVisitor {
    type Value = ClassifiedLine;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON string")
    }

    fn visit_bytes<E>(self, text: &[u8]) -> Result<ClassifiedLine, E> {
        Ok(ClassifiedLine(text_rules::classify_output(text)))
    }
}

/// Formats a parser error without its line number, because the parser was given only one line of the input.
fn render_parse_error(line: &[u8], error: &serde_json::Error) -> String {
    if line.trim_ascii().is_empty() {
        return "empty, expected a JSON string".to_owned();
    }
    let said = error.to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(what, _)| what);
    if error.is_data() { said.to_owned() } else { format!("{said} (column {})", error.column()) }
}
