//! The progress of a build in numbers and words, the same in the terminal, on the pages and in messages.

use crate::engine::{Build, TaskStateKind};
use crate::fault::Work;
use crate::text::{count_tasks, join_parts, number_word};

/// The progress of a build. Work that needed no change is not counted as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuildTally {
    /// Number of tasks.
    pub tasks: u32,
    /// Number of tasks that are done.
    pub done: u32,
    /// Number of tasks that needed no change.
    pub unchanged: u32,
    /// Number of tasks that ended without being done.
    pub not_done: u32,
    /// Number of tasks that wait for a person.
    pub waiting: u32,
}

impl BuildTally {
    /// Counts the tasks of a build.
    pub fn from_build(build: &Build) -> Self {
        let not_done = [TaskStateKind::Skipped, TaskStateKind::Failed, TaskStateKind::Cancelled];
        Self {
            tasks: u32::try_from(build.tasks.len()).unwrap_or(u32::MAX),
            done: build.count(TaskStateKind::Done).saturating_sub(build.unchanged),
            unchanged: build.unchanged,
            not_done: not_done.map(|kind| build.count(kind)).iter().sum(),
            waiting: build.count(TaskStateKind::Parked),
        }
    }

    /// Returns the number of tasks for which nothing is left to do: done, or without a need for a change.
    pub const fn settled(&self) -> u32 {
        self.done.saturating_add(self.unchanged)
    }

    /// Formats the progress, with `all` for the number of tasks: `1 of 3 tasks done, 1 needed no change`.
    pub fn render_progress(&self, all: &str) -> String {
        match self.unchanged {
            0 => format!("{} of {all} done", self.done),
            many if many == self.tasks => format!("{all} needed no change"),
            many => format!("{} of {all} done, {many} needed no change", self.done),
        }
    }

    /// Returns the sentence about the tasks of a build that ended.
    pub fn render_result(&self) -> String {
        let Self { tasks, done, unchanged, not_done, .. } = *self;
        match (unchanged, not_done) {
            (0, 0) => "Everything is done.".to_owned(),
            (many, 0) if many == tasks => "No change was needed.".to_owned(),
            (many, 0) => format!("{done} done, {many} needed no change."),
            (0, 1) => "1 task was not done.".to_owned(),
            (0, left) => format!("{left} tasks were not done."),
            (many, left) => format!("{done} done, {many} needed no change, {left} not done."),
        }
    }
}

/// Returns the sentence for a build that ended, with the result of its tasks if it is known.
pub(super) fn render_build_done(tally: Option<BuildTally>) -> String {
    let Some(BuildTally { done, unchanged, not_done, waiting, .. }) = tally else {
        return "Build finished.".to_owned();
    };
    let mut parts = match (done, unchanged) {
        (_, 0) => vec![format!("{} done", count_tasks(done, Work::Task))],
        (0, many) => vec![format!("{} needed no change", count_tasks(many, Work::Task))],
        (_, many) => vec![
            format!("{} done", count_tasks(done, Work::Task)),
            format!("{} needed no change", number_word(many)),
        ],
    };
    if not_done > 0 {
        parts.push(format!("{} not done", number_word(not_done)));
    }
    if waiting > 0 {
        parts.push(format!("{} waiting for you", number_word(waiting)));
    }
    format!("Build finished: {}.", join_parts(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::lint_text;

    fn tally([done, unchanged, not_done, waiting]: [u32; 4]) -> BuildTally {
        let tasks = done + unchanged + not_done + waiting;
        BuildTally { tasks, done, unchanged, not_done, waiting }
    }

    // B35: work that needed no change is never counted as done.
    #[test]
    fn no_change_is_not_done() {
        let table = [
            ([1, 0, 0, 0], "Build finished: 1 task done.", "1 of 1 done", "Everything is done."),
            (
                [0, 1, 0, 0],
                "Build finished: 1 task needed no change.",
                "1 needed no change",
                "No change was needed.",
            ),
            (
                [2, 1, 0, 0],
                "Build finished: 2 tasks done and one needed no change.",
                "2 of 3 done, 1 needed no change",
                "2 done, 1 needed no change.",
            ),
            (
                [0, 2, 1, 1],
                "Build finished: 2 tasks needed no change, one not done and one waiting for you.",
                "0 of 4 done, 2 needed no change",
                "0 done, 2 needed no change, 1 not done.",
            ),
            (
                [0, 0, 1, 0],
                "Build finished: 0 tasks done and one not done.",
                "0 of 1 done",
                "1 task was not done.",
            ),
            (
                [1, 0, 2, 0],
                "Build finished: 1 task done and two not done.",
                "1 of 3 done",
                "2 tasks were not done.",
            ),
        ];
        for (counts, finished, progress, result) in table {
            let tally = tally(counts);
            assert_eq!(render_build_done(Some(tally)), finished);
            assert_eq!(tally.render_progress(&tally.tasks.to_string()), progress);
            assert_eq!(tally.render_result(), result);
            for said in [finished, result] {
                assert_eq!(lint_text(said), [], "{said}");
            }
        }
    }
}
