//! Exit codes of the program, on which scripts may rely.

use std::process::ExitCode;

use unstuck_core::fault::{Category, Code, ErrorType};

/// The exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All done.
    Done,
    /// Some work failed or was skipped.
    SomeFailed,
    /// The command line, or the input it names, cannot be understood.
    Usage,
    /// Work is waiting for a person.
    Waiting,
    Paused,
    /// A fault of Unstuck itself.
    Internal,
    /// A limit applies for now; a later try may succeed.
    Limited,
    /// Credentials or permissions are missing.
    Denied,
    /// The settings cannot work.
    Config,
    /// A person has to tell whether an action happened.
    Unsure,
    /// An action must not be performed.
    Refused,
    /// The time limit was reached.
    Timeout,
    /// Interrupted from the keyboard.
    Interrupted,
    /// A signal asked the program to end.
    Terminated,
    /// The exit code of the command that was run.
    Command(u8),
}

impl Exit {
    /// All exit codes of Unstuck itself, in ascending order.
    const ALL: &[Self] = &[
        Self::Done,
        Self::SomeFailed,
        Self::Usage,
        Self::Waiting,
        Self::Paused,
        Self::Internal,
        Self::Limited,
        Self::Denied,
        Self::Config,
        Self::Unsure,
        Self::Refused,
        Self::Timeout,
        Self::Interrupted,
        Self::Terminated,
    ];

    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::SomeFailed => 1,
            Self::Usage => 2,
            Self::Waiting => 3,
            Self::Paused => 4,
            Self::Internal => 70,
            Self::Limited => 75,
            Self::Denied => 77,
            Self::Config => 78,
            Self::Unsure => 120,
            Self::Refused => 121,
            Self::Timeout => 124,
            Self::Interrupted => 130,
            Self::Terminated => 143,
            Self::Command(status) => status,
        }
    }

    /// Returns the exit code for a failure with this fault code.
    pub(crate) const fn from_code(code: Code) -> Self {
        let row = code.row();
        match (row.category, row.error_type) {
            (Category::Timeout, _) => Self::Timeout,
            (_, ErrorType::Auth | ErrorType::Permission) => Self::Denied,
            (_, ErrorType::Config) => Self::Config,
            (_, ErrorType::Internal) => Self::Internal,
            (_, ErrorType::Network) => Self::Limited,
            (_, ErrorType::Logic | ErrorType::Precondition) => Self::SomeFailed,
        }
    }

    /// Returns the meaning in a few words, for the help text.
    const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "all done",
            Self::SomeFailed => "some work failed or was skipped",
            Self::Usage => "usage: an argument or the input cannot be understood",
            Self::Waiting => "waiting for a person",
            Self::Paused => "paused",
            Self::Internal => "a fault of Unstuck itself",
            Self::Limited => "limited for now, try again later",
            Self::Denied => "credentials or permissions are missing",
            Self::Config => "the settings are not valid",
            Self::Unsure => "`mutate`: a person has to say whether it happened",
            Self::Refused => "`mutate`: not to be performed",
            Self::Timeout => "took too long",
            Self::Interrupted => "interrupted from the keyboard",
            Self::Terminated => "asked to end by a signal",
            Self::Command(_) => "what the command itself ended with",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

/// Returns the section of the help text that lists the exit codes.
pub(crate) fn render_exit_codes() -> String {
    let row = |exit: &Exit| format!("  {:>3}  {}", exit.number(), exit.meaning());
    Exit::ALL.iter().map(row).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_and_none_is_used_twice() {
        assert!(Exit::ALL.is_sorted_by(|a, b| a.number() < b.number()));
    }

    #[test]
    fn the_interface_page_lists_each_number_with_its_meaning() {
        let page = include_str!("../../../docs/design/interfaces.md");
        for exit in Exit::ALL {
            let row = format!("| {} | {} |", exit.number(), exit.meaning());
            assert!(page.contains(&row), "docs/design/interfaces.md lacks the row {row:?}");
        }
    }
}
