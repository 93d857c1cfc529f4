//! `unstuck classify` on the command line.

use std::path::PathBuf;

/// Name the failure in a program's output: its code, class, rule and signature
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Reads what a failed program wrote and names the failure: its code, the class \
        that says whether another try can help, the rule that found it, and the signature that \
        recognises the same error again, whatever its paths, line numbers and times are.\n\n\
        The answer is laid out for reading on a terminal and is one line of JSON elsewhere. The \
        text need not be UTF-8.\n\n\
        In bulk the input is one JSON string per line and the output one answer per line, in \
        order. A line that is no JSON string ends the command with exit code 2 and its number; \
        the lines before it have been answered.",
    after_long_help = CLASSIFY_EXAMPLES
)]
#[expect(clippy::struct_excessive_bools, reason = "one field per flag of the command line")]
pub(crate) struct ClassifyArgs {
    /// The file to read; standard input without it or with `-`
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Write JSON, on a terminal too
    #[arg(long)]
    pub(crate) json: bool,

    /// Read one JSON string per line, write one JSON object per line
    #[arg(long)]
    pub(crate) bulk: bool,

    /// As --bulk, but write only the code
    #[arg(long, conflicts_with_all = ["json", "signature_only"])]
    pub(crate) code_only: bool,

    /// As --bulk, but write only the signature
    #[arg(long, conflicts_with = "json")]
    pub(crate) signature_only: bool,
}

const CLASSIFY_EXAMPLES: &str = "\
Examples:
  cargo test 2>&1 | unstuck classify
  unstuck classify build.log --json
  unstuck classify --signature-only < errors.jsonl | sort | uniq -c";
