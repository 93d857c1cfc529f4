//! Exit codes: the numbers a script may rely on, all in this file.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// All done.
    Done = 0,
    /// Some work failed or was skipped.
    SomeFailed = 1,
    /// The command line, or the input it names, cannot be understood.
    Usage = 2,
    /// Waiting for a person.
    Waiting = 3,
    /// Paused.
    Paused = 4,
    /// A fault of Unstuck itself.
    Internal = 70,
    /// Limited for now; try again later.
    Limited = 75,
    /// Credentials or permissions are missing.
    Denied = 77,
    /// The settings cannot work.
    Config = 78,
    /// Took too long.
    Timeout = 124,
    /// Interrupted from the keyboard.
    Interrupted = 130,
    /// Asked to end by a signal.
    Terminated = 143,
}

impl Exit {
    /// Every exit code, in ascending order.
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
        Self::Timeout,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// The number.
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    /// What it means, in a few words.
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
            Self::Config => "the settings cannot work",
            Self::Timeout => "took too long",
            Self::Interrupted => "interrupted from the keyboard",
            Self::Terminated => "asked to end by a signal",
        }
    }

    /// Whether a verb of this version ends with it. The others are reserved: their numbers will
    /// not be used for anything else.
    const fn given_today(self) -> bool {
        matches!(self, Self::Done | Self::SomeFailed | Self::Usage)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

/// The section of the help text.
pub(crate) fn section() -> String {
    let row = |exit: &Exit| format!("  {:>3}  {}", exit.number(), exit.meaning());
    let (today, reserved): (Vec<Exit>, Vec<Exit>) =
        Exit::ALL.iter().partition(|exit| exit.given_today());
    let mut lines: Vec<String> = today.iter().map(row).collect();
    lines.push("Reserved for verbs to come:".to_owned());
    lines.extend(reserved.iter().map(row));
    lines.join("\n")
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
