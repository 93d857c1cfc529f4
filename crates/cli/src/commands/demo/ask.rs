//! The person who answers the questions of the demo: the user at the terminal, or a stand-in.

use std::io::{self, BufRead, IsTerminal, Write};

use unstuck_core::question::{Decision, QuestionText};

use crate::error::CliError;

/// An answer to a question.
pub(super) struct DemoAnswer {
    pub(super) decision: Decision,
    pub(super) guidance: Option<String>,
    /// Set if the stand-in took the recommended choice, because there is no terminal.
    pub(super) scripted: bool,
}

/// Number of answers after which the stand-in stops asking for another try.
const PATIENCE: u32 = 10;

/// The person who answers, or the stand-in.
pub(super) struct DemoAnswerer {
    scripted: bool,
    answered: u32,
}

impl DemoAnswerer {
    /// Creates the person at the terminal, or a stand-in without one.
    pub(super) fn new(auto: bool) -> Self {
        let scripted = auto || !io::stdin().is_terminal() || !io::stdout().is_terminal();
        Self { scripted, answered: 0 }
    }

    pub(super) const fn is_scripted(&self) -> bool {
        self.scripted
    }

    pub(super) fn answer_question(
        &mut self,
        out: &mut impl Write,
        words: Option<&QuestionText>,
    ) -> Result<DemoAnswer, CliError> {
        let Some(words) = words else { return Ok(recommended_answer(Decision::Continue)) };
        while !self.scripted {
            write!(out, "  your choice [1-{}]: ", words.options.len())?;
            out.flush()?;
            let Some(line) = read_line()? else {
                self.scripted = true;
                break;
            };
            let number = line.trim().parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            if let Some(option) = number.and_then(|at| words.options.get(at)) {
                let guidance = ask_guidance(out, option.value)?;
                return Ok(DemoAnswer { decision: option.value, guidance, scripted: false });
            }
        }
        self.answered += 1;
        let last = words.options.last().map(|option| option.value);
        let given_up = last.filter(|_| self.answered > PATIENCE);
        Ok(recommended_answer(
            given_up.or(words.recommended).or(last).unwrap_or(Decision::Continue),
        ))
    }
}

const fn recommended_answer(decision: Decision) -> DemoAnswer {
    DemoAnswer { decision, guidance: None, scripted: true }
}

fn ask_guidance(out: &mut impl Write, decision: Decision) -> Result<Option<String>, CliError> {
    if decision != Decision::ProvideGuidance {
        return Ok(None);
    }
    write!(out, "  your hint: ")?;
    out.flush()?;
    Ok(read_line()?.map(|line| line.trim().to_owned()))
}

fn read_line() -> Result<Option<String>, CliError> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    let read =
        read.map_err(|source| CliError::Input { place: "standard input".to_owned(), source })?;
    Ok((read > 0).then_some(line))
}
