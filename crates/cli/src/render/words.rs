//! Things of the engine in the words of people.

use unstuck_core::engine::{CheckVerdict, Checked, Count, PauseCause, TaskId, Why};
use unstuck_core::fault::{Charge, Gate};
use unstuck_core::plan::TaskSpec;
use unstuck_core::policy::Amount;
use unstuck_core::question::QuestionKind;
use unstuck_core::time::Span;

use super::when;

/// What a person calls a task.
pub(crate) fn name(id: TaskId, spec: &TaskSpec) -> String {
    let names = [&spec.title, &spec.name];
    let given = names.into_iter().find(|name| !name.trim().is_empty());
    // A name is written by others: one line, and nothing that moves a cursor.
    given.map_or_else(|| format!("task {id}"), |name| plain_line(name))
}

/// One line of text without control characters.
pub(crate) fn plain_line(text: &str) -> String {
    let readable = |c: char| if c.is_control() { ' ' } else { c };
    let words: String = text.chars().map(readable).collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the checks of a gate said: `was checked before the commit: 2 passed, 1 failed`.
pub(crate) fn checked(checked: &Checked) -> String {
    let gate = match checked.gate {
        Gate::PreCommit => "before the commit",
        Gate::PrePush => "before the push",
        Gate::PrePr => "before the review",
    };
    let said = [
        (CheckVerdict::Passed, "passed"),
        (CheckVerdict::RedBefore, "red as before the work"),
        (CheckVerdict::Failed, "failed"),
        (CheckVerdict::NotMade, "could not be made"),
    ];
    let counts = said.map(|(verdict, said)| (checked.count(verdict), said));
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, said)| format!("{count} {said}")).collect();
    if counts.is_empty() {
        format!("nothing was checked {gate}: there are no checks")
    } else {
        format!("was checked {gate}: {}", counts.join(", "))
    }
}

/// What is asked of a person, in a few words.
pub(crate) const fn kind(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Hands => "needs your hands",
        QuestionKind::Ok => "needs your OK",
        QuestionKind::Choice => "needs a decision",
        QuestionKind::Happened => "did it happen?",
        QuestionKind::Ours => "a fault of ours",
        QuestionKind::Paused => "paused",
    }
}

/// Why a build stands still.
pub(crate) const fn paused(cause: PauseCause) -> &'static str {
    match cause {
        PauseCause::Person => "paused, as you asked",
        PauseCause::Questions => "paused: too many questions are open",
        PauseCause::Budget => "paused: its budget is used up",
    }
}

/// The counters of a decision: `3 of 3 tries for this error`.
pub(crate) fn counts(why: &Why) -> Vec<String> {
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
    why.counts.iter().map(line).collect()
}

/// A name that leaves room for what stands behind it.
pub(crate) fn cut(name: &str, columns_max: usize) -> String {
    if name.chars().count() <= columns_max {
        return name.to_owned();
    }
    let kept: String = name.chars().take(columns_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// `1 task`, `3 tasks`.
pub(crate) fn number(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// What was spent, without what is next to nothing; empty where all of it is.
pub(crate) fn amount(amount: Amount) -> String {
    let mut parts = Vec::new();
    if amount.money_micros > 0 {
        let cents = amount.money_micros.div_ceil(10_000);
        parts.push(format!("${}.{:02}", cents / 100, cents % 100));
    }
    if amount.tokens > 0 {
        parts.push(format!("{} tokens", amount.tokens));
    }
    if amount.time_ms >= 1_000 {
        let time = when::length(Span::from_millis(amount.time_ms));
        parts.push(format!("{time} of work"));
    }
    parts.join(", ")
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
        assert_eq!(name(TaskId(1), &spec("Fix it", "fix")), "Fix it");
        assert_eq!(name(TaskId(1), &spec(" ", "fix")), "fix");
        assert_eq!(name(TaskId(1), &spec("", "")), "task t1");
        assert_eq!(name(TaskId(1), &spec("a\u{1b}[2Jb\nc", "")), "a [2Jb c");
    }

    #[test]
    fn what_costs_nothing_is_not_said() {
        let all = Amount { money_micros: 1_234_567, tokens: 20, time_ms: 61_000 };
        assert_eq!(amount(all), "$1.24, 20 tokens, 1 min of work");
        assert_eq!(amount(Amount { tokens: 20, ..Amount::ZERO }), "20 tokens");
        assert_eq!(amount(Amount { time_ms: 999, ..Amount::ZERO }), "");
    }
}
