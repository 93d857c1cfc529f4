//! Asks the operator to confirm an action that cannot be undone.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use super::Terminal;
use crate::error::CliError;

/// Asks a yes/no question and returns whether the answer is yes; any other answer is no. Without a terminal
/// the question is not asked, and an error is returned.
pub(crate) fn ask_confirmation(
    terminal: &Terminal,
    verb: &'static str,
    question: &str,
) -> Result<bool, CliError> {
    if !terminal.is_terminal() || !io::stdin().is_terminal() {
        return Err(CliError::NoTerminal { verb, question: question.to_owned() });
    }
    let mut out = terminal.styled();
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|source| CliError::Input { place: "standard input".to_owned(), source })?;
    if !line.ends_with('\n') {
        writeln!(out)?;
        out.flush()?;
    }
    Ok(is_yes(&line))
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (line, agreed) in
            [("y\n", true), ("Yes\n", true), ("\n", false), ("", false), ("yeah\n", false)]
        {
            assert_eq!(is_yes(line), agreed, "{line:?}");
        }
    }
}
