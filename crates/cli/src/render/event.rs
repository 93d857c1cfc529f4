//! Formats each event as one short plain phrase, without the state that the event led to. Events about jobs
//! have the terms that people use for jobs: a job runs, waits, needs a person, is done.
//!
//! The narration of the core covers everything that needs this state, such as the number of other waiting
//! tasks, while it happens; the phrases here use only the journal, afterwards.

use unstuck_core::engine::{
    Event, Phase, Raised, Reconciled, RecordedEvent, Rule, RunId, SkipReason, Status, Step,
};
use unstuck_core::fault::{Code, Fault};
use unstuck_core::text::{failure_phrase, push_refusal, slow_step};
use unstuck_core::time::Time;

use super::{when, words};

/// Returns the phrase for an event at `at`. For an event about a task, the caller's line names the task.
#[expect(clippy::too_many_lines, reason = "a table: one phrase for each event")]
pub(crate) fn render_event(event: &Event, at: Time) -> String {
    let until = |until: &Time| when::render_until(*until, at);
    match event {
        Event::BuildStarted { build, plan, .. } if plan.session_task().is_some() => {
            format!("session {build} of another runtime was opened")
        }
        Event::BuildStarted { build, plan, .. } => {
            let tasks = words::render_count(plan.len(), "task", "tasks");
            format!("build {build} began with {tasks}")
        }
        Event::BuildWaiting { build } => format!("all that is left of build {build} waits for you"),
        Event::BuildResumed { build } => format!("build {build} goes on"),
        Event::BuildCompleted { build } => format!("build {build} is over"),
        Event::BuildFailed { build, fault } => {
            format!("build {build} cannot go on, because {}", failure_phrase(fault.code(), false))
        }
        Event::BuildCancelled { build } => format!("build {build} was ended, as you asked"),
        Event::BuildPaused { build, cause, .. } => {
            format!("build {build} is {}", words::describe_pause(*cause))
        }
        Event::Sleeping { build, until: wakes } => {
            format!("build {build} rests until {}", until(wakes))
        }
        Event::Waking { build } => format!("build {build} has rested and goes on"),

        Event::BaseChecked { build, red, .. } => {
            let named = red.iter().map(|red| format!("`{}`", red.command));
            let named = named.collect::<Vec<_>>().join(", ");
            format!("red before any work of build {build}: {named}")
        }
        Event::BaseJudged { belongs: true, .. } => {
            "what was red before belongs to the work, as you said".to_owned()
        }
        Event::BaseJudged { .. } => {
            "what was red before has nothing to do with the work, as you said".to_owned()
        }

        Event::JobDefined { .. } => "was taken into care".to_owned(),
        Event::JobFired { .. } => "is to run".to_owned(),
        Event::JobHeld { .. } => "is left alone until you say so, as you asked".to_owned(),
        Event::JobReleased { .. } => "runs again when its time comes".to_owned(),
        Event::JobFireLater { .. } => "still runs, and runs once more afterwards".to_owned(),

        Event::JobMissed { code, .. } => {
            format!(
                "gave up this time, because {} ({code}); the next one tries",
                failure_phrase(*code, false)
            )
        }

        Event::Reported { .. } => "told what it met".to_owned(),

        Event::TaskBackingOff { until: Some(again), .. } => {
            format!("waits and goes on at {}", until(again))
        }
        Event::TaskBackingOff { until: None, .. } => "waits until its account is ready".to_owned(),
        Event::TaskReconciling { .. } => "checks whether its last action went through".to_owned(),
        Event::TaskDone { unchanged: Some(why), .. } => {
            format!("needs no change. The agent said: {why}")
        }
        Event::TaskDone { .. } => "is done".to_owned(),
        Event::TaskFailed { code, .. } => {
            format!("failed for good, because {} ({code})", failure_phrase(*code, false))
        }
        Event::TaskSkipped { left, .. } => match left {
            SkipReason::Decided => "is left out, as you chose".to_owned(),
            SkipReason::Denied => "is left out, because it was not allowed".to_owned(),
            SkipReason::Needs { task } => format!("is left out, because it needs task {task}"),
        },
        Event::TaskCancelled { .. } => "was cancelled with its build".to_owned(),
        Event::TaskParked { question, .. } => format!("waits for you: question {question}"),
        Event::TaskUnparked { .. } => "goes on after your answer".to_owned(),
        Event::TaskReady { .. } => "is ready for its next run".to_owned(),
        Event::TaskRevived { .. } => "is to be done after all".to_owned(),

        Event::RunStarted { run, retry_of: None, .. } => format!("run {run} began"),
        Event::RunStarted { run, retry_of: Some(before), .. } => {
            format!("run {run} began; it follows {before}")
        }
        Event::RunStep { step, .. } => render_step(*step).to_owned(),
        Event::StepDone { .. } => "that step succeeded".to_owned(),
        Event::RunPhase { phase, .. } => render_phase(*phase).to_owned(),
        Event::RunPaused { run, status, .. } | Event::RunFailed { run, status, .. } => {
            format!("run {run} {}", render_status(*status))
        }
        Event::RunResumed { run, .. } => format!("run {run} goes on"),
        Event::RunCommitted { run } => format!("run {run} succeeded"),
        Event::RunCrashed { run, clean: false } => format!("run {run} was cut off"),
        Event::RunCrashed { run, clean: true } => format!("run {run} was ended with Unstuck"),
        Event::RunCancelled { run, .. } => format!("run {run} was ended, as you asked"),
        Event::RunProgress { iterations, tool_calls, .. } => {
            let rounds = *iterations as usize;
            let calls = *tool_calls as usize;
            let rounds = words::render_count(rounds, "more round", "more rounds");
            format!(
                "made progress: {rounds}, {}",
                words::render_count(calls, "tool call", "tool calls")
            )
        }
        Event::FaultMet { fault, .. } => {
            let code = fault.code();
            let refusal = push_refusal(&fault.message).filter(|_| code == Code::GitPushFailed);
            let said = refusal.or_else(|| slow_step_with_output(fault));
            let said = said.map_or_else(String::new, |said| format!(" ({said})"));
            format!("met {code}: {}{said}", failure_phrase(code, false))
        }
        Event::Observed { .. } => {
            "a command of the agent failed; that counts for nothing yet".to_owned()
        }
        Event::Blamed { fault, .. } => {
            let code = fault.code();
            format!("says that it fails because {} ({code})", failure_phrase(code, false))
        }
        Event::ToolWaiting { code, until: again, .. } => {
            format!(
                "a command waits until {}, because {}",
                until(again),
                failure_phrase(*code, false)
            )
        }
        Event::Warned { code, .. } => {
            format!("goes on without something, because {} ({code})", failure_phrase(*code, false))
        }
        Event::ApproachTaken { approach, .. } => {
            let files = words::render_count(approach.files_changed as usize, "file", "files");
            format!("the agent says it is done; it changed {files}")
        }
        Event::Checked { checked, .. } => words::render_checked(checked),
        Event::Declared { mutation, .. } => {
            format!("wants to do {} after its checks", quote_key(&mutation.key))
        }
        Event::Nudged { .. } => {
            "changed nothing, so its agent is asked to do the work or to say why none is needed"
                .to_owned()
        }
        Event::Thinking { .. } => "the agent thinks".to_owned(),
        Event::ToolCalled { label, .. } => format!("the agent: {label}"),
        Event::Refused { what, why, .. } => {
            format!("the agent was not allowed to run `{what}`: {why}")
        }
        Event::Narrated { text, .. } => format!("the agent says: {text}"),
        Event::Remarked { text, .. } => text.to_string(),
        Event::Retrying { attempt, code, approach, .. } => {
            let number = attempt.saturating_add(1).max(*approach);
            format!(
                "tries another way, approach {number}, because {}",
                failure_phrase(*code, false)
            )
        }
        Event::Recovered { signatures, .. } => {
            let errors = words::render_count(signatures.len(), "error", "errors");
            format!("got past {errors}; the tries are given back")
        }
        Event::Forgotten { signature: Some(signature) } => {
            format!("the tries of {signature} were forgotten, as you asked")
        }
        Event::Forgotten { signature: None } => {
            "the tries of all errors were forgotten, as you asked".to_owned()
        }

        Event::LossAccepted { kept, actions, .. } => {
            let actions = words::render_count(actions.len(), "action", "actions");
            format!(
                "what came after event {kept} was lost, and you went on without it; {actions} may \
                 have happened"
            )
        }

        Event::Ordered { by, wish, .. } => format!("{} {}", words::plain_line(by), wish.as_str()),

        Event::QuestionAsked { question } => {
            format!("question {} is for you: {}", question.id, words::describe_kind(question.kind))
        }
        Event::QuestionJoined { question, .. } => {
            format!("met the same problem and waits for question {question} too")
        }
        Event::QuestionResolved { question, decision, by, .. } => {
            format!("question {question} was answered by {}: {decision}", words::plain_line(by))
        }
        Event::QuestionWithdrawn { question } => {
            format!("question {question} is settled; you need not answer it")
        }

        Event::MutationIntended { mutation, spec, .. } => {
            format!("is about to do {} (action {mutation})", quote_key(&spec.key))
        }
        Event::MutationInFlight { mutation, .. } => format!("action {mutation} is being done"),
        Event::MutationProbing { mutation, .. } => {
            format!("looking up if action {mutation} happened")
        }
        Event::MutationSettling { mutation, until: again, .. } => {
            format!("action {mutation} may still show; it is looked up again at {}", until(again))
        }
        Event::MutationApplied { mutation, .. } => format!("action {mutation} happened"),
        Event::MutationFailed { mutation } => format!("action {mutation} did not go through"),
        Event::MutationIndeterminate { mutation, .. } => {
            format!("it is not known if action {mutation} happened")
        }
        Event::MutationReconciled { mutation, to, .. } => match to {
            Reconciled::Applied => format!("action {mutation} went through"),
            Reconciled::NotApplied => {
                format!("action {mutation} did not go through and may be done")
            }
            Reconciled::Skipped => format!("action {mutation} is left out"),
        },

        Event::GateWaiting { until: again, code, .. } => {
            format!("all work on the account waits until {} ({code})", until(again))
        }
        Event::GateProbing { .. } => "tries the account first".to_owned(),
        Event::GatePassing { untried: true, .. } => "the account was not tried yet".to_owned(),
        Event::GatePassing { .. } => "the account works again".to_owned(),
        Event::GateReleased { group, .. } => {
            format!("{group} of those who waited may go on")
        }
        Event::GateGivenUp { .. } => "the account was waited for too long".to_owned(),

        Event::BudgetUpdated { spent, .. } if spent.is_zero() => {
            "reserved budget for the next step".to_owned()
        }
        Event::BudgetUpdated { spent, .. } => match words::render_amount(*spent) {
            nothing if nothing.is_empty() => "spent next to nothing".to_owned(),
            spent => format!("spent {spent}"),
        },
        Event::LimitRaised { raised } => match raised {
            Raised::Questions { build, .. } => {
                format!("build {build} may have more questions open")
            }
            Raised::Build { build, .. } => format!("build {build} may spend more"),
            Raised::Task { .. } => "may spend more".to_owned(),
        },
    }
}

/// Returns the phrase for an event about a job, to follow its name; `None` where the phrase for tasks
/// applies. `wanted` is the action that a person has to take, if known.
pub(crate) fn render_job_event(recorded: &RecordedEvent, wanted: Option<&str>) -> Option<String> {
    let rule = recorded.why.as_ref().map(|why| why.rule);
    let code = recorded.why.as_ref().and_then(|why| why.code);
    let because =
        code.map(|code| format!(", because {}", failure_phrase(code, false))).unwrap_or_default();
    Some(match &recorded.event {
        Event::JobDefined { .. } => "is set up".to_owned(),
        Event::JobFired { .. } => "runs".to_owned(),
        Event::JobFireLater { .. } => "still runs; runs once more afterwards".to_owned(),
        Event::JobMissed { .. } => format!("gave up this time{because}; the next one tries"),
        Event::JobHeld { .. } => "paused, as you asked".to_owned(),
        Event::JobReleased { .. } => "runs at its times again".to_owned(),
        Event::TaskBackingOff { until: Some(again), .. } => {
            let until = when::render_until(*again, recorded.at);
            format!("waits until {until} and tries again{because}")
        }
        Event::TaskBackingOff { until: None, .. } => {
            format!("waits until its account is ready{because}")
        }
        Event::TaskParked { question, .. } => match wanted {
            Some(wanted) => format!("needs you to {wanted}: question {question}"),
            None => format!("needs you: question {question}"),
        },
        Event::TaskReady { .. } => match rule {
            Some(Rule::RepairScript) => format!("is to be repaired{because}"),
            Some(Rule::ProposeOnly) => format!("a repair of it is to be proposed{because}"),
            Some(Rule::RecoveredAfterCrash) => "was cut off, and goes on".to_owned(),
            Some(Rule::TakenUpAgain) => "goes on".to_owned(),
            _ => "is about to run".to_owned(),
        },
        Event::TaskDone { .. } => "done".to_owned(),
        Event::TaskSkipped { left: SkipReason::Decided, .. } => {
            "left out this time, as you chose".to_owned()
        }
        Event::TaskCancelled { .. } => "ended, as you asked".to_owned(),
        Event::RunStarted { run, retry_of, .. } => render_start(*run, *retry_of),
        Event::RunStep { step: Step::Execute, .. } => "its script runs".to_owned(),
        Event::RunStep { step: Step::Repair { propose: false }, .. } => {
            "an agent repairs its script".to_owned()
        }
        Event::RunStep { step: Step::Repair { propose: true }, .. } => {
            "an agent works out a repair to propose".to_owned()
        }
        Event::RunPaused { run, status, .. } | Event::RunFailed { run, status, .. } => {
            format!("{} ({run})", render_status(*status))
        }
        Event::RunCommitted { run } => format!("succeeded ({run})"),
        Event::FaultMet { fault, .. } => {
            let code = fault.code();
            format!("failed, because {} ({code})", failure_phrase(code, false))
        }
        _ => return None,
    })
}

fn render_start(run: RunId, retry_of: Option<RunId>) -> String {
    match retry_of {
        None => format!("starts ({run})"),
        Some(before) => format!("starts again ({run}, after {before})"),
    }
}

/// Quotes the idempotency key of an action.
fn quote_key(key: &str) -> String {
    format!("“{}”", words::plain_line(key))
}

const fn render_step(step: Step) -> &'static str {
    match step {
        Step::Attempt { .. } => "the agent works",
        Step::AwaitMerge => "waits for its turn to be checked",
        Step::Check => "is being checked",
        Step::Commit => "is being saved as a commit",
        Step::Mutate { .. } => "performs its actions",
        Step::Emit => "reports its result",
        Step::Repair { propose: false } => "an agent repairs the script",
        Step::Repair { propose: true } => "an agent works out a repair to propose",
        Step::Execute => "the script runs",
        Step::TakeBack => "what was not allowed is being taken back",
    }
}

const fn render_phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Preparing => "is being worked on",
        Phase::Prepared => "is checked and saved",
        Phase::Mutating => "may act from here on",
        Phase::Mutated => "has done all its actions",
        Phase::Emitting => "has a result to report",
        Phase::Committed => "is complete",
    }
}

/// Returns the phrase for the status of a run, to follow its name.
pub(crate) const fn render_status(status: Status) -> &'static str {
    match status {
        Status::Active => "is at work",
        Status::PausedTransient => "stands still and goes on by itself",
        Status::PausedApproval => "stands still until you have answered",
        Status::PausedReconciliation => "stands still until it is known if an action happened",
        Status::PausedUser => "is held, as you asked",
        Status::FailedLogic => "failed",
        Status::FailedConfig => "failed: its settings cannot work",
        Status::FailedInternal => "failed through a fault of ours",
    }
}

/// Returns the step that took too long, with the last line that it wrote.
fn slow_step_with_output(fault: &Fault) -> Option<String> {
    let step = slow_step(fault)?;
    let last = fault.message.lines().skip(1).filter(|line| !line.trim().is_empty()).last();
    Some(last.map_or_else(|| step.clone(), |last| format!("{step}; last written: {}", last.trim())))
}
