//! Nothing happens twice.

use std::sync::Arc;

use unstuck_core::engine::{
    Command, CommandRejection, DoubtedAction, EffectChange, EffectKind, EffectOutcome, Event,
    MutationState, Phase, Reconciled, RecordedEvent, Status, Step, TaskState,
};
use unstuck_core::fault::{Code, Fault};
use unstuck_core::plan::{JobSpec, MutationKind, MutationSpec, TaskSpec, WorkPhase};
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_core::time::{Span, Time};

use crate::engine::story::{Stage, action, fault, happened, needing, task, with_actions};

fn unknown() -> EffectOutcome {
    EffectOutcome::Unknown { fault: Arc::new(fault(Code::NetworkTimeout, "lost")) }
}

fn blind(key: &str) -> MutationSpec {
    MutationSpec { probe: false, ..action(key) }
}

/// A task that stands before its first action.
fn mutating(actions: Vec<MutationSpec>) -> Stage {
    let mut stage = Stage::new();
    stage.build(vec![with_actions("a", actions)]);
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    stage
}

fn performs(stage: &Stage) -> usize {
    let performs = |change: &&EffectChange| match change {
        EffectChange::Start(effect) => matches!(effect.what, EffectKind::Perform { .. }),
        EffectChange::Stop(_) => false,
    };
    stage.released.iter().filter(performs).count()
}

#[test]
fn intent_comes_first_then_the_call_then_the_outcome() {
    let mut stage = mutating(vec![action("merge"), action("push")]);
    let order: Vec<&str> = stage
        .journal
        .iter()
        .filter_map(|recorded| match recorded.event {
            Event::MutationIntended { .. } => Some("intended"),
            Event::MutationInFlight { .. } => Some("in flight"),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["intended", "in flight"]);
    stage.applied("a");
    stage.applied("a");
    assert_eq!(stage.step("a"), Step::Emit);
    stage.done("a");
    assert_eq!(*stage.task_state("a"), TaskState::Done);
    assert_eq!(performs(&stage), 2);
}

// TX6, TX8
#[test]
fn a_lost_answer_is_looked_up_and_what_had_arrived_is_not_sent_again() {
    let mut stage = mutating(vec![action("push")]);
    let events = stage.settle("a", unknown());
    assert!(happened(&events, "task.reconciling"));
    assert!(matches!(stage.owed("a").what, EffectKind::Probe { .. }));
    let run = stage.state.runs().next().unwrap();
    assert_eq!(run.status, Status::PausedReconciliation);
    stage.applied("a");
    stage.done("a");
    assert_eq!(*stage.task_state("a"), TaskState::Done);
    assert_eq!(performs(&stage), 1);
}

#[test]
fn what_certainly_did_not_happen_is_dealt_with_by_its_fault_and_sent_again() {
    let mut stage = mutating(vec![action("push")]);
    stage.settle("a", unknown());
    stage.settle("a", EffectOutcome::NotApplied);
    // The lost connection is a passing fault: the same action again, later.
    assert!(matches!(stage.task_state("a"), TaskState::BackingOff { .. }));
    stage.wait();
    stage.applied("a");
    stage.done("a");
    assert_eq!(performs(&stage), 2);
}

#[test]
fn an_absent_effect_counts_only_after_its_time_unless_the_call_is_recognised_when_repeated() {
    for (idempotent, waits) in [(false, true), (true, false)] {
        let settle_ms = Span::from_secs(90);
        let mut stage = mutating(vec![MutationSpec { idempotent, settle_ms, ..action("pay") }]);
        let sent = stage.now;
        stage.settle("a", unknown());
        stage.settle("a", EffectOutcome::NotApplied);
        if waits {
            stage.wait();
            assert_eq!(stage.now.since(sent), settle_ms);
            assert!(matches!(stage.owed("a").what, EffectKind::Probe { .. }));
            stage.settle("a", EffectOutcome::NotApplied);
        }
        assert!(matches!(stage.task_state("a"), TaskState::BackingOff { .. }), "{idempotent}");
    }
}

// T3.12
#[test]
fn what_no_probe_can_tell_is_asked_and_never_repeated_by_itself() {
    for spec in [blind("pay"), action("pay")] {
        let mut stage = mutating(vec![spec.clone()]);
        stage.settle("a", unknown());
        if spec.probe {
            stage.settle("a", EffectOutcome::CannotTell { said: None });
        }
        assert_eq!(stage.question().kind, QuestionKind::Happened);
        assert_eq!(stage.question().code(), None);
        assert!(stage.state.outstanding_effects().is_empty());
        assert_eq!(performs(&stage), 1);
        stage.answer(Decision::ItHappened);
        stage.done("a");
        assert_eq!(*stage.task_state("a"), TaskState::Done);
        assert_eq!(performs(&stage), 1);
    }
}

#[test]
fn only_a_persons_word_repeats_an_action_without_a_probe() {
    let mut stage = mutating(vec![blind("pay")]);
    stage.settle("a", unknown());
    stage.answer(Decision::ItDidNot);
    assert!(matches!(stage.owed("a").what, EffectKind::Perform { .. }));
    stage.applied("a");
    stage.done("a");
    assert_eq!(performs(&stage), 2);
}

#[test]
fn an_action_can_be_left_out_and_a_merge_takes_its_task_with_it() {
    let mut stage = mutating(vec![blind("mail"), action("push")]);
    stage.settle("a", unknown());
    stage.answer(Decision::Skip);
    stage.applied("a");
    stage.done("a");
    assert_eq!(*stage.task_state("a"), TaskState::Done);

    let merge = MutationSpec { kind: MutationKind::Merge, ..blind("merge") };
    let mut stage = mutating(vec![merge]);
    stage.settle("a", unknown());
    stage.answer(Decision::Skip);
    assert!(matches!(stage.task_state("a"), TaskState::Skipped { .. }));
}

#[test]
fn a_person_can_have_it_looked_up_again() {
    let mut stage = mutating(vec![action("pay")]);
    stage.settle("a", unknown());
    stage.settle("a", EffectOutcome::CannotTell { said: None });
    let question = stage.question().id;
    stage.must(Command::CheckAgain { question });
    assert!(matches!(stage.owed("a").what, EffectKind::Probe { .. }));
    stage.applied("a");
    stage.done("a");
    assert_eq!(*stage.task_state("a"), TaskState::Done);
}

#[test]
fn a_probe_that_keeps_failing_cannot_tell() {
    let mut stage = mutating(vec![action("pay")]);
    stage.settle("a", unknown());
    for _ in 0..4 {
        stage.settle("a", unknown());
        stage.wait();
    }
    stage.settle("a", unknown());
    assert_eq!(stage.question().kind, QuestionKind::Happened);
}

// B14
#[test]
fn a_head_that_moved_sends_the_work_back_to_the_checks() {
    let merge = MutationSpec { kind: MutationKind::Merge, ..action("merge") };
    let mut stage = mutating(vec![merge]);
    stage.settle("a", EffectOutcome::HeadMoved);
    assert_eq!(stage.owed("a").what, EffectKind::Check);
    assert_eq!(stage.state.runs().next().unwrap().phase, Phase::Mutating, "I9");
    stage.done("a");
    stage.done("a");
    stage.applied("a");
    stage.done("a");
    assert_eq!(*stage.task_state("a"), TaskState::Done);
}

// B14
#[test]
fn only_one_run_of_a_build_is_checked_and_merged_at_a_time() {
    let merge = || vec![MutationSpec { kind: MutationKind::Merge, ..action("merge") }];
    let mut stage = Stage::new();
    stage.build(vec![with_actions("a", merge()), with_actions("b", merge())]);
    stage.attempt("a");
    stage.attempt("b");
    assert_eq!(stage.step("b"), Step::AwaitMerge);
    stage.done("a");
    stage.done("a");
    assert_eq!(stage.step("b"), Step::AwaitMerge, "until the merge itself is through");
    stage.applied("a");
    assert_eq!(stage.step("b"), Step::Check);
}

#[test]
fn who_leaves_the_line_for_the_merge_lets_the_others_keep_their_places() {
    let merge = || vec![MutationSpec { kind: MutationKind::Merge, ..action("merge") }];
    let mut stage = Stage::new();
    let names = ["a", "b", "c", "d"];
    stage.build(names.iter().map(|name| with_actions(name, merge())).collect());
    for name in names {
        stage.attempt(name);
    }
    stage.must(Command::Skip { task: stage.id("c") });
    let line = |stage: &Stage| stage.state.builds().next().unwrap().merge_line.len();
    assert_eq!(line(&stage), 2);
    for (first, next) in [("a", "b"), ("b", "d")] {
        stage.done(first);
        stage.done(first);
        assert_eq!(stage.step(next), Step::AwaitMerge);
        stage.applied(first);
        assert_eq!(stage.step(next), Step::Check);
    }
    assert_eq!(line(&stage), 0);
}

#[test]
fn what_merges_nothing_is_checked_beside_what_does() {
    let merge = || vec![MutationSpec { kind: MutationKind::Merge, ..action("merge") }];
    let mut stage = Stage::new();
    let plain = |name| with_actions(name, vec![action("mail")]);
    stage.build(vec![plain("a"), plain("b"), with_actions("c", merge())]);
    for name in ["a", "b", "c"] {
        stage.attempt(name);
        assert_eq!(stage.step(name), Step::Check);
    }
}

#[test]
fn a_key_with_other_arguments_is_refused_and_the_same_again_is_nothing_new() {
    let mut stage = Stage::tasks(&["a"]);
    let effect = stage.effect_id("a");
    let declare = |arguments| {
        let mutation = MutationSpec { arguments, ..action("mail") };
        Command::Mutate { effect, mutation }
    };
    assert_eq!(stage.must(declare(1)).len(), 1);
    assert_eq!(stage.must(declare(1)).len(), 0);
    assert_eq!(stage.try_to(declare(2)), Err(CommandRejection::KeyReused("mail".to_owned())));
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    assert!(
        matches!(stage.owed("a").what, EffectKind::Perform { .. }),
        "what it declared is performed"
    );
}

#[test]
fn what_an_attempt_declared_goes_with_it_when_it_is_replanned() {
    let mut stage = Stage::tasks(&["a"]);
    let effect = stage.effect_id("a");
    stage.must(Command::Mutate { effect, mutation: action("mail") });
    stage.red("a", "boom");
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    assert_eq!(stage.owed("a").what, EffectKind::Emit);
}

fn job_with_action() -> Stage {
    let mut stage = Stage::new();
    stage.job("j", JobSpec::default());
    let effect = stage.effect_id("j");
    stage.must(Command::Mutate { effect, mutation: action("charge") });
    assert!(matches!(stage.owed("j").what, EffectKind::Perform { .. }));
    stage
}

fn script_fails(stage: &mut Stage, fault: Fault) {
    let execute = stage
        .state
        .outstanding_effects()
        .into_iter()
        .find(|effect| matches!(effect.what, EffectKind::Execute { .. }))
        .unwrap();
    let outcome = EffectOutcome::Failed { fault: Arc::new(fault), approach: None };
    let spent = unstuck_core::policy::Amount::ZERO;
    stage.must(Command::Settle { effect: execute.id, outcome, spent });
}

// TX8
#[test]
fn a_retried_script_gets_the_recorded_result_and_nothing_is_performed() {
    let mut stage = job_with_action();
    stage.applied("j");
    script_fails(&mut stage, fault(Code::NetworkTimeout, "later"));
    stage.wait();
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 1 });
    let effect = stage.effect_id("j");
    assert!(stage.must(Command::Mutate { effect, mutation: action("charge") }).is_empty());
    let charge = stage.state.mutations().next().unwrap();
    assert_eq!(charge.state, MutationState::Applied { result: Arc::from("ok") });
    assert_eq!(performs(&stage), 1);
}

// T3.12, TX6
#[test]
fn a_script_that_dies_with_an_action_in_flight_is_looked_up_before_its_fault_is_dealt_with() {
    let mut stage = job_with_action();
    script_fails(&mut stage, fault(Code::NetworkTimeout, "died"));
    assert!(matches!(stage.task_state("j"), TaskState::Reconciling { .. }));
    assert!(
        matches!(stage.owed("j").what, EffectKind::Perform { .. }),
        "the call is still under way"
    );
    stage.settle("j", unknown());
    assert!(matches!(stage.owed("j").what, EffectKind::Probe { .. }));
    stage.settle("j", EffectOutcome::CannotTell { said: None });
    assert_eq!(stage.question().kind, QuestionKind::Happened);
    stage.answer(Decision::ItHappened);
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 1 }, "it goes on from there");
    let effect = stage.effect_id("j");
    assert!(stage.must(Command::Mutate { effect, mutation: action("charge") }).is_empty());
}

// T3.12
#[test]
fn a_script_that_failed_over_an_unknown_outcome_runs_again_after_the_answer_and_is_not_repaired() {
    for (decision, performed) in [(Decision::ItHappened, 1), (Decision::ItDidNot, 2)] {
        let mut stage = job_with_action();
        stage.settle("j", unknown());
        stage.settle("j", EffectOutcome::CannotTell { said: Some(Arc::from("503")) });
        script_fails(&mut stage, fault(Code::LogicError, "exit 120"));
        let facts = stage.question().action.clone().unwrap();
        assert_eq!((&*facts.key, facts.probe_said.as_deref()), ("charge", Some("503")));
        assert!(facts.came_back.is_some() && facts.sent_at <= stage.now);
        let events = stage.answer(decision);
        assert!(!happened(&events, "run.fault"), "{events:?}");
        assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 1 }, "{decision}");
        let effect = stage.effect_id("j");
        stage.must(Command::Mutate { effect, mutation: action("charge") });
        if decision == Decision::ItDidNot {
            stage.applied("j");
        }
        assert_eq!(performs(&stage), performed, "{decision}");
        stage.done("j");
        stage.done("j");
        assert_eq!(*stage.task_state("j"), TaskState::Done);
    }
}

#[test]
fn a_script_that_died_of_an_action_that_a_probe_finds_is_not_repaired_either() {
    let mut stage = job_with_action();
    script_fails(&mut stage, fault(Code::LogicError, "exit 120"));
    stage.settle("j", unknown());
    stage.applied("j");
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 1 });
}

#[test]
fn a_new_firing_may_do_it_again_and_a_permanent_key_never() {
    for (permanent, performed) in [(false, 2), (true, 1)] {
        let mut stage = Stage::new();
        let id = stage.job("j", JobSpec::default());
        for _ in 0..2 {
            let effect = stage.effect_id("j");
            let mutation = MutationSpec { permanent, ..action("charge") };
            stage.must(Command::Mutate { effect, mutation });
            if matches!(stage.owed("j").what, EffectKind::Perform { .. }) {
                stage.applied("j");
            }
            stage.done("j");
            stage.done("j");
            stage.must(Command::FireJob { task: id });
        }
        assert_eq!(performs(&stage), performed, "permanent: {permanent}");
    }
}

// TX6: at every step of an action, a crash performs nothing twice.
#[test]
fn a_crash_at_any_step_of_an_action_leads_to_a_look_up() {
    let mut stage = mutating(vec![action("push")]);
    stage.must(Command::Recover { task: None, clean: false });
    assert!(matches!(stage.owed("a").what, EffectKind::Probe { .. }));
    stage.must(Command::Recover { task: None, clean: false });
    assert!(matches!(stage.owed("a").what, EffectKind::Probe { .. }));
    stage.settle("a", EffectOutcome::NotApplied);
    assert!(matches!(stage.owed("a").what, EffectKind::Perform { .. }));
    stage.applied("a");
    stage.must(Command::Recover { task: None, clean: false });
    stage.done("a");
    assert_eq!(*stage.task_state("a"), TaskState::Done);
}

#[test]
fn another_attempt_merges_its_own_work_and_does_not_mail_again() {
    let merge = MutationSpec { kind: MutationKind::Merge, ..action("merge") };
    let mut stage = mutating(vec![merge, action("mail"), action("deploy")]);
    stage.applied("a");
    stage.applied("a");
    // After merge and mail the deployment shows that the work itself is wrong.
    stage.fails("a", fault(Code::ValidationPrePush, "red"));
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    let keys = |stage: &Stage| -> Vec<String> {
        let EffectKind::Perform { mutation } = stage.owed("a").what else { return Vec::new() };
        vec![stage.state.mutation(mutation).unwrap().spec.key.clone()]
    };
    assert_eq!(keys(&stage), ["merge"], "the new commits are merged");
    stage.applied("a");
    assert_eq!(keys(&stage), ["deploy"], "the mail was sent before");
}

#[test]
fn a_permanent_key_with_other_arguments_is_refused_on_the_way_too() {
    let permanent = |arguments| MutationSpec { permanent: true, arguments, ..action("charge") };
    let mut stage = Stage::new();
    stage.build(vec![with_actions("a", vec![permanent(1)]), with_actions("b", vec![permanent(2)])]);
    for name in ["a", "b"] {
        stage.attempt(name);
        stage.done(name);
        let events = stage.done(name);
        assert_eq!(happened(&events, "run.fault"), name == "b");
        if name == "a" {
            stage.applied("a");
            stage.done("a");
        }
    }
    assert_eq!(performs(&stage), 1);
}

// T3.12
#[test]
fn what_another_task_has_done_under_a_key_is_declared_as_done_and_not_repeated() {
    let charge = |arguments| MutationSpec { permanent: true, arguments, ..action("charge") };
    let mut stage = Stage::new();
    stage.build(vec![task("a"), needing("b", &["a"])]);
    let declares = |stage: &mut Stage, name: &str, mutation: MutationSpec| {
        let effect = stage.effect_id(name);
        stage.try_to(Command::Mutate { effect, mutation })
    };
    let before = |events: Vec<Event>| {
        events.iter().find_map(|event| match event {
            Event::Declared { before, .. } => Some(*before),
            _ => None,
        })
    };
    // What it needs is one of the task's own, whose key holds for the task only.
    let charged = MutationSpec { requires: Some("push".to_owned()), ..charge(1) };
    assert_eq!(before(declares(&mut stage, "a", action("push")).unwrap()), Some(None));
    assert_eq!(before(declares(&mut stage, "a", charged).unwrap()), Some(None));
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    stage.applied("a");
    stage.applied("a");
    stage.done("a");
    assert_eq!((performs(&stage), stage.task_state("a")), (2, &TaskState::Done));

    let other = declares(&mut stage, "b", charge(2)).unwrap_err();
    assert_eq!(other, CommandRejection::KeyReused("charge".to_owned()));
    let same = declares(&mut stage, "b", charge(1)).unwrap();
    assert_eq!(before(same), Some(Some(Reconciled::Applied)));
    stage.attempt("b");
    stage.done("b");
    stage.done("b");
    stage.done("b");
    assert_eq!((performs(&stage), stage.task_state("b")), (2, &TaskState::Done));
}

#[test]
fn an_action_that_is_over_starts_the_counts_over() {
    let mut stage = mutating(vec![action("push"), action("mail")]);
    let counters = |stage: &Stage| stage.state.task(stage.id("a")).unwrap().counters;
    let calm = counters(&stage);
    stage.fails("a", fault(Code::NetworkTimeout, "later"));
    stage.wait();
    stage.fails("a", fault(Code::GitPushFailed, "push"));
    stage.must(Command::Recover { task: None, clean: false });
    stage.settle("a", EffectOutcome::NotApplied);
    assert_ne!(counters(&stage), calm);
    stage.applied("a");
    assert_eq!(counters(&stage).crashes, 0);
    assert_eq!(counters(&stage).git, 0);
    assert_eq!(counters(&stage).transient, calm.transient);
}

#[test]
fn a_word_about_an_action_ends_a_row_of_crashes() {
    let mut stage = mutating(vec![action("push"), action("mail")]);
    stage.must(Command::Recover { task: None, clean: false });
    assert_eq!(stage.state.task(stage.id("a")).unwrap().counters.crashes, 1);
    stage.settle("a", EffectOutcome::CannotTell { said: None });
    stage.answer(Decision::ItHappened);
    assert_eq!(stage.state.task(stage.id("a")).unwrap().counters.crashes, 0);
}

#[test]
fn an_attempt_declares_so_many_actions_and_no_more() {
    let mut stage = Stage::tasks(&["a"]);
    let effect = stage.effect_id("a");
    let declare = |n: usize| Command::Mutate { effect, mutation: action(&format!("mail {n}")) };
    for n in 0..64 {
        stage.must(declare(n));
    }
    let refused = stage.try_to(declare(64));
    assert!(matches!(refused, Err(CommandRejection::NotNow { .. })), "{refused:?}");
}

// T3.3
#[test]
fn a_script_that_acts_in_a_phase_that_only_reads_or_decides_violates_it_however_it_ends() {
    for phase in [WorkPhase::Read, WorkPhase::Decide] {
        for swallows in [false, true] {
            let mut stage = Stage::new();
            let job = Some(JobSpec::default());
            let spec = TaskSpec { job, phase: Some(phase), ..task("j") };
            stage.must(Command::DefineJob { spec: Arc::new(spec) });
            stage.must(Command::FireJob { task: stage.id("j") });
            let effect = stage.effect_id("j");
            let events = stage.must(Command::Mutate { effect, mutation: action("charge") });
            assert!(happened(&events, "run.blamed"), "{events:?}");
            assert_eq!(stage.state.mutations().count(), 0, "nothing is even intended");
            if swallows {
                stage.done("j");
            } else {
                script_fails(&mut stage, fault(Code::LogicError, "exit 1"));
            }
            let failure = stage.state.task(stage.id("j")).unwrap().failure.clone().unwrap();
            assert_eq!(failure.code(), Code::LogicPhaseViolation);
            assert_eq!(stage.owed("j").what, EffectKind::Repair { propose: false });
        }
    }
}

// T3.3
#[test]
fn a_task_that_only_reads_cannot_declare_an_action_and_one_that_acts_can() {
    for (phase, may) in
        [(WorkPhase::Read, false), (WorkPhase::Decide, false), (WorkPhase::Act, true)]
    {
        let mut stage = Stage::new();
        stage.build(vec![TaskSpec { phase: Some(phase), ..task("a") }]);
        let effect = stage.effect_id("a");
        let events = stage.must(Command::Mutate { effect, mutation: action("mail") });
        let declared = events.iter().any(|event| matches!(event, Event::Declared { .. }));
        assert_eq!(declared, may, "{phase:?}: {events:?}");
        let met: Vec<Code> = events.iter().filter_map(|e| Some(e.met_fault()?.code())).collect();
        let told: &[Code] = if may { &[] } else { &[Code::LogicPhaseViolation] };
        assert_eq!(met, told, "{phase:?}");
    }
}

/// A task that stands before its first action, of which the record was lost.
fn doubting(spec: MutationSpec) -> Stage {
    let mut stage = Stage::new();
    let doubted = DoubtedAction { key: Arc::from(spec.key.as_str()), at: Time::from_millis(77) };
    let event = Event::LossAccepted { kept: 0, had: Some(9), actions: vec![doubted] };
    let recorded = RecordedEvent { seq: 1, at: stage.now, why: None, event };
    stage.state.apply(&recorded).unwrap();
    stage.journal.push(recorded);
    stage.build(vec![with_actions("a", vec![spec])]);
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    stage
}

// B51
#[test]
fn an_action_whose_record_was_lost_is_looked_up_before_it_is_sent() {
    let mut stage = doubting(action("pay"));
    assert!(matches!(stage.owed("a").what, EffectKind::Probe { .. }));
    assert_eq!(performs(&stage), 0);
    let facts = stage.state.mutations().next().unwrap().facts();
    assert_eq!(facts.sent_at, Time::from_millis(77));
    stage.applied("a");
    stage.done("a");
    assert_eq!(*stage.task_state("a"), TaskState::Done);
    assert_eq!(performs(&stage), 0);
    assert!(!stage.state.is_doubted("pay"));
}

// B51
#[test]
fn an_action_whose_record_was_lost_is_asked_about_without_a_probe() {
    let mut stage = doubting(blind("pay"));
    assert_eq!(stage.question().kind, QuestionKind::Happened);
    assert_eq!(performs(&stage), 0);
    stage.answer(Decision::ItDidNot);
    assert_eq!(performs(&stage), 1);
    stage.applied("a");
    stage.done("a");
    assert_eq!(*stage.task_state("a"), TaskState::Done);
}
