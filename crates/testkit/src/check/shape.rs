//! Invariants of every state: counts, places, parking, locks and budgets agree, and tasks that may change the
//! same part of a project do not run side by side.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::engine::{
    Build, BuildState, PauseCause, QuestionId, RunId, State, Status, Step, Subject, Task, TaskId,
    TaskState, TaskStateKind,
};
use unstuck_core::policy::{Amount, Policy};

use super::{Violation, require};

/// Checks that the parts of a state agree with each other.
pub fn check_state(state: &State, policy: &Policy) -> Result<(), Violation> {
    for build in state.builds() {
        check_counts(state, build)?;
        check_pauses(state, build)?;
        check_merge_lock(state, build)?;
        check_apart(state, build)?;
        check_held_runs(state, build)?;
        check_budget(state, build, policy)?;
    }
    for task in state.tasks() {
        check_task(state, task, policy)?;
    }
    check_runs(state)?;
    check_actions(state)?;
    check_questions(state)?;
    let spent = state.spent_today();
    let reserved = state.reserved_today();
    require(
        spent.saturating_add(reserved).exceeded_unit(policy.budget.per_day).is_none(),
        "I12",
        || format!("the day: {spent:?} and {reserved:?}"),
    )
}

fn check_counts(state: &State, build: &Build) -> Result<(), Violation> {
    let mut counts = [0; TaskStateKind::COUNT];
    let mut ready = BTreeSet::new();
    let mut asked = BTreeSet::new();
    for task in build.tasks.iter().filter_map(|id| state.task(*id)) {
        counts[task.state.kind() as usize] += 1;
        match task.state {
            TaskState::Pending { .. } if task.needs_left == 0 => {
                ready.insert(task.id);
            }
            TaskState::Parked { question, .. } => {
                asked.insert(question);
            }
            _ => {}
        }
    }
    require(counts == build.counts, "a build counts its tasks", || {
        format!("{}: {:?} instead of {counts:?}", build.id, build.counts)
    })?;
    let queued: BTreeSet<TaskId> = build.ready_tasks().collect();
    require(ready == queued, "a build knows what is ready", || {
        format!("{}: {queued:?} instead of {ready:?}", build.id)
    })?;
    require(asked.len() == build.open_questions as usize, "a build counts its questions", || {
        format!("{}: {} instead of {asked:?}", build.id, build.open_questions)
    })?;
    let queued_tasks = queued.iter().filter_map(|id| state.task(*id));
    let waiting: Vec<&Task> = queued_tasks.filter(|task| gate_lets_pass(state, task)).collect();
    let idle = build.count(TaskStateKind::Running) < build.slots
        && waiting.iter().any(|task| may_start(state, build, task, &waiting));
    require(
        !(idle && build.state.allows_work()),
        "no place is empty while a task is ready",
        || format!("{}: {queued:?}", build.id),
    )?;
    let going = !build.standing && !build.state.has_ended();
    let left = build.live_count() + build.count(TaskStateKind::Parked);
    require(!going || left > 0, "a build without work has ended", || build.id.to_string())?;
    let stuck = going && build.state == BuildState::Running && !state.can_proceed(build);
    require(!stuck, "a build that only waits for a person says so", || build.id.to_string())?;
    let pending = build.count(TaskStateKind::Pending) + build.count(TaskStateKind::BackingOff);
    require(!build.state.has_ended() || pending == 0, "nothing waits in a build that ended", || {
        format!("{} has {pending}", build.id)
    })
}

/// Returns whether the gate that its next step needs lets the task start.
fn gate_lets_pass(state: &State, task: &Task) -> bool {
    let gate = task.gate_needed().and_then(|key| state.gate(key));
    gate.is_none_or(|gate| gate.lets_pass(task.id))
}

fn check_pauses(state: &State, build: &Build) -> Result<(), Violation> {
    let asks = matches!(
        build.state,
        BuildState::Paused { cause: PauseCause::Questions | PauseCause::Budget }
    );
    let asked = state.question_about(Subject::Build(build.id)).is_some();
    require(asks == asked, "a build that stands still asks once", || {
        format!("{}: {:?}, asked: {asked}", build.id, build.state)
    })
}

/// Checks that only one run of a build is checked and merged at a time.
fn check_merge_lock(state: &State, build: &Build) -> Result<(), Violation> {
    let at = |id| state.run(id).map(|run| (run.step, run.status));
    if let Some(run) = build.merging {
        let holds = matches!(
            at(run),
            Some((Step::Check | Step::Commit | Step::Mutate { at: 0 }, Status::Active))
        );
        require(
            holds && is_merged(state, run),
            "the merge lock is held by a run that needs it",
            || format!("{run}: {:?}", at(run)),
        )?;
    }
    for &run in &build.merge_line {
        let waits = matches!(at(run), Some((Step::AwaitMerge, Status::Active)));
        require(
            waits && is_merged(state, run),
            "who is in line for the merge lock waits for it",
            || format!("{run}: {:?}", at(run)),
        )?;
    }
    let free = build.merging.is_none() && !build.merge_line.is_empty();
    require(!(free && build.state.allows_work()), "the merge lock is handed on", || {
        format!("{}: {:?}", build.id, build.merge_line)
    })
}

/// Returns whether a run's result is merged onto the build's branch.
fn is_merged(state: &State, run: RunId) -> bool {
    state
        .run(run)
        .and_then(|run| state.task(run.task))
        .is_some_and(|task| task.spec.merges_result())
}

fn check_held_runs(state: &State, build: &Build) -> Result<(), Violation> {
    require(
        build.held.is_empty() || !build.state.allows_work(),
        "runs are held only while the build stands still",
        || format!("{}: {:?}", build.id, build.held),
    )?;
    for &id in &build.held {
        let run = state.run(id);
        let task = run.and_then(|run| state.task(run.task));
        let waits = run.is_some_and(|run| run.status.is_paused() && run.owes.is_none())
            && task.is_some_and(|task| task.state == TaskState::Running { run: id });
        require(waits, "a held run waits for nothing but its build", || {
            format!("{run:?} {:?}", task.map(|task| &task.state))
        })?;
    }
    Ok(())
}

fn check_budget(state: &State, build: &Build, policy: &Policy) -> Result<(), Violation> {
    let cap = policy.budget.per_build.raised_by(build.raised);
    let used = build.spent.saturating_add(build.reserved);
    require(build.standing || used.exceeded_unit(cap).is_none(), "I12", || {
        format!("{}: {used:?}", build.id)
    })?;
    let tasks = || build.tasks.iter().filter_map(|id| state.task(*id));
    let reserved = tasks().fold(Amount::ZERO, |sum, task| sum.saturating_add(task.reserved));
    let spent = tasks().fold(Amount::ZERO, |sum, task| sum.saturating_add(task.spent));
    require(reserved == build.reserved && spent == build.spent, "amounts add up", || {
        format!("{}: {reserved:?} {spent:?}", build.id)
    })
}

fn check_task(state: &State, task: &Task, policy: &Policy) -> Result<(), Violation> {
    let own = task.spec.overrides.budget.unwrap_or(policy.budget.per_task);
    let used = task.spent.saturating_add(task.reserved);
    let within = used.exceeded_unit(own.raised_by(task.raised)).is_none();
    require(within, "I12", || format!("{}: {used:?}", task.id))?;
    if let TaskState::Parked { question, .. } = task.state {
        let waits = state.question(question).is_some_and(|q| q.tasks.contains(&task.id));
        require(waits, "I5", || format!("{} is parked for {question}", task.id))?;
    }
    let active =
        |run| state.run(run).is_some_and(|run| run.task == task.id && run.status == Status::Active);
    match task.state {
        TaskState::Running { run } => {
            let held = state.build(task.build).is_some_and(|build| build.held.contains(&run));
            require(active(run) || held, "a running task has a run at work", || {
                format!("{}: {:?}", task.id, state.run(run))
            })?;
            check_run_waits(state, task)
        }
        TaskState::Pending { run: Some(run) }
        | TaskState::BackingOff { run: Some(run), .. }
        | TaskState::Parked { run: Some(run), .. } => {
            let waits = state.run(run).is_some_and(|run| {
                run.task == task.id && run.status.is_paused() && run.owes.is_none()
            });
            require(waits, "a task that waits keeps a run that waits", || {
                format!("{}: {:?} {:?}", task.id, task.state, state.run(run))
            })
        }
        TaskState::Reconciling { .. } => {
            let open = task
                .ledger
                .iter()
                .any(|id| state.mutation(*id).is_some_and(|mutation| mutation.state.is_open()));
            require(open, "a reconciling task has something to find out", || {
                format!("{} {:?}", task.id, task.unsettled)
            })
        }
        _ => Ok(()),
    }
}

/// Checks that an active run waits for an effect, an action or the merge lock.
fn check_run_waits(state: &State, task: &Task) -> Result<(), Violation> {
    let Some(run) = task.state.run().and_then(|run| state.run(run)) else { return Ok(()) };
    let line = state.build(task.build).is_some_and(|build| build.merge_line.contains(&run.id));
    let acting = matches!(run.step, Step::Mutate { .. })
        && state.mutations().any(|mutation| {
            mutation.run == run.id && mutation.task == task.id && mutation.state.is_open()
        });
    let waits = run.owes.is_some() || line || acting || run.status != Status::Active;
    require(waits, "a run at work waits for something", || {
        let actions: Vec<_> = state.mutations().collect();
        format!("{run:?} {actions:?}")
    })
}

fn check_runs(state: &State) -> Result<(), Violation> {
    for run in state.runs() {
        let kept = state.task(run.task).is_some_and(|task| task.state.run() == Some(run.id));
        require(kept, "a run belongs to its task", || {
            format!("{run:?} {:?}", state.task(run.task).map(|task| &task.state))
        })?;
    }
    Ok(())
}

/// Checks that an action that may have happened has a task that determines its outcome.
fn check_actions(state: &State) -> Result<(), Violation> {
    for mutation in state.mutations().filter(|mutation| mutation.state.is_open()) {
        let finds_out = state
            .task(mutation.task)
            .is_some_and(|task| task.ledger.contains(&mutation.id) && !task.state.has_ended());
        require(finds_out, "a task finds out about every open action", || {
            format!("{mutation:?} {:?}", state.task(mutation.task).map(|task| &task.state))
        })?;
    }
    Ok(())
}

/// Checks I5 and I11.
fn check_questions(state: &State) -> Result<(), Violation> {
    let mut about: BTreeMap<Subject, QuestionId> = BTreeMap::new();
    for question in state.questions() {
        let twice = about.insert(question.subject, question.id);
        require(twice.is_none(), "I11", || format!("{:?}", question.subject))?;
        let found = state.question_about(question.subject).map(|found| found.id);
        require(found == Some(question.id), "a question is found by its subject", || {
            format!("{question:?}")
        })?;
        if let Subject::Build(build) = question.subject {
            require(state.build(build).is_some(), "I5", || format!("{build} is asked about"))?;
            continue;
        }
        if let Subject::Job(task) = question.subject {
            let known = state.task(task).is_some() && question.tasks == [task];
            require(known, "I5", || format!("{task} is asked about: {:?}", question.tasks))?;
            continue;
        }
        require(!question.tasks.is_empty(), "I5", || format!("{} parks no task", question.id))?;
        for &id in &question.tasks {
            let parked = state.task(id).is_some_and(|task| {
                matches!(task.state, TaskState::Parked { question: on, .. } if on == question.id)
            });
            require(parked, "I5", || {
                format!("{} names {id}: {:?}", question.id, state.task(id).map(|t| &t.state))
            })?;
        }
    }
    Ok(())
}

/// Checks that no two running tasks of a build overlap (I15). The overlap is computed here from the globs
/// themselves and not taken from the engine.
fn check_apart(state: &State, build: &Build) -> Result<(), Violation> {
    let running: Vec<&Task> = running_tasks(state, build).collect();
    for (at, one) in running.iter().enumerate() {
        for other in &running[at + 1..] {
            require(build.standing || !scopes_overlap(one, other), "I15", || {
                format!("{} and {} of {} run side by side", one.id, other.id, build.id)
            })?;
        }
    }
    Ok(())
}

/// Returns whether no running task, and no more urgent one among those `waiting`, blocks the task.
fn may_start(state: &State, build: &Build, task: &Task, waiting: &[&Task]) -> bool {
    if build.in_place {
        // A single working tree: a task that has begun there ends first.
        let tasks = build.tasks.iter().filter_map(|id| state.task(*id));
        let mut begun = tasks.filter(|task| task.last_run.is_some() && !task.state.has_ended());
        return begun.all(|other| other.id == task.id);
    }
    let urgency = |task: &Task| (Reverse(task.spec.priority), task.id);
    let ahead = waiting.iter().copied().filter(|other| urgency(other) < urgency(task));
    build.standing
        || !running_tasks(state, build).chain(ahead).any(|other| scopes_overlap(task, other))
}

fn running_tasks<'a>(state: &'a State, build: &'a Build) -> impl Iterator<Item = &'a Task> {
    let tasks = build.tasks.iter().filter_map(|id| state.task(*id));
    tasks.filter(|task| matches!(task.state, TaskState::Running { .. }))
}

fn scopes_overlap(one: &Task, other: &Task) -> bool {
    let one = &one.spec;
    let other = &other.spec;
    let meet = |here: &String| other.scope.allowed.iter().any(|there| prefixes_nest(here, there));
    one.serialize || other.serialize || one.scope.allowed.iter().any(meet)
}

/// Returns whether the literal prefix of one glob leads into that of the other.
fn prefixes_nest(one: &str, other: &str) -> bool {
    let literal = |glob: &str| -> Vec<String> {
        let names = glob.split('/').take_while(|name| !name.contains('*'));
        names.map(str::to_owned).collect()
    };
    literal(one).iter().zip(literal(other)).all(|(here, there)| *here == there)
}
