//! Formats each event as one short plain phrase, without the state that the event led to. Events about jobs
//! have the terms that people use for jobs: a job runs, waits, needs a person, is done.
//!
//! The narration of the core covers everything that needs this state, such as the number of other waiting
//! tasks, while it happens; the phrases here use only the journal, afterwards.

use unstuck_core::engine::{
    Event, Phase, Raised, Reconciled, RecordedEvent, Rule, RunId, SkipReason, Status, Step,
};
use unstuck_core::fault::{Code, Fault};
use unstuck_core::tell::approach_phrase;
use unstuck_core::text::{failure_phrase, push_refusal, slow_step};
use unstuck_core::time::Time;

use super::{when, words};

/// Returns the phrase for an event at `at`. For an event about a task, the caller's line names the task.
#[expect(clippy::too_many_lines, reason = "a table: one phrase for each event")]
pub(crate) fn render_event(event: &Event, at: Time) -> String {
    let until = |until: &Time| when::render_until(*until, at);
    match event {
        Event::BuildStarted { build, plan, .. } if plan.session_task().is_some() => {
            format!("another runtime opened session {build}")
        }
        Event::BuildStarted { build, plan, .. } => {
            let tasks = words::render_count(plan.len(), "task", "tasks");
            format!("build {build} started with {tasks}")
        }
        Event::BuildWaiting { build } => {
            format!("all remaining work of build {build} waits for you")
        }
        Event::BuildResumed { build } => format!("build {build} continues"),
        Event::BuildCompleted { build } => format!("build {build} is finished"),
        Event::BuildFailed { build, fault } => {
            format!("build {build} failed: {}", failure_phrase(fault.code(), false))
        }
        Event::BuildCancelled { build } => format!("build {build} was cancelled, as you asked"),
        Event::BuildPaused { build, cause, .. } => {
            format!("build {build} is {}", words::describe_pause(*cause))
        }
        Event::Sleeping { build, until: wakes } => {
            format!("build {build} sleeps until {}", until(wakes))
        }
        Event::Waking { build } => format!("build {build} is awake again and continues"),

        Event::BaseChecked { build, red, .. } => {
            let named = red.iter().map(|red| format!("`{}`", red.command));
            let named = named.collect::<Vec<_>>().join(", ");
            format!("checks that fail before any work of build {build} has begun: {named}")
        }
        Event::BaseJudged { belongs: true, .. } => {
            "the earlier failure belongs to the work, as you said".to_owned()
        }
        Event::BaseJudged { .. } => {
            "the earlier failure is not part of the work, as you said".to_owned()
        }

        Event::JobDefined { .. } => "job defined".to_owned(),
        Event::JobFired { .. } => "is due to run".to_owned(),
        Event::JobHeld { .. } => "paused, as you asked".to_owned(),
        Event::JobReleased { .. } => "runs on its schedule again".to_owned(),
        Event::JobFireLater { .. } => "is still running; runs once more afterwards".to_owned(),

        Event::JobMissed { code, .. } => {
            format!(
                "gave up this time: {} ({code}); the next run tries again",
                failure_phrase(*code, false)
            )
        }

        Event::Reported { .. } => "reported a failure".to_owned(),

        Event::TaskBackingOff { until: Some(again), .. } => {
            format!("waits until {}", until(again))
        }
        Event::TaskBackingOff { until: None, .. } => "waits for its account".to_owned(),
        Event::TaskReconciling { .. } => "checks whether its last action went through".to_owned(),
        Event::TaskDone { unchanged: Some(why), .. } => {
            format!("needs no change. The agent said: {why}")
        }
        Event::TaskDone { .. } => "is done".to_owned(),
        Event::TaskFailed { code, .. } => {
            format!("failed: {} ({code})", failure_phrase(*code, false))
        }
        Event::TaskSkipped { left, .. } => match left {
            SkipReason::Decided => "skipped, as you chose".to_owned(),
            SkipReason::Denied => "skipped: it was not allowed".to_owned(),
            SkipReason::Needs { task } => format!("skipped: it needs task {task}"),
        },
        Event::TaskCancelled { .. } => "was cancelled with its build".to_owned(),
        Event::TaskParked { question, .. } => {
            format!("waits for your answer to question {question}")
        }
        Event::TaskUnparked { .. } => "continues after your answer".to_owned(),
        Event::TaskReady { .. } => "is ready for its next run".to_owned(),
        Event::TaskRevived { .. } => "is scheduled again".to_owned(),

        Event::RunStarted { run, retry_of: None, .. } => format!("run {run} started"),
        Event::RunStarted { run, retry_of: Some(before), .. } => {
            format!("run {run} started; it follows {before}")
        }
        Event::RunStep { step, .. } => render_step(*step).to_owned(),
        Event::StepDone { .. } => "that step succeeded".to_owned(),
        Event::RunPhase { phase, .. } => render_phase(*phase).to_owned(),
        Event::RunPaused { run, status, .. } | Event::RunFailed { run, status, .. } => {
            format!("run {run} {}", render_status(*status))
        }
        Event::RunResumed { run, .. } => format!("run {run} continues"),
        Event::RunCommitted { run } => format!("run {run} succeeded"),
        Event::RunCrashed { run, clean: false } => format!("run {run} was interrupted"),
        Event::RunCrashed { run, clean: true } => format!("run {run} was stopped with Unstuck"),
        Event::RunCancelled { run, .. } => format!("run {run} was cancelled, as you asked"),
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
            let said = said.map_or_else(String::new, |said| format!(": {said}"));
            format!("{} ({code}){said}", failure_phrase(code, false))
        }
        Event::Observed { .. } => "a command of the agent failed; it is not counted yet".to_owned(),
        Event::Blamed { fault, .. } => {
            let code = fault.code();
            format!("reported why it fails: {} ({code})", failure_phrase(code, false))
        }
        Event::ToolWaiting { code, until: again, .. } => {
            format!("a command waits until {}: {}", until(again), failure_phrase(*code, false))
        }
        Event::Warned { code, .. } => {
            format!("continues despite a failure: {} ({code})", failure_phrase(*code, false))
        }
        Event::ApproachTaken { approach, .. } => {
            let files = words::render_count(approach.files_changed as usize, "file", "files");
            format!("the agent says it is done; it changed {files}")
        }
        Event::Checked { checked, .. } => words::render_checked(checked),
        Event::Declared { mutation, .. } => {
            format!("declared the action {} for after its checks", quote_key(&mutation.key))
        }
        Event::Nudged { .. } => {
            "the agent changed nothing; asked it to do the work or to say why none is needed"
                .to_owned()
        }
        Event::Thinking { .. } => "the agent is thinking".to_owned(),
        Event::ToolCalled { label, .. } => format!("the agent: {label}"),
        Event::Refused { what, why, .. } => {
            format!("the agent was not allowed to run `{what}`: {why}")
        }
        Event::Narrated { text, .. } => format!("the agent says: {text}"),
        Event::Remarked { text, .. } => text.to_string(),
        Event::Retrying { attempt, code, approach, of, .. } => {
            let number = attempt.saturating_add(1).max(*approach);
            format!(
                "tries a different approach ({}): {}",
                approach_phrase(number, *of),
                failure_phrase(*code, false)
            )
        }
        Event::Recovered { signatures, .. } => {
            let errors = words::render_count(signatures.len(), "error", "errors");
            format!("got past {errors}; the retry counters are reset")
        }
        Event::Forgotten { signature: Some(signature) } => {
            format!("the retry counter of {signature} was reset, as you asked")
        }
        Event::Forgotten { signature: None } => {
            "all retry counters were reset, as you asked".to_owned()
        }

        Event::LossAccepted { kept, actions, .. } => {
            let actions = words::render_count(actions.len(), "action", "actions");
            format!(
                "the journal after event {kept} was lost, and you continued without it; {actions} \
                 may have happened"
            )
        }

        Event::Ordered { by, wish, .. } => format!("{} {}", words::plain_line(by), wish.as_str()),

        Event::QuestionAsked { question } => {
            format!("asked you question {}: {}", question.id, words::describe_kind(question.kind))
        }
        Event::QuestionJoined { question, .. } => {
            format!("met the same problem and waits for the same answer (question {question})")
        }
        Event::QuestionResolved { question, decision, by, .. } => {
            format!("question {question} was answered by {}: {decision}", words::plain_line(by))
        }
        Event::QuestionWithdrawn { question } => {
            format!("question {question} was withdrawn; it needs no answer any more")
        }

        Event::MutationIntended { mutation, spec, .. } => {
            format!("is about to perform {} (action {mutation})", quote_key(&spec.key))
        }
        Event::MutationInFlight { mutation, .. } => format!("action {mutation} is being performed"),
        Event::MutationProbing { mutation, .. } => {
            format!("checks whether action {mutation} went through")
        }
        Event::MutationSettling { mutation, until: again, .. } => {
            format!(
                "action {mutation} may still show up; the next check waits until {}",
                until(again)
            )
        }
        Event::MutationApplied { mutation, .. } => format!("action {mutation} went through"),
        Event::MutationFailed { mutation } => format!("action {mutation} did not go through"),
        Event::MutationIndeterminate { mutation, .. } => {
            format!("it is not known whether action {mutation} went through")
        }
        Event::MutationReconciled { mutation, to, .. } => match to {
            Reconciled::Applied => format!("action {mutation} went through"),
            Reconciled::NotApplied => {
                format!("action {mutation} did not go through and may be performed")
            }
            Reconciled::Skipped => format!("action {mutation} is skipped"),
        },

        Event::GateWaiting { until: again, code, .. } => {
            format!("all work on the account waits until {} ({code})", until(again))
        }
        Event::GateProbing { .. } => "is the first to try the account again".to_owned(),
        Event::GatePassing { untried: true, .. } => {
            "the wait for the account is over; it was not tried yet".to_owned()
        }
        Event::GatePassing { .. } => "the account is available again".to_owned(),
        Event::GateReleased { group, .. } => {
            words::render_count(*group as usize, "waiting task continues", "waiting tasks continue")
        }
        Event::GateGivenUp { .. } => "the wait for the account took too long".to_owned(),

        Event::BudgetUpdated { spent, .. } if spent.is_zero() => {
            "reserved budget for the next step".to_owned()
        }
        Event::BudgetUpdated { spent, .. } => match words::render_amount(*spent) {
            nothing if nothing.is_empty() => "spent almost nothing".to_owned(),
            spent => format!("spent {spent}"),
        },
        Event::LimitRaised { raised } => match raised {
            Raised::Questions { build, .. } => {
                format!("build {build} may have more open questions")
            }
            Raised::Build { build, .. } => format!("the budget of build {build} was raised"),
            Raised::Task { .. } => "its budget was raised".to_owned(),
        },
    }
}

/// Returns the phrase for an event about a job, to follow its name; `None` where the phrase for tasks
/// applies. `wanted` is the action that a person has to take, if known.
pub(crate) fn render_job_event(recorded: &RecordedEvent, wanted: Option<&str>) -> Option<String> {
    let rule = recorded.why.as_ref().map(|why| why.rule);
    let code = recorded.why.as_ref().and_then(|why| why.code);
    let because = code.map(|code| format!(": {}", failure_phrase(code, false))).unwrap_or_default();
    Some(match &recorded.event {
        Event::JobDefined { .. } => "job defined".to_owned(),
        Event::JobFired { .. } => "runs".to_owned(),
        Event::JobFireLater { .. } => "is still running; runs once more afterwards".to_owned(),
        Event::JobMissed { .. } => format!("gave up this time{because}; the next run tries again"),
        Event::JobHeld { .. } => "paused, as you asked".to_owned(),
        Event::JobReleased { .. } => "runs on its schedule again".to_owned(),
        Event::TaskBackingOff { until: Some(again), .. } => {
            let until = when::render_until(*again, recorded.at);
            format!("waits until {until}, then tries again{because}")
        }
        Event::TaskBackingOff { until: None, .. } => {
            format!("waits for its account{because}")
        }
        Event::TaskParked { question, .. } => match wanted {
            Some(wanted) => format!("needs you to {wanted}: question {question}"),
            None => format!("needs you: question {question}"),
        },
        Event::TaskReady { .. } => match rule {
            Some(Rule::RepairScript) => format!("needs a repair{because}"),
            Some(Rule::ProposeOnly) => format!("needs a proposal for a repair{because}"),
            Some(Rule::RecoveredAfterCrash) => "was interrupted and continues".to_owned(),
            Some(Rule::TakenUpAgain) => "continues".to_owned(),
            _ => "is about to run".to_owned(),
        },
        Event::TaskDone { .. } => "done".to_owned(),
        Event::TaskSkipped { left: SkipReason::Decided, .. } => {
            "skipped this time, as you chose".to_owned()
        }
        Event::TaskCancelled { .. } => "cancelled, as you asked".to_owned(),
        Event::RunStarted { run, retry_of, .. } => render_start(*run, *retry_of),
        Event::RunStep { step: Step::Execute, .. } => "the script is running".to_owned(),
        Event::RunStep { step: Step::Repair { propose: false }, .. } => {
            "an agent is repairing the script".to_owned()
        }
        Event::RunStep { step: Step::Repair { propose: true }, .. } => {
            "an agent is preparing a repair to propose".to_owned()
        }
        Event::RunPaused { run, status, .. } | Event::RunFailed { run, status, .. } => {
            format!("{} ({run})", render_status(*status))
        }
        Event::RunCommitted { run } => format!("succeeded ({run})"),
        Event::FaultMet { fault, .. } => {
            let code = fault.code();
            format!("failed: {} ({code})", failure_phrase(code, false))
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
        Step::Attempt { .. } => "the agent is working",
        Step::AwaitMerge => "waits for its turn to be checked",
        Step::Check => "is being checked",
        Step::Commit => "is being committed",
        Step::Mutate { .. } => "performs its actions",
        Step::Emit => "reports its result",
        Step::Repair { propose: false } => "an agent is repairing the script",
        Step::Repair { propose: true } => "an agent is preparing a repair to propose",
        Step::Execute => "the script is running",
        Step::TakeBack => "the change that was not allowed is being reverted",
    }
}

const fn render_phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Preparing => "is being worked on",
        Phase::Prepared => "is checked and committed",
        Phase::Mutating => "may perform its actions now",
        Phase::Mutated => "has performed all its actions",
        Phase::Emitting => "has a result to report",
        Phase::Committed => "is complete",
    }
}

/// Returns the phrase for the status of a run, to follow its name.
pub(crate) const fn render_status(status: Status) -> &'static str {
    match status {
        Status::Active => "is running",
        Status::PausedTransient => "waits and continues by itself",
        Status::PausedApproval => "waits for your answer",
        Status::PausedReconciliation => "waits until it is known whether an action went through",
        Status::PausedUser => "is paused, as you asked",
        Status::FailedLogic => "failed",
        Status::FailedConfig => "failed: the settings are not valid",
        Status::FailedInternal => "failed: an error in Unstuck itself",
    }
}

/// Returns the step that took too long, with the last line that it wrote.
fn slow_step_with_output(fault: &Fault) -> Option<String> {
    let step = slow_step(fault)?;
    let last = fault.message.lines().skip(1).filter(|line| !line.trim().is_empty()).last();
    Some(last.map_or_else(|| step.clone(), |last| format!("{step}; last written: {}", last.trim())))
}
