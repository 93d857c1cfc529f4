//! The live view of builds: one line per task, as many as fit. Pure.

use std::collections::HashMap;

use unstuck_core::engine::{
    BuildId, Event, GateState, QuestionId, RecordedEvent, RedCheck, RunId, Step, TaskId, TaskState,
};
use unstuck_core::tell::{RedCheckText, brief};
use unstuck_core::time::{Span, Time};
use unstuck_store::tables::{BuildRow, GateRow, QuestionRow, TaskRow};

use crate::render::stand::{self, TaskPerformer};
use crate::render::style::{DIM, TITLE};
use crate::render::{when, words};

/// Maximum width of a name in columns; a longer one is cut.
const NAME_COLUMNS_MAX: usize = 28;
/// Maximum number of the last lines of a red check's output that are shown.
const RED_LINES_MAX: usize = 5;
/// Number of lines beside the tasks: the head of a build and the keys.
const OTHER_LINES: usize = 4;

/// The state of the builds that are followed.
#[derive(Debug, Default)]
pub(super) struct BuildBoard {
    builds: Vec<(BuildRow, Vec<TaskRow>)>,
    gates: Vec<GateRow>,
    questions: HashMap<QuestionId, String>,
    steps: HashMap<RunId, Step>,
    /// The last message about each task.
    said: HashMap<TaskId, String>,
    approach: HashMap<TaskId, u32>,
    began: HashMap<TaskId, Time>,
    red_base: Option<RedBaseQuestion>,
}

/// A check that is red before any work, about which the person is asked.
#[derive(Debug)]
struct RedBaseQuestion {
    /// The build to whose work the failure may belong.
    build: BuildId,
    command: String,
    /// The last lines of the output.
    last: Vec<String>,
}

impl RedBaseQuestion {
    fn from_check(build: BuildId, red: &RedCheck) -> Self {
        Self { build, command: words::plain_line(&red.command), last: last_lines(red) }
    }

    /// Returns the last lines of the output that a window with so many rows has room for.
    fn lines_shown(&self, rows: usize) -> &[String] {
        &self.last[self.last.len().saturating_sub(rows / 4)..]
    }

    fn render_lines(&self, columns: usize, rows: usize) -> Vec<String> {
        let command = &self.command;
        let asked =
            format!("`{command}` fails before any work has begun. Should the tasks fix it?");
        let said = self.lines_shown(rows).iter().map(|line| {
            let line = words::cut_to_columns(line, columns.saturating_sub(2));
            format!("  {DIM}{line}{DIM:#}")
        });
        [words::cut_to_columns(&asked, columns)].into_iter().chain(said).collect()
    }
}

/// Returns the last lines of the output of a red check, without empty ones.
pub(super) fn last_lines(red: &RedCheck) -> Vec<String> {
    let RedCheckText { output, .. } = RedCheckText::from_check(red);
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(RED_LINES_MAX)..];
    last.iter().map(|line| words::plain_line(line)).collect()
}

impl BuildBoard {
    pub(super) fn update_rows(
        &mut self,
        builds: Vec<(BuildRow, Vec<TaskRow>)>,
        gates: Vec<GateRow>,
        questions: Vec<QuestionRow>,
    ) {
        // The question about the base of an ended build is void.
        let is_over = |id| builds.iter().any(|(row, _)| row.id == id && row.ended_at.is_some());
        self.red_base = self.red_base.take().filter(|asked| !is_over(asked.build));
        self.builds = builds;
        self.gates = gates;
        self.questions =
            questions.into_iter().map(|row| (row.id, row.text.problem.clone())).collect();
    }

    pub(super) fn apply_event(&mut self, recorded: &RecordedEvent, task: Option<TaskId>) {
        match &recorded.event {
            Event::RunStarted { run, task, next, .. } => {
                self.steps.insert(*run, next.step);
                self.began.entry(*task).or_insert(recorded.at);
            }
            Event::RunStep { run, step } | Event::RunResumed { run, step } => {
                self.steps.insert(*run, *step);
            }
            Event::Retrying { task, attempt, approach, .. } => {
                self.approach.insert(*task, attempt.saturating_add(1).max(*approach));
                self.said.remove(task);
            }
            Event::BaseChecked { build, red, .. } => {
                let first = red.iter().find(|red| !red.compared);
                self.red_base = first.map(|red| RedBaseQuestion::from_check(*build, red));
            }
            Event::BaseJudged { .. } => self.red_base = None,
            Event::Narrated { text, .. } => {
                if let Some(task) = task {
                    self.said.insert(task, words::plain_line(text));
                }
            }
            _ => {}
        }
    }

    /// Returns whether a task waits that could be retried now.
    pub(super) fn has_waiting_task(&self) -> bool {
        let tasks = self.builds.iter().flat_map(|(_, tasks)| tasks);
        tasks.into_iter().any(|row| matches!(row.moved.state, TaskState::BackingOff { .. }))
    }

    /// Returns the build with a red base about which the person is asked.
    pub(super) fn red_base(&self) -> Option<BuildId> {
        self.red_base.as_ref().map(|asked| asked.build)
    }

    pub(super) fn has_questions(&self) -> bool {
        !self.questions.is_empty()
    }

    pub(super) fn render_lines(&self, now: Time, columns: usize, rows: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let asked = self.red_base.as_ref().map_or(0, |asked| 1 + asked.lines_shown(rows).len());
        let other = OTHER_LINES * self.builds.len().max(1) + asked;
        let room = rows.saturating_sub(other).max(1);
        for (build, tasks) in &self.builds {
            let stands = stand::render_build_state(build, true, now);
            let cost = words::render_amount(build.spent);
            let cost = if cost.is_empty() { cost } else { format!(" · {cost}") };
            let all = build.tasks.to_string();
            let rest = format!(" · {stands} · {}{cost}", stand::render_counts(&all, build, tasks));
            let head = format!("build {}", build.id);
            let rest = words::cut_to_columns(&rest, columns.saturating_sub(head.len()));
            lines.push(format!("{TITLE}{head}{TITLE:#}{DIM}{rest}{DIM:#}"));
            lines.extend(self.render_tasks(tasks, now, columns, room / self.builds.len()));
        }
        if let Some(asked) = &self.red_base {
            lines.extend(asked.render_lines(columns, rows));
        }
        lines.push(format!("{DIM}{}{DIM:#}", words::cut_to_columns(&self.render_keys(), columns)));
        lines
    }

    fn render_keys(&self) -> String {
        let kick = if self.has_waiting_task() { "k try now · " } else { "" };
        let answer = if self.has_questions() { "a answer · " } else { "" };
        let base = match &self.red_base {
            Some(_) => "y they should · n it has nothing to do with them · ",
            None => "",
        };
        format!("{base}{answer}{kick}p pause · b background · Ctrl-C end")
    }

    fn render_tasks(
        &self,
        tasks: &[TaskRow],
        now: Time,
        columns: usize,
        room: usize,
    ) -> Vec<String> {
        let mut shown: Vec<&TaskRow> = tasks.iter().collect();
        let room = if shown.len() > room { room.saturating_sub(1).max(1) } else { room };
        if shown.len() > room {
            shown.sort_by_key(|row| (stand::state_rank(&row.moved.state), row.id));
            shown.truncate(room);
            shown.sort_by_key(|row| row.id);
        }
        let most = NAME_COLUMNS_MAX.min(columns / 2).max(4);
        let name =
            |row: &TaskRow| words::cut_to_columns(&words::task_name(row.id, &row.spec), most);
        let widest = shown.iter().map(|row| name(row).chars().count()).max().unwrap_or_default();
        let mut lines: Vec<String> = shown
            .iter()
            .map(|row| {
                let (mark, color) = stand::task_mark(row);
                let left = columns.saturating_sub(widest + 6);
                let detail = words::cut_to_columns(&self.render_detail(row, now), left);
                let name = name(row);
                format!("  {color}{mark}{color:#} {name:widest$}  {detail}")
            })
            .collect();
        let rest = tasks.len() - shown.len();
        if rest > 0 {
            lines.push(format!("  {DIM}… and {rest} more{DIM:#}"));
        }
        lines
    }

    fn render_detail(&self, row: &TaskRow, now: Time) -> String {
        match &row.moved.state {
            TaskState::Done if stand::needed_no_change(row) => brief::NO_CHANGE_NEEDED.to_owned(),
            TaskState::Done => self.render_effort(row),
            TaskState::Running { run } => self.render_work(row, *run),
            TaskState::Parked { question, .. } => match self.questions.get(question) {
                Some(problem) => format!("waiting for you: {}", words::plain_line(problem)),
                None => stand::render_task_state(&row.moved.state, TaskPerformer::AtWork, now),
            },
            TaskState::BackingOff { gate: Some(key), until: None, .. } => {
                let gate = self.gates.iter().find(|gate| gate.key == *key);
                match gate.map(|gate| gate.state) {
                    Some(GateState::Waiting { until, .. }) => {
                        format!(
                            "the account is limited, continues at {}",
                            when::render_until(until, now)
                        )
                    }
                    Some(GateState::Probing { .. }) => {
                        "checking whether the account is available".to_owned()
                    }
                    _ => stand::render_task_state(&row.moved.state, TaskPerformer::AtWork, now),
                }
            }
            state => {
                let reason = stand::render_wait_reason(&row.moved, now);
                let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                format!("{}{reason}", stand::render_task_state(state, TaskPerformer::AtWork, now))
            }
        }
    }

    /// Describes the current work of a running task.
    fn render_work(&self, row: &TaskRow, run: RunId) -> String {
        let said = self.said.get(&row.id).map(String::as_str);
        let doing = match self.steps.get(&run) {
            Some(Step::AwaitMerge) => "waiting for its turn to be checked",
            Some(Step::Check) => "being checked",
            Some(Step::Commit) => "being committed",
            Some(Step::Mutate { .. }) => "performing its actions",
            Some(Step::Emit) => "nearly done",
            Some(Step::TakeBack) => "being reverted",
            Some(Step::Attempt { .. } | Step::Repair { .. } | Step::Execute) | None => {
                said.unwrap_or("the agent is at work")
            }
        };
        match self.approach.get(&row.id) {
            Some(approach) => format!("approach {approach}: {doing}"),
            None => doing.to_owned(),
        }
    }

    fn render_effort(&self, row: &TaskRow) -> String {
        let attempts = words::render_count(row.moved.attempts as usize, "attempt", "attempts");
        let took = self.began.get(&row.id).map(|began| row.moved.changed_at.since(*began));
        let took = took.filter(|took| *took >= Span::from_secs(1)).map(when::render_duration);
        let cost = words::render_amount(row.moved.spent);
        let parts = [Some(attempts), took, Some(cost).filter(|cost| !cost.is_empty())];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use unstuck_core::engine::{BuildState, Counters, Next, Start, TaskState as State};
    use unstuck_core::plan::TaskSpec;
    use unstuck_core::policy::Amount;
    use unstuck_store::tables::TaskChange;

    use super::*;

    const NOW: Time = Time::from_millis(1_800_000_000_000);

    fn task(id: u32, name: &str, state: State) -> TaskRow {
        let spec = TaskSpec { title: name.to_owned(), ..TaskSpec::default() };
        let moved = TaskChange {
            state,
            last_run: None,
            firing: 0,
            fired_at: None,
            held: false,
            attempts: 2,
            unchanged: None,
            refused: Vec::new(),
            counters: Counters::default(),
            failure: None,
            spent: Amount { money_micros: 310_000, ..Amount::ZERO },
            changed_at: NOW,
            checked: Vec::new(),
        };
        TaskRow { id: TaskId(id), build: BuildId(7), spec: Arc::new(spec), moved }
    }

    fn build(tasks: u32) -> BuildRow {
        BuildRow {
            id: BuildId(7),
            state: BuildState::Running,
            standing: false,
            session: None,
            client: false,
            tasks,
            done: 1,
            unchanged: 0,
            not_done: 0,
            parked: 1,
            open_questions: 1,
            spent: Amount { money_micros: 1_200_000, ..Amount::ZERO },
            started_at: NOW,
            ended_at: None,
            red_base: Vec::new(),
            failure: None,
        }
    }

    fn at(event: Event) -> RecordedEvent {
        RecordedEvent { seq: 1, at: NOW - Span::from_mins(4), why: None, event }
    }

    fn board() -> BuildBoard {
        let tasks = vec![
            task(1, "add-timeouts", State::Done),
            task(2, "payment-webhook", State::Running { run: RunId(5) }),
            task(3, "deploy-preview", State::Parked { question: QuestionId(0), run: None }),
            task(4, "importer", State::BackingOff { until: Some(NOW), gate: None, run: None }),
            task(
                5,
                "a name that is longer than anybody wants to read here",
                State::Pending { run: None },
            ),
        ];
        let mut board = BuildBoard { builds: vec![(build(5), tasks)], ..BuildBoard::default() };
        let next = Next::at_attempt(Start::Fresh);
        let run = RunId(5);
        for task in [1, 2] {
            let task = TaskId(task);
            board.apply_event(
                &at(Event::RunStarted { run, task, retry_of: None, next }),
                Some(task),
            );
        }
        let text = "I use the SDK's own verifier,\nwhich knows about clocks.".into();
        board.apply_event(&at(Event::Narrated { run, text }), Some(TaskId(2)));
        board.questions.insert(QuestionId(0), "The hosting account refused the key.".to_owned());
        board
    }

    fn plain(lines: &[String]) -> Vec<String> {
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn one_line_for_each_task_says_where_it_stands() {
        insta::assert_snapshot!(plain(&board().render_lines(NOW, 100, 30)).join("\n"));
    }

    #[test]
    fn no_line_is_wider_than_the_window_and_no_picture_higher() {
        for (columns, rows) in [(20, 6), (40, 8), (80, 24), (200, 5)] {
            let lines = plain(&board().render_lines(NOW, columns, rows));
            assert!(lines.len() <= rows.max(5), "{columns}x{rows}: {lines:#?}");
            let widest = lines.iter().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= columns, "{columns}x{rows}: {lines:#?}");
        }
    }

    #[test]
    fn where_there_is_no_room_what_matters_is_shown() {
        let mut board = board();
        board.builds[0].1.extend((10..500).map(|id| task(id, "more", State::Done)));
        let lines = plain(&board.render_lines(NOW, 80, 10)).join("\n");
        assert!(lines.contains("deploy-preview") && lines.contains("payment-webhook"), "{lines}");
        assert!(lines.contains("… and "), "{lines}");
    }

    fn red_check() -> RedCheck {
        RedCheck {
            command: "make test".into(),
            exit: 2,
            output: "one\ntwo\n\nthree\n\u{1b}[31mfour\nfive\nsix\n".into(),
            tests: Vec::new(),
            compared: false,
            later: None,
        }
    }

    #[test]
    fn keys_are_offered_where_they_do_something() {
        let keys = |board: &BuildBoard| plain(&board.render_lines(NOW, 80, 30)).pop().unwrap();
        assert!(keys(&board()).starts_with("a answer · k try now"));
        assert!(keys(&BuildBoard::default()).starts_with("p pause"));
        // A check that is red before the work is asked about once.
        let mut board = BuildBoard::default();
        let build = BuildId(7);
        let run = RunId(5);
        board.apply_event(&at(Event::BaseChecked { build, run, red: vec![red_check()] }), None);
        assert!(keys(&board).starts_with("y they should · n it has nothing to do with them"));
        assert_eq!(board.red_base(), Some(build));
        let asked = plain(&board.render_lines(NOW, 80, 30)).join("\n");
        assert!(asked.contains("`make test` fails before any work has begun."), "{asked}");
        assert!(asked.contains("fix it?\n  two\n  three\n  four\n  five\n  six\ny"), "{asked}");
        let narrow = plain(&board.render_lines(NOW, 20, 8));
        assert_eq!(narrow[1..3], ["  five", "  six"]);
        board.apply_event(&at(Event::BaseJudged { build, belongs: true }), None);
        assert!(keys(&board).starts_with("p pause"));
    }

    #[test]
    fn a_build_that_is_over_asks_no_more_about_its_base() {
        let mut board = board();
        let id = BuildId(7);
        let run = RunId(5);
        board.apply_event(&at(Event::BaseChecked { build: id, run, red: vec![red_check()] }), None);
        board.update_rows(vec![(build(1), Vec::new())], Vec::new(), Vec::new());
        assert_eq!(board.red_base(), Some(id));
        let over = BuildRow { ended_at: Some(NOW), ..build(1) };
        board.update_rows(vec![(over, Vec::new())], Vec::new(), Vec::new());
        assert_eq!(board.red_base(), None);
    }
}
