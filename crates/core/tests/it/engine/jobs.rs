//! Scripts that stay alive: retried, repaired, paused, never run twice at once.

use std::sync::Arc;

use unstuck_core::engine::{
    Command, Counters, EffectKind, EffectOutcome, Rule, Subject, TaskId, TaskState,
};
use unstuck_core::fault::{Code, ExpiredCertificate, Fault, RunFailure, Tool};
use unstuck_core::plan::{JobSpec, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_core::tell::question_text;
use unstuck_core::time::Span;

use crate::engine::story::{Stage, action, fault, happened, task};

fn run_to_its_end(stage: &mut Stage) {
    stage.done("j");
    assert_eq!(stage.owed("j").what, EffectKind::Emit);
    stage.done("j");
    assert_eq!(*stage.task_state("j"), TaskState::Done);
}

#[test]
fn a_script_that_succeeds_is_done_until_it_is_fired_again() {
    let mut stage = Stage::new();
    let id = stage.job("j", JobSpec::default());
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 0 });
    run_to_its_end(&mut stage);
    stage.must(Command::FireJob { task: id });
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 0 });
}

#[test]
fn firings_of_a_script_that_still_runs_become_one() {
    let mut stage = Stage::new();
    let id = stage.job("j", JobSpec::default());
    stage.must(Command::FireJob { task: id });
    stage.must(Command::FireJob { task: id });
    stage.done("j");
    stage.done("j");
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 0 }, "once more, not twice");
    run_to_its_end(&mut stage);
}

// T3.7
#[test]
fn a_passing_fault_is_retried_five_times_and_then_asked_about() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec::default());
    for n in 1..=5 {
        stage.fails("j", fault(Code::NetworkUnavailable, "503"));
        stage.wait();
        assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: n });
    }
    stage.fails("j", fault(Code::NetworkUnavailable, "503"));
    assert_eq!(stage.question().why.rule, Rule::MaxRetriesExceeded);
}

// T3.7: a person who runs it again has it tried again, and its success ends the question.
#[test]
fn a_job_that_rests_over_an_outage_is_run_when_it_is_fired() {
    let mut stage = Stage::new();
    let id = stage.job("j", JobSpec::default());
    for _ in 0..5 {
        stage.fails("j", fault(Code::NetworkUnavailable, "503"));
        stage.wait();
    }
    stage.fails("j", fault(Code::NetworkUnavailable, "503"));
    assert!(matches!(stage.task_state("j"), TaskState::Parked { .. }));
    stage.must(Command::FireJob { task: id });
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 0 });
    run_to_its_end(&mut stage);
    assert_eq!(stage.state.questions().count(), 0);
}

#[test]
fn a_job_that_needs_a_login_is_not_run_when_it_is_fired() {
    let mut stage = Stage::new();
    let id = stage.job("j", JobSpec::default());
    stage.fails("j", fault(Code::AuthExpired, "token"));
    stage.must(Command::FireJob { task: id });
    assert!(matches!(stage.task_state("j"), TaskState::Parked { .. }));
}

fn scheduled(stage: &mut Stage) -> TaskId {
    stage.job("j", JobSpec { scheduled: true, ..JobSpec::default() })
}

fn outage() -> Fault {
    fault(Code::NetworkUnavailable, "503")
}

// T3.7
#[test]
fn a_scheduled_job_in_an_outage_retries_until_its_next_firing_which_then_tries() {
    let mut stage = Stage::new();
    let task = scheduled(&mut stage);
    for n in 1..=20 {
        stage.fails("j", outage());
        stage.wait();
        assert_eq!(
            stage.owed("j").what,
            EffectKind::Execute { retry: n },
            "as often as there is time"
        );
    }
    stage.fails("j", outage());
    let events = stage.must(Command::JobDue { task });
    assert!(happened(&events, "job.missed") && happened(&events, "job.fired"), "{events:?}");
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 0 });
    run_to_its_end(&mut stage);
    assert_eq!(stage.state.questions().count(), 0, "it passed, and no person had to know");
    assert_eq!(stage.state.task(task).unwrap().failing, None);
}

// T3.3: what a service asks for is not cut short by the schedule.
#[test]
fn firings_that_come_due_while_a_service_asks_to_wait_are_not_begun() {
    let mut stage = Stage::new();
    let task = scheduled(&mut stage);
    let asked = |wait: Span| fault(Code::ToolRateLimit, "429").with_retry_after(wait);
    stage.fails("j", asked(Span::from_secs(60)));
    let events = stage.must(Command::JobDue { task });
    assert!(events.is_empty(), "{events:?}");
    stage.wait();
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 1 });
    // One that came due while the script ran does not cut it short either.
    stage.must(Command::JobDue { task });
    stage.fails("j", asked(Span::from_secs(60)));
    assert!(matches!(stage.task_state("j"), TaskState::BackingOff { .. }));
    // A person may have it run now.
    stage.must(Command::FireJob { task });
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 0 });
    // A wait of days is no reason to be silent.
    stage.fails("j", asked(Span::from_hours(50)));
    let events = stage.must(Command::JobDue { task });
    assert!(happened(&events, "job.fired"), "{events:?}");
}

#[test]
fn a_firing_that_comes_while_the_script_runs_takes_over_when_that_fails() {
    let mut stage = Stage::new();
    let task = scheduled(&mut stage);
    stage.must(Command::JobDue { task });
    stage.fails("j", outage());
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 0 });
    assert_eq!(stage.state.task(task).unwrap().firing, 2);
}

// T3.7
#[test]
fn after_three_failed_firings_a_person_hears_of_it_and_the_job_goes_on_trying() {
    let mut stage = Stage::new();
    let task = scheduled(&mut stage);
    for firing in 1..=3 {
        assert_eq!(stage.state.questions().count(), 0, "before firing {firing} failed");
        stage.fails("j", outage());
        stage.must(Command::JobDue { task });
    }
    let asked = stage.question().clone();
    assert_eq!((asked.kind, asked.subject), (QuestionKind::Passing, Subject::Job(task)));
    assert_eq!(asked.why.rule, Rule::KeepsFailing);
    assert_eq!(stage.state.build(stage.state.jobs_build().unwrap()).unwrap().open_questions, 0);
    let told = question_text(&stage.state, &asked, stage.now);
    assert!(told.options.iter().any(|option| option.value == Decision::TryAgain));
    assert!(matches!(stage.owed("j").what, EffectKind::Execute { .. }), "it still runs");
    stage.fails("j", outage());
    stage.must(Command::JobDue { task });
    let events = {
        stage.done("j");
        stage.done("j")
    };
    assert!(happened(&events, "question.withdrawn"), "{events:?}");
    assert_eq!(stage.state.questions().count(), 0);
}

#[test]
fn a_job_that_has_been_failing_for_a_day_tells_before_its_third_firing() {
    let mut stage = Stage::new();
    scheduled(&mut stage);
    stage.fails("j", outage());
    stage.now = stage.now + Span::from_hours(23);
    stage.wait();
    stage.fails("j", outage());
    assert_eq!(stage.state.questions().count(), 0);
    stage.now = stage.now + Span::from_hours(1);
    stage.wait();
    stage.fails("j", outage());
    assert_eq!(stage.question().why.rule, Rule::KeepsFailing);
    assert!(matches!(stage.task_state("j"), TaskState::BackingOff { .. }));
}

#[test]
fn how_soon_a_person_hears_of_a_job_is_set_for_it_alone() {
    let mut stage = Stage::new();
    let overrides = Overrides { alert_firings: Some(1), ..Overrides::default() };
    let job = Some(JobSpec { scheduled: true, ..JobSpec::default() });
    let spec = TaskSpec { job, overrides, ..task("j") };
    stage.must(Command::DefineJob { spec: Arc::new(spec) });
    let id = stage.id("j");
    stage.must(Command::JobDue { task: id });
    stage.fails("j", outage());
    stage.must(Command::JobDue { task: id });
    assert_eq!(stage.question().kind, QuestionKind::Passing);
}

#[test]
fn a_person_who_is_told_of_a_failing_job_can_have_it_try_now_or_leave_it_for_its_next_time() {
    for decision in [Decision::TryAgain, Decision::SkipFeature] {
        let mut stage = Stage::new();
        let task = scheduled(&mut stage);
        for _ in 0..3 {
            stage.fails("j", outage());
            stage.must(Command::JobDue { task });
        }
        stage.fails("j", outage());
        stage.answer(decision);
        match decision {
            Decision::TryAgain => {
                assert!(matches!(stage.owed("j").what, EffectKind::Execute { .. }));
            }
            _ => assert!(matches!(stage.task_state("j"), TaskState::Skipped { .. })),
        }
        stage.must(Command::JobDue { task });
        assert!(matches!(stage.owed("j").what, EffectKind::Execute { .. }), "its schedule is kept");
        assert_eq!(stage.state.questions().count(), 0, "it is not asked again at once");
    }
}

#[test]
fn a_scheduled_job_that_needs_a_login_waits_for_a_person_all_the_same() {
    let mut stage = Stage::new();
    let task = scheduled(&mut stage);
    stage.fails("j", fault(Code::AuthExpired, "token"));
    stage.must(Command::JobDue { task });
    assert!(matches!(stage.task_state("j"), TaskState::Parked { .. }));
}

#[test]
fn a_job_that_was_asked_about_before_it_had_a_schedule_runs_at_its_next_time() {
    let mut stage = Stage::new();
    let id = stage.job("j", JobSpec::default());
    for _ in 0..5 {
        stage.fails("j", outage());
        stage.wait();
    }
    stage.fails("j", outage());
    assert_eq!(stage.question().why.rule, Rule::MaxRetriesExceeded);
    let job = Some(JobSpec { scheduled: true, ..JobSpec::default() });
    stage.must(Command::DefineJob { spec: Arc::new(TaskSpec { job, ..task("j") }) });
    stage.must(Command::JobDue { task: id });
    assert!(matches!(stage.owed("j").what, EffectKind::Execute { .. }));
    assert_eq!(stage.state.questions().count(), 0, "its question is withdrawn");
}

// T3.3, T3.8, T3.11
#[test]
fn a_broken_script_is_repaired_three_times_and_then_a_person_is_asked() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec::default());
    for _ in 0..3 {
        stage.fails("j", fault(Code::LogicError, "KeyError"));
        assert_eq!(stage.owed("j").what, EffectKind::Repair { propose: false });
        stage.done("j");
        assert!(matches!(stage.owed("j").what, EffectKind::Execute { .. }));
    }
    let events = stage.fails("j", fault(Code::LogicError, "KeyError"));
    assert!(!happened(&events, "task.ready"), "no further repair is queued");
    assert_eq!(stage.question().why.rule, Rule::RepairBudgetExhausted);
    // Repairs are the job's budget; the error's own tries are not touched.
    let signature = fault(Code::LogicError, "KeyError").signature;
    assert_eq!(stage.state.signatures().count(signature), 0);
    stage.answer(Decision::ProvideGuidance);
    assert_eq!(stage.owed("j").what, EffectKind::Repair { propose: false });
}

#[test]
fn an_expired_certificate_of_a_server_is_no_work_for_an_agent() {
    let mut stage = Stage::new();
    let id = stage.job("j", JobSpec::default());
    let context = Tool {
        command: Some("./sync.sh".to_owned()),
        host: Some("shop.example.com".to_owned()),
        expired_certificate: Some(ExpiredCertificate { at: Some("2026-10-31".to_owned()) }),
        ..Tool::default()
    };
    stage.fails("j", Fault::tool_config("exec:sync", "certificate has expired", context));
    let question = stage.question();
    assert_eq!((question.why.rule, question.kind), (Rule::NeverRetried, QuestionKind::Hands));
    let text = question_text(&stage.state, question, stage.now);
    let said = "The certificate of “shop.example.com” has expired (“2026-10-31”), so “./sync.sh” did \
                not connect.";
    assert!(text.problem.contains(said), "{}", text.problem);
    assert!(text.recommended_text.contains("have the certificate renewed"));
    assert_eq!(stage.state.task(id).unwrap().counters.repairs, 0);
    stage.answer(Decision::ProvideCredentials);
    assert!(matches!(stage.owed("j").what, EffectKind::Execute { .. }));
}

#[test]
fn a_repair_that_is_red_counts_as_one() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec::default());
    stage.fails("j", fault(Code::LogicError, "KeyError"));
    for _ in 0..2 {
        stage.fails("j", fault(Code::ValidationPreCommit, "still red"));
        assert_eq!(stage.owed("j").what, EffectKind::Repair { propose: false });
    }
    stage.fails("j", fault(Code::ValidationPreCommit, "still red"));
    assert_eq!(stage.question().why.rule, Rule::RepairBudgetExhausted);
}

#[test]
fn a_success_gives_the_repairs_back() {
    let mut stage = Stage::new();
    let id = stage.job("j", JobSpec::default());
    stage.fails("j", fault(Code::LogicError, "KeyError"));
    stage.done("j");
    run_to_its_end(&mut stage);
    assert_eq!(stage.state.task(id).unwrap().counters.repairs, 0);
}

// T3.1
#[test]
fn a_job_that_has_to_log_in_again_waits_for_a_person_and_goes_on() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec::default());
    stage.fails("j", fault(Code::AuthExpired, "token"));
    stage.answer(Decision::ProvideCredentials);
    assert!(matches!(stage.owed("j").what, EffectKind::Execute { .. }));
    run_to_its_end(&mut stage);
}

#[test]
fn a_job_is_defined_once_and_only_jobs_are_fired() {
    let mut stage = Stage::tasks(&["a"]);
    stage.job("j", JobSpec::default());
    let again = task("j");
    let spec = TaskSpec { job: Some(JobSpec::default()), ..again };
    let define = |spec: &TaskSpec| Command::DefineJob { spec: Arc::new(spec.clone()) };
    assert!(stage.try_to(define(&spec)).is_err());
    let changed = TaskSpec { goal: "something else".to_owned(), ..spec };
    stage.must(define(&changed));
    let job = stage.state.job("j").unwrap();
    assert_eq!((job.id, job.spec.goal.as_str()), (stage.id("j"), "something else"));
    assert!(matches!(job.state, TaskState::Running { .. }), "what it is at goes on");
    let plain = stage.id("a");
    assert!(stage.try_to(Command::FireJob { task: plain }).is_err());
    assert!(stage.try_to(Command::Retry { task: stage.id("j") }).is_err());
}

#[test]
fn a_held_job_runs_only_when_it_is_asked_for() {
    let mut stage = Stage::new();
    let task = stage.job("j", JobSpec::default());
    stage.must(Command::HoldJob { task });
    run_to_its_end(&mut stage);
    assert!(stage.try_to(Command::JobDue { task }).is_err());
    stage.must(Command::FireJob { task });
    run_to_its_end(&mut stage);
    assert!(stage.must(Command::HoldJob { task }).is_empty(), "it is held already");
    stage.must(Command::ReleaseJob { task });
    stage.must(Command::JobDue { task });
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 0 });
    assert!(stage.try_to(Command::HoldJob { task: TaskId(99) }).is_err());
}

#[test]
fn a_script_knows_best_what_it_failed_of() {
    for code in Code::ALL {
        let mut stage = Stage::new();
        stage.job("j", JobSpec::default());
        let effect = stage.effect_id("j");
        stage.must(Command::Blame { effect, fault: Arc::new(fault(*code, "it says so")) });
        let events = stage.fails("j", fault(Code::LogicError, "exit 1"));
        assert!(happened(&events, "run.fault"), "{code}");
        let met = stage.state.job("j").unwrap().failure.clone().unwrap();
        assert_eq!(met.code(), *code);
        assert_eq!(met.ended.as_ref().unwrap().output, "exit 1", "{code}");
    }
}

#[test]
fn what_a_script_blames_is_forgotten_when_it_succeeds_or_starts_over() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec::default());
    let blame =
        |effect| Command::Blame { effect, fault: Arc::new(fault(Code::AuthExpired, "token")) };
    let effect = stage.effect_id("j");
    stage.must(blame(effect));
    stage.fails("j", fault(Code::LogicError, "exit 1"));
    assert!(stage.try_to(blame(effect)).is_err(), "no process runs it");
    stage.answer(Decision::ProvideCredentials);
    stage.fails("j", fault(Code::NetworkUnavailable, "503"));
    let met = stage.state.job("j").unwrap().failure.clone().unwrap();
    assert_eq!(met.error_type().run_status(), RunFailure::PausedTransient);
    stage.wait();
    let effect = stage.effect_id("j");
    stage.must(blame(effect));
    run_to_its_end(&mut stage);
}

#[test]
fn a_firing_has_its_own_budget_and_counts() {
    let mut stage = Stage::new();
    let task = stage.job("j", JobSpec::default());
    stage.fails("j", fault(Code::NetworkUnavailable, "503"));
    stage.must(Command::Skip { task });
    assert_ne!(stage.state.task(task).unwrap().counters, Counters::default());
    stage.must(Command::FireJob { task });
    let job = stage.state.task(task).unwrap();
    assert_eq!((job.counters, job.failure.clone()), Default::default());
    assert_eq!(job.raised, job.spent, "what earlier firings cost is not held against it");
    assert_eq!(job.fired_at, stage.now);
}

#[test]
fn a_script_that_ends_well_over_an_unknown_action_is_not_done_yet() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec::default());
    let effect = stage.effect_id("j");
    stage.must(Command::Mutate { effect, mutation: action("charge") });
    let spent = unstuck_core::policy::Amount::ZERO;
    stage.must(Command::Settle { effect, outcome: EffectOutcome::Done, spent });
    assert!(matches!(stage.task_state("j"), TaskState::Reconciling { .. }));
    stage.applied("j");
    assert_eq!(stage.owed("j").what, EffectKind::Emit);
}

#[test]
fn a_script_whose_push_failed_twice_is_done_with_a_warning() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec::default());
    stage.fails("j", fault(Code::GitPushFailed, "push"));
    assert!(matches!(stage.owed("j").what, EffectKind::Execute { .. }), "once more");
    let events = stage.fails("j", fault(Code::GitPushFailed, "push"));
    assert!(happened(&events, "run.warned"));
    assert!(happened(&events, "run.phase"), "what it did is done; now everyone is told");
    assert_eq!(stage.owed("j").what, EffectKind::Emit);
    stage.done("j");
    assert_eq!(*stage.task_state("j"), TaskState::Done);
}
