//! One check: a command, and which fault its end is.

use std::path::Path;

use unstuck_core::fault::text_rules::{self, Applies};
use unstuck_core::fault::{Crash, Fault, Gate, Internal, Kind, Validation};
use unstuck_core::signature::Signature;

use crate::process::{Ended, How, last_lines, verdict, with_facts};
use crate::workspace::Shell;

/// How much of what a check wrote its fault carries: the end, in whole lines.
const OUTPUT_BYTES_MAX: usize = 16 * 1_024;
/// A shell gives the signal that ended its command as a status above this.
const SIGNAL_BASE: i32 = 128;
const SIGNAL_MAX: i32 = 64;

/// What a check says.
#[derive(Debug)]
pub(super) enum Checked {
    Green,
    /// The check itself is red.
    Red(Fault),
    /// It could not be made, and says nothing about the change.
    Failed(Fault),
}

/// The n-th check of a gate, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check<'a> {
    pub(super) gate: Gate,
    pub(super) n: usize,
    pub(super) command: &'a str,
}

impl Check<'_> {
    pub(super) async fn run(self, directory: &Path, shell: &Shell) -> Checked {
        match shell.run(directory, self.command).await {
            Ok(ended) => self.judge(&ended),
            Err(fault) => Checked::Failed(fault),
        }
    }

    fn source(self) -> String {
        let gate = match self.gate {
            Gate::PreCommit => "pre_commit",
            Gate::PrePush => "pre_push",
            Gate::PrePr => "pre_pr",
        };
        format!("validate:{gate}#{}", self.n)
    }

    fn judge(self, ended: &Ended) -> Checked {
        match ended.how {
            How::Exited(0) => Checked::Green,
            How::Exited(exit) if (1..=SIGNAL_MAX).contains(&(exit - SIGNAL_BASE)) => {
                let crash = Crash { exit: None, signal: Some(exit - SIGNAL_BASE) };
                let message =
                    format!("{} was ended by signal {}", self.command, exit - SIGNAL_BASE);
                Checked::Failed(Fault::tool_crash(self.source(), message, crash))
            }
            How::Exited(exit) => self.ended_red(ended, exit),
            _ => {
                Checked::Failed(verdict(ended, &self.source(), self.command).unwrap_or_else(|| {
                    let component = "validate".to_owned();
                    let message = format!("{} was stopped", self.command);
                    Fault::internal_error(self.source(), message, Internal { component })
                }))
            }
        }
    }

    fn ended_red(self, ended: &Ended, exit: i32) -> Checked {
        let bytes = ended.output.to_bytes();
        let output = String::from_utf8_lossy(&bytes);
        match text_rules::classify(&bytes, Applies::ValidationOutput) {
            Some((code, rule)) => {
                let signature = Signature::of_output(code, &self.place(), &output, Some(exit));
                let kind = with_facts(Kind::bare(code), exit, self.command);
                let fault = Fault::new(kind, self.source(), last_lines(&output, OUTPUT_BYTES_MAX));
                Checked::Failed(fault.by_rule(rule, signature))
            }
            None => Checked::Red(self.red(exit, &output)),
        }
    }

    fn place(self) -> String {
        self.source().split('#').next().unwrap_or_default().to_owned()
    }

    /// The signature is made from everything that is kept; the fault then carries the end of it.
    fn red(self, exit: i32, output: &str) -> Fault {
        let context = Validation {
            command: self.command.to_owned(),
            exit: Some(exit),
            output: output.to_owned(),
        };
        let message = format!("{} ended with {exit}", self.command);
        let mut fault = match self.gate {
            Gate::PreCommit => Fault::validation_pre_commit(self.source(), message, context),
            Gate::PrePush => Fault::validation_pre_push(self.source(), message, context),
            Gate::PrePr => Fault::validation_pre_pr(self.source(), message, context),
        };
        if let Kind::ValidationPreCommit(context)
        | Kind::ValidationPrePush(context)
        | Kind::ValidationPrePr(context) = &mut fault.kind
        {
            last_lines(output, OUTPUT_BYTES_MAX).clone_into(&mut context.output);
        }
        fault
    }
}
