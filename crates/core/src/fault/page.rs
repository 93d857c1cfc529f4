//! The page of each code: `docs/errors/<CODE>.md`, embedded in the program.
//!
//! A page that is missing does not compile. Its facts are made by [`render_facts`] from the table, and a
//! test fails when a page disagrees with them.

use std::fmt::Write as _;

use crate::code::{Asks, Charge, Code, Reaction, Work, with_fault_table};

macro_rules! pages {
    ($($(#[doc = $doc:literal])+
        $constructor:ident $variant:ident($context:ident) $tag:literal:
        $($column:ident)+ [$($charge:ident)*] $asks:ident;)+) => {
        /// Returns the page of a code, in Markdown: what happened, what Unstuck did, and what the operator
        /// can do.
        pub const fn page(code: Code) -> &'static str {
            match code {
                $(Code::$variant => include_str!(concat!("../../../../docs/errors/", $tag, ".md")),)+
            }
        }
    };
}

with_fault_table!(pages);

/// Formats the table's facts about a code as the block that its page contains.
pub fn render_facts(code: Code) -> String {
    let row = code.row();
    let retryable = if row.class.is_retryable() { "yes" } else { "no" };
    let mut facts = String::from("| fact | value |\n| --- | --- |\n");
    let mut fact = |name: &str, value: &str| {
        let _ = writeln!(facts, "| {name} | {value} |");
    };
    fact("category", row.category.as_str());
    fact("type", row.error_type.as_str());
    fact("class", row.class.as_str());
    fact("retryable", retryable);
    fact("Unstuck", describe_reaction(row.reaction));
    if code.reaction(Work::Job) != row.reaction {
        fact("in a job, Unstuck", describe_reaction(code.reaction(Work::Job)));
    }
    fact("counts", &describe_charges(code));
    fact("asks", describe_asks(row.asks));
    fact("run status", &describe_run_status(code));
    facts
}

const fn describe_reaction(reaction: Reaction) -> &'static str {
    match reaction {
        Reaction::Backoff => "waits a little, longer each time, and tries the same again",
        Reaction::BackoffThenGate => {
            "waits a little and tries again; the second in a row holds all work on that account"
        }
        Reaction::Gate => "holds all work on that account until the service takes it again",
        Reaction::GateUntilReset => "holds all work on that account until the limit resets",
        Reaction::Compact => "shortens the conversation and goes on",
        Reaction::Replan => "makes the agent choose a different approach",
        Reaction::ReplanHarder => {
            "makes the agent choose a different approach, in the harder wording"
        }
        Reaction::TakeBackReplan => {
            "takes the change back, keeps it as a patch, and makes the agent choose a different \
             approach"
        }
        Reaction::Repair => "lets an agent repair the script",
        Reaction::TakeBackSkip => "takes the change back, keeps it as a patch, skips the task",
        Reaction::Fail => "fails at once: the build, or the one task it belongs to",
        Reaction::RetryOnceAsk => "tries once more, then asks",
        Reaction::RetryOnceWarn => "tries once more, then warns and goes on",
        Reaction::RetryOnceWarnAsk => {
            "tries once more, then warns and goes on; asks when it still fails at the task's end"
        }
        Reaction::Ask => "ends the run's work and asks",
        Reaction::Quarantine => "ends the run, sets its worktree aside, and asks",
        Reaction::Budget => "sleeps until the next day's budget, or asks whether to go on",
        Reaction::TellOperator => "ends the run and tells the operator",
    }
}

fn describe_charges(code: Code) -> String {
    let names = |charges: &[Charge]| match charges {
        [] => "nothing".to_owned(),
        _ => charges.iter().map(|charge| charge.as_str()).collect::<Vec<_>>().join(", "),
    };
    let task = code.charges(Work::Task);
    let job = code.charges(Work::Job);
    if task == job { names(task) } else { format!("{}; in a job: {}", names(task), names(job)) }
}

const fn describe_asks(asks: Asks) -> &'static str {
    match asks {
        Asks::NoQuestion => "no one",
        Asks::Hands => "*hands*: do something only you can do, or leave it out",
        Asks::Ok => "*ok*: allow it or not",
        Asks::Choice => "*choice*: give guidance, take a simpler version, or leave it out",
        Asks::Ours => "*ours*: try again or leave it out",
        Asks::Paused => "*paused*: go on, raise the limit, or stop",
        Asks::RedBase => "*red_base*: say whether it belongs to the work, or leave it out",
    }
}

/// Returns the run's status for the page. Some reactions leave the status alone or decide it themselves.
fn describe_run_status(code: Code) -> String {
    let status = code.row().error_type.run_status().as_str();
    match code.row().reaction {
        Reaction::RetryOnceWarn => "none: it only warns".to_owned(),
        Reaction::RetryOnceWarnAsk => format!("none while it only warns, then `{status}`"),
        Reaction::TakeBackSkip => "`cancelled`".to_owned(),
        _ => format!("`{status}`"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    const SECTIONS: [&str; 3] = ["## What happened", "## What Unstuck did", "## What you can do"];
    /// Minimum length of a section; a shorter one carries no information.
    const SECTION_BYTES_MIN: usize = 80;

    #[test]
    fn every_page_has_the_same_shape_and_the_tables_facts() {
        for &code in Code::ALL {
            let head = format!("# {code}\n\n{}\n\n{}\n", code.summary(), render_facts(code));
            let body = page(code).strip_prefix(&head);
            assert!(body.is_some(), "docs/errors/{code}.md does not begin with:\n{head}");
            let headings: Vec<&str> =
                page(code).lines().filter(|line| line.starts_with("## ")).collect();
            assert_eq!(headings, SECTIONS, "{code}");
            for section in page(code).split("\n## ").skip(1) {
                assert!(section.len() >= SECTION_BYTES_MIN, "{code}: {section}");
            }
        }
    }

    #[test]
    fn there_is_a_page_for_each_code_and_no_other() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        let pages: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let codes = Code::ALL.iter().map(|code| format!("{code}.md")).collect();
        assert_eq!(pages, codes);
    }

    #[test]
    fn no_two_pages_say_the_same() {
        let mut said = BTreeSet::new();
        for &code in Code::ALL {
            for section in page(code).split("\n## ").skip(1) {
                assert!(said.insert(section), "{code} repeats another page:\n{section}");
            }
        }
    }

    #[test]
    fn pages_name_only_codes_that_exist() {
        for &code in Code::ALL {
            for word in page(code).split(|c: char| !c.is_ascii_uppercase() && c != '_') {
                let prefix = word.split('_').next().unwrap_or_default();
                let coded = word.contains('_')
                    && !word.starts_with('_')
                    && Code::ALL
                        .iter()
                        .any(|code| code.as_str().starts_with(&format!("{prefix}_")));
                if coded && !word.ends_with('_') {
                    assert!(word.parse::<Code>().is_ok(), "{code} names {word}");
                }
            }
        }
    }
}
