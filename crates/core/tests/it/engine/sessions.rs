//! Sessions of other runtimes: a build with one task, whose work is only told about.

use std::sync::Arc;

use unstuck_core::attempt::Approach;
use unstuck_core::engine::{
    BuildState, Command, CommandIssuer, CommandRejection, EffectOutcome, Event, MutationState,
    SessionReport, TaskId, TaskState,
};
use unstuck_core::fault::{Category, Code, Fault};
use unstuck_core::plan::{GateKey, MutationSpec, Plan, Request, SessionSpec, TaskSpec};
use unstuck_core::question::Decision as Answered;
use unstuck_core::tell::{SessionDecision, SessionDirection, session_direction};

use crate::engine::story::{Stage, fault, happened, task};

fn request(key: &str, said: u64) -> Request {
    Request { key: Arc::from(key), said }
}

fn session(name: &str) -> TaskSpec {
    let gate = GateKey(name.bytes().map(u64::from).sum());
    TaskSpec { session: Some(SessionSpec::default()), gate, ..task(name) }
}

/// A stage with one session.
fn opened() -> (Stage, TaskId) {
    let mut stage = Stage::new();
    stage.build(vec![session("sync")]);
    let id = stage.id("sync");
    (stage, id)
}

fn failed(key: &str, fault: Fault) -> SessionReport {
    let approach = Approach { summary: format!("approach {key}"), ..Approach::default() };
    let said = fault.message.bytes().map(u64::from).sum();
    let approach = Some(Arc::new(approach));
    SessionReport::Failed { request: request(key, said), fault: Arc::new(fault), approach }
}

fn done() -> SessionReport {
    SessionReport::Done { approach: Arc::default() }
}

fn intends(key: &str, arguments: u64) -> SessionReport {
    SessionReport::Intends {
        mutation: MutationSpec { key: key.to_owned(), arguments, ..MutationSpec::default() },
    }
}

fn acted(key: &str, outcome: EffectOutcome) -> SessionReport {
    SessionReport::Acted { key: key.to_owned(), outcome }
}

fn unknown() -> EffectOutcome {
    EffectOutcome::Unknown { fault: Arc::new(fault(Code::NetworkTimeout, "lost")) }
}

impl Stage {
    fn tell(&mut self, task: TaskId, told: SessionReport) -> Vec<Event> {
        self.must(Command::Report { task, told })
    }

    fn told(&mut self, task: TaskId, told: SessionReport) -> SessionDirection {
        self.tell(task, told);
        self.direction(task)
    }

    fn direction(&self, task: TaskId) -> SessionDirection {
        session_direction(&self.state, &self.policy, task).unwrap()
    }
}

// T0.10, T0.17: three other ways, then a person
#[test]
fn a_session_gets_three_other_ways_and_then_a_person() {
    let (mut stage, id) = opened();
    assert_eq!(
        (stage.direction(id).decision, stage.direction(id).attempt),
        (SessionDecision::Retry, 0)
    );
    for attempt in 1..=3 {
        let told = stage.told(id, failed(&format!("r{attempt}"), red_test()));
        assert_eq!((told.decision, told.attempt, told.of), (SessionDecision::Retry, attempt, 3));
        let context = told.context.unwrap();
        let numbered = ["approach 2 of 3", "approach 3 of 3", "approach 4, the last one"];
        let numbered = numbered[attempt as usize - 1];
        for part in [
            &*format!("APPROACH {attempt} FAILED"),
            numbered,
            "Do sync",
            "approach r1",
            "fundamentally different",
        ] {
            assert!(context.contains(part), "{part}: {context}");
        }
        // There is nothing of ours to speak of.
        for absent in ["WORKTREE", "refused before it is checked"] {
            assert!(!context.contains(absent), "{context}");
        }
    }
    let told = stage.told(id, failed("r4", red_test()));
    assert_eq!((told.decision, told.attempt), (SessionDecision::Ask, 4));
    assert_eq!(told.question, Some(stage.question().id));
    assert_eq!(stage.question().attempts.len(), 4);
}

fn red_test() -> Fault {
    fault(Code::LogicError, "expected 3")
}

// T2.3: a person's words come first, and the tries start over
#[test]
fn an_answer_starts_the_tries_over() {
    let (mut stage, id) = opened();
    for at in 0..4 {
        stage.tell(id, failed(&format!("r{at}"), red_test()));
    }
    let question = stage.question().id;
    stage.answer_to(question, Answered::ProvideGuidance, Some("Ask for the whole list."));
    let told = stage.direction(id);
    assert_eq!(told.decision, SessionDecision::Retry);
    assert!(told.context.unwrap().starts_with("GUIDANCE FROM A PERSON"));
    for attempt in 1..=3 {
        let told = stage.told(id, failed(&format!("s{attempt}"), red_test()));
        assert_eq!((told.decision, told.attempt), (SessionDecision::Retry, attempt));
    }
    assert_eq!(stage.told(id, failed("s4", red_test())).decision, SessionDecision::Ask);
}

#[test]
fn the_same_request_is_taken_once() {
    let (mut stage, id) = opened();
    let first = stage.told(id, failed("r1", red_test()));
    assert_eq!(stage.tell(id, failed("r1", red_test())), []);
    assert_eq!(stage.direction(id), first);
    let other = Command::Report { task: id, told: failed("r1", fault(Code::LogicError, "else")) };
    assert_eq!(stage.try_to(other), Err(CommandRejection::RequestReused("r1".to_owned())));
}

#[test]
fn a_session_is_opened_once_for_a_request() {
    let mut stage = Stage::new();
    let start = |said| {
        let plan = Plan::new(vec![session("sync")]).unwrap();
        let start = Command::StartBuild { plan: Arc::new(plan), slots: 1, in_place: false };
        CommandIssuer { by: "Ada".into(), request: Some(request("open-1", said)) }
            .wrap_command(start)
    };
    assert!(happened(&stage.must(start(1)), "build.started"));
    assert_eq!(stage.must(start(1)), []);
    assert_eq!(stage.try_to(start(2)), Err(CommandRejection::RequestReused("open-1".to_owned())));
    let id = stage.id("sync");
    stage.tell(id, done());
    // One that is over and forgotten is not opened again either.
    stage.build(vec![task("other")]);
    assert!(stage.state.task(id).is_none());
    assert_eq!(stage.must(start(1)), []);
    assert_eq!(stage.state.handled_request("open-1").unwrap().build.unwrap().0, 0);
}

// TX10: what a runtime elsewhere is at is not gone because we were
#[test]
fn a_restart_changes_nothing_about_a_session() {
    let (mut stage, id) = opened();
    stage.build(vec![task("ours")]);
    stage.tell(id, failed("r1", red_test()));
    stage.tell(id, intends("pay", 1));
    let before = (stage.direction(id), stage.owed_if_any("sync"));
    for _ in 0..5 {
        let events = stage.must(Command::Recover { task: None, clean: false });
        assert!(events.iter().all(|event| event.subject_ids().task != Some(id)), "{events:?}");
        stage.must(Command::Recover { task: Some(id), clean: false });
    }
    assert_eq!((stage.direction(id), stage.owed_if_any("sync")), before);
    stage.tell(id, acted("pay", EffectOutcome::Applied { result: Arc::from("ok") }));
    stage.tell(id, done());
    assert_eq!(*stage.task_state("sync"), TaskState::Done);
}

#[test]
fn success_ends_it_and_gives_back_what_it_charged() {
    let (mut stage, id) = opened();
    stage.tell(id, failed("r1", red_test()));
    let events = stage.tell(id, done());
    for name in ["signature.recovered", "run.committed", "task.done", "build.completed"] {
        assert!(happened(&events, name), "{name}: {events:?}");
    }
    assert_eq!(stage.state.signatures().count(red_test().signature), 0);
    assert_eq!(stage.direction(id).decision, SessionDecision::Stop);
    // Said once more it changes nothing.
    assert_eq!(stage.tell(id, done()), []);
    assert_eq!(stage.tell(id, failed("r2", red_test())), []);
}

// T2.6: what passes by itself is waited for, at no charge but the wait
#[test]
fn an_outage_is_waited_out() {
    let (mut stage, id) = opened();
    let told = stage.told(id, failed("r1", fault(Code::EnvConnection, "refused")));
    assert_eq!((told.decision, told.attempt), (SessionDecision::Wait, 1));
    let until = told.until.unwrap();
    assert!(until > stage.now);
    // No session waits for a report meanwhile.
    assert_eq!(stage.tell(id, failed("r2", red_test())), []);
    stage.wait();
    assert_eq!(stage.now, until);
    assert_eq!(stage.direction(id).decision, SessionDecision::Retry);
    // TX11: an account that is limited is waited for as long as it asked
    let limited = fault(Code::ProviderRateLimit, "429")
        .with_retry_after(unstuck_core::time::Span::from_secs(30));
    let told = stage.told(id, failed("r3", limited));
    let waits = told.until.unwrap().since(stage.now).as_millis();
    assert!(
        told.decision == SessionDecision::Wait && (30_000..=33_000).contains(&waits),
        "{waits}"
    );
    stage.wait();
    assert_eq!(stage.direction(id).decision, SessionDecision::Retry);
    stage.tell(id, done());
}

#[test]
fn a_held_session_waits_and_a_cancelled_one_stops() {
    let (mut stage, id) = opened();
    let build = stage.state.task(id).unwrap().build;
    stage.must(Command::Pause { build });
    assert_eq!(stage.direction(id).decision, SessionDecision::Wait);
    assert_eq!(stage.tell(id, failed("r1", red_test())), []);
    stage.must(Command::Resume { build });
    assert_eq!(stage.direction(id).decision, SessionDecision::Retry);
    stage.must(Command::Cancel { build });
    assert_eq!(stage.direction(id).decision, SessionDecision::Stop);
}

#[test]
fn an_action_is_performed_once() {
    let (mut stage, id) = opened();
    stage.tell(id, intends("pay", 1));
    let now = |stage: &Stage| stage.state.action(id, "pay").unwrap().state.clone();
    assert!(matches!(now(&stage), MutationState::InFlight { .. }));
    // It is not said twice that it may be sent, and nothing ends before its outcome is told.
    for told in [intends("pay", 1), done(), failed("r1", red_test())] {
        let refused = stage.try_to(Command::Report { task: id, told });
        assert!(matches!(refused, Err(CommandRejection::NotNow { .. })), "{refused:?}");
    }
    let reused = stage.try_to(Command::Report { task: id, told: intends("pay", 2) });
    assert_eq!(reused, Err(CommandRejection::KeyReused("pay".to_owned())));
    let applied = || acted("pay", EffectOutcome::Applied { result: Arc::from("42") });
    stage.tell(id, applied());
    assert_eq!(stage.tell(id, applied()), []);
    let else_told = acted("pay", EffectOutcome::Applied { result: Arc::from("43") });
    assert!(stage.try_to(Command::Report { task: id, told: else_told }).is_err());
    // TX8: another attempt finds the recorded result
    stage.tell(id, failed("r2", red_test()));
    assert_eq!(stage.tell(id, intends("pay", 1)), []);
    assert_eq!(now(&stage), MutationState::Applied { result: Arc::from("42") });
    stage.tell(id, done());
}

#[test]
fn an_action_that_failed_may_be_sent_again() {
    let (mut stage, id) = opened();
    stage.tell(id, intends("pay", 1));
    let failure = EffectOutcome::Failed {
        fault: Arc::new(fault(Code::NetworkTimeout, "no")),
        approach: None,
    };
    stage.tell(id, acted("pay", failure));
    assert!(happened(&stage.tell(id, intends("pay", 1)), "mutation.in_flight"));
}

// The key of what did not happen is free: the mistyped command is typed right.
#[test]
fn a_key_whose_action_did_not_happen_is_free_for_another() {
    for permanent in [false, true] {
        let (mut stage, id) = opened();
        let intends = |arguments| match intends("pay", arguments) {
            SessionReport::Intends { mutation } => {
                SessionReport::Intends { mutation: MutationSpec { permanent, ..mutation } }
            }
            told => told,
        };
        stage.tell(id, intends(1));
        let missing = fault(Code::ToolMissing, "no such program");
        let failure = EffectOutcome::Failed { fault: Arc::new(missing), approach: None };
        stage.tell(id, acted("pay", failure));
        assert!(happened(&stage.tell(id, intends(2)), "mutation.intended"));
        stage.tell(id, acted("pay", EffectOutcome::Applied { result: Arc::from("42") }));
        let reused = stage.try_to(Command::Report { task: id, told: intends(1) });
        assert_eq!(reused, Err(CommandRejection::KeyReused("pay".to_owned())));
        assert_eq!(stage.tell(id, intends(2)), []);
        assert_eq!(stage.state.mutations().count(), 1);
    }
}

// T3.12, TX6: the runtime cannot tell, so a person is asked, and nothing is sent before that
#[test]
fn a_person_says_whether_an_action_happened() {
    for (answered, sent_again) in
        [(Answered::ItHappened, false), (Answered::ItDidNot, true), (Answered::Skip, false)]
    {
        let (mut stage, id) = opened();
        stage.tell(id, intends("pay", 1));
        let told = stage.told(id, acted("pay", unknown()));
        assert_eq!(
            (told.decision, told.question),
            (SessionDecision::Ask, Some(stage.question().id))
        );
        // Said once more it changes nothing.
        assert_eq!(stage.tell(id, acted("pay", unknown())), []);
        let refused = stage.try_to(Command::Report { task: id, told: intends("pay", 1) });
        assert!(matches!(refused, Err(CommandRejection::NotNow { .. })), "{refused:?}");
        stage.answer(answered);
        assert_eq!(stage.direction(id).decision, SessionDecision::Retry, "{answered}");
        let events = stage.tell(id, intends("pay", 1));
        assert_eq!(happened(&events, "mutation.in_flight"), sent_again, "{answered}");
    }
}

#[test]
fn a_cancelled_session_waits_for_what_became_of_its_action() {
    let (mut stage, id) = opened();
    let build = stage.state.task(id).unwrap().build;
    stage.tell(id, intends("pay", 1));
    stage.must(Command::Cancel { build });
    assert_eq!(stage.direction(id).decision, SessionDecision::Stop);
    stage.tell(id, acted("pay", EffectOutcome::Applied { result: Arc::from("ok") }));
    assert_eq!(*stage.task_state("sync"), TaskState::Cancelled);
    assert_eq!(stage.state.build(build).unwrap().state, BuildState::Cancelled);
}

// Whatever a runtime reports, it is told what to do, and a person is asked before it goes on for ever
#[test]
fn every_code_leads_somewhere() {
    for code in Code::ALL.iter().filter(|code| code.row().category != Category::Internal) {
        let (mut stage, id) = opened();
        let mut asked = 0;
        for at in 0..60 {
            let told = stage.told(id, failed(&format!("{code}-{at}"), fault(*code, "x")));
            match told.decision {
                SessionDecision::Retry => {}
                SessionDecision::Wait => {
                    stage.wait();
                }
                SessionDecision::Ask => {
                    asked += 1;
                    break;
                }
                SessionDecision::Stop => break,
            }
        }
        let ended = stage.direction(id).decision == SessionDecision::Stop;
        // A push that fails is gone on without, as often as it does.
        let warned = *code == Code::GitPushFailed;
        assert!(asked == 1 || ended || warned, "{code}: {:?}", stage.direction(id));
    }
}

// T0.18: what a person does not allow ends the session; there is nothing of ours to take back
#[test]
fn what_is_denied_ends_the_session() {
    let (mut stage, id) = opened();
    stage.tell(id, failed("r1", fault(Code::PermissionFileAccess, "/etc")));
    stage.answer(Answered::Deny);
    assert_eq!(stage.direction(id).decision, SessionDecision::Stop);
    assert!(matches!(stage.task_state("sync"), TaskState::Skipped { .. }));
    assert_eq!(stage.state.outstanding_effects(), []);
}
