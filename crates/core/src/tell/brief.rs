//! Short texts for tasks, questions, pauses and decisions, for boards, tables and pages.

use crate::engine::{Count, PauseCause, Rule, TaskId, Why};
use crate::fault::Charge;
use crate::plan::TaskSpec;
use crate::question::QuestionKind;
use crate::text::brief::plain_line;

/// Returns the display name of a task.
pub fn task_name(id: TaskId, spec: &TaskSpec) -> String {
    // The name comes from outside: print it on one line and without control characters.
    match spec.display_name() {
        "" => format!("task {id}"),
        name => plain_line(name),
    }
}

/// Returns a few words for what is asked of a person.
pub const fn describe_kind(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Hands => "needs your hands",
        QuestionKind::Ok => "needs your OK",
        QuestionKind::Choice => "needs a decision",
        QuestionKind::Happened => "did it happen?",
        QuestionKind::Ours => "a fault of ours",
        QuestionKind::Paused => "paused",
        QuestionKind::RedBase => "an old failure",
        QuestionKind::Passing => "try again?",
    }
}

/// Returns the reason why a build is paused.
pub const fn describe_pause(cause: PauseCause) -> &'static str {
    match cause {
        PauseCause::Person => "paused, as you asked",
        PauseCause::Questions => "paused: too many questions are open",
        PauseCause::Budget => "paused: its budget has no room for the next step",
    }
}

/// Returns the reason for a decision as a sentence for operators.
pub fn render_rule(why: &Why) -> &'static str {
    match why.rule {
        Rule::RepairBudgetExhausted if is_unrepaired(why) => {
            "Nothing is set up to repair this job."
        }
        rule => rule.sentence(),
    }
}

/// Returns whether no repair was configured for a job.
fn is_unrepaired(why: &Why) -> bool {
    why.counts.iter().any(|count| count.counter == Charge::Repair && count.limit == 0)
}

/// Formats the counters of a decision: `3 of 3 tries for this error`.
pub fn render_counts(why: &Why) -> Vec<String> {
    let said = |counter: Charge| match counter {
        Charge::Signature => "tries for this error",
        Charge::Transient => "repetitions",
        Charge::Wait => "windows waited for",
        Charge::Consecutive => "faults in a row",
        Charge::Compaction => "times shortened",
        Charge::Git => "tries with git",
        Charge::Repair => "repairs",
    };
    let line = |Count { counter, at, limit }: &Count| {
        let what = said(*counter);
        if at > limit {
            format!("more than {limit} {what}")
        } else {
            format!("{at} of {limit} {what}")
        }
    };
    // A repair limit of zero is not listed, because no repair was ever planned.
    let counted =
        why.counts.iter().filter(|count| count.limit > 0 || count.counter != Charge::Repair);
    counted.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_called_by_its_title_its_name_or_its_number() {
        let spec = |title: &str, name: &str| TaskSpec {
            title: title.to_owned(),
            name: name.to_owned(),
            ..TaskSpec::default()
        };
        assert_eq!(task_name(TaskId(1), &spec("Fix it", "fix")), "Fix it");
        assert_eq!(task_name(TaskId(1), &spec(" ", "fix")), "fix");
        assert_eq!(task_name(TaskId(1), &spec("", "")), "task t1");
        assert_eq!(task_name(TaskId(1), &spec("a\u{1b}[2Jb\nc", "")), "ab c");
    }
}
