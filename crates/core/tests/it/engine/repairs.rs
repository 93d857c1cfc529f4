//! Repairs of a script: used or proposed, what they leave behind, and what a person is told.

use std::sync::Arc;

use unstuck_core::attempt::Approach;
use unstuck_core::engine::{Command, EffectKind, EffectOutcome, Rule, TaskState};
use unstuck_core::fault::Code;
use unstuck_core::plan::JobSpec;
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_core::tell;
use unstuck_core::text::lint_text;

use crate::engine::story::{Stage, action, fault};

const BRANCH: &str = "unstuck/repair/j";

/// The script fails, without an approach of an agent.
fn breaks(stage: &mut Stage, message: &str) {
    let fault = Arc::new(fault(Code::LogicError, message));
    stage.settle("j", EffectOutcome::Failed { fault, approach: None });
}

#[test]
fn a_repair_that_is_used_lets_the_script_run_again() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec::default());
    breaks(&mut stage, "KeyError");
    stage.repaired("j", None);
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 1 });
}

#[test]
fn after_an_applied_action_a_repair_is_only_proposed() {
    for (repair_after_mutation, propose) in [(false, true), (true, false)] {
        let mut stage = Stage::new();
        stage.job("j", JobSpec { repair_after_mutation, ..JobSpec::default() });
        let effect = stage.effect_id("j");
        stage.must(Command::Mutate { effect, mutation: action("charge") });
        stage.applied("j");
        breaks(&mut stage, "KeyError");
        assert_eq!(stage.owed("j").what, EffectKind::Repair { propose });
        stage.repaired("j", propose.then_some(BRANCH));
        assert_eq!(stage.state.questions().count(), usize::from(propose));
    }
}

#[test]
fn what_was_to_be_proposed_is_never_in_use() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec { propose_only: true, ..JobSpec::default() });
    breaks(&mut stage, "KeyError");
    let effect = stage.effect_id("j");
    let approach = Arc::new(Approach::default());
    let outcome = EffectOutcome::Repaired { approach, branch: None };
    assert!(stage.try_to(Command::Settle { effect, outcome, spent: Amount::ZERO }).is_err());
    assert_eq!(stage.owed("j").what, EffectKind::Repair { propose: true });
}

#[test]
fn a_proposal_is_told_in_plain_words_and_the_operator_reads_where_it_is() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec { propose_only: true, ..JobSpec::default() });
    breaks(&mut stage, "KeyError");
    stage.repaired("j", Some(BRANCH));
    let question = stage.question().clone();
    assert_eq!((question.kind, question.why.rule), (QuestionKind::Hands, Rule::RepairProposed));
    let text = tell::question_text(&stage.state, &question, stage.now);
    assert_eq!(lint_text(&text.problem), [], "{}", text.problem);
    assert_eq!(lint_text(&text.recommended_text), [], "{}", text.recommended_text);
    assert!(text.problem.contains("prepared a repair"), "{}", text.problem);
    assert_eq!(text.recommended, Some(Decision::ProvideCredentials));
    let operator = tell::operator_text(&stage.state, &question, stage.now);
    assert!(operator.starts_with("A repair is proposed: PRECONDITION_INPUT"), "{operator}");
    assert!(operator.contains(BRANCH) && operator.contains("I have fixed it"), "{operator}");
    // Once it is taken over, the script runs: there is nothing more to repair.
    stage.answer(Decision::ProvideCredentials);
    assert_eq!(stage.owed("j").what, EffectKind::Execute { retry: 1 });
}

#[test]
fn a_proposal_that_a_person_does_not_want_ends_the_firing() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec { propose_only: true, ..JobSpec::default() });
    breaks(&mut stage, "KeyError");
    stage.repaired("j", Some(BRANCH));
    stage.answer(Decision::SkipFeature);
    assert!(matches!(stage.task_state("j"), TaskState::Skipped { .. }));
}

// T3.8: what was tried is told with the question, one entry for each repair.
#[test]
fn a_question_lists_every_repair_however_it_failed() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec::default());
    breaks(&mut stage, "KeyError: a");
    stage.fails("j", fault(Code::ValidationPreCommit, "red"));
    stage.repaired("j", None);
    breaks(&mut stage, "KeyError: b");
    stage.fails("j", fault(Code::ScopeOutsideAllowed, "outside"));
    let question = stage.question().clone();
    assert_eq!(question.why.rule, Rule::RepairBudgetExhausted);
    let codes: Vec<Code> = question.attempts.iter().map(|tried| tried.code).collect();
    let repairs = [Code::ValidationPreCommit, Code::LogicError, Code::ScopeOutsideAllowed];
    assert_eq!(codes, repairs);
    let text = tell::question_text(&stage.state, &question, stage.now);
    assert_eq!(text.attempts.len(), 3, "{:?}", text.attempts);
    // A hint gives a fresh set; only what was tried with it is told the next time.
    stage.answer(Decision::ProvideGuidance);
    for _ in 0..4 {
        stage.fails("j", fault(Code::ValidationPreCommit, "red"));
    }
    assert_eq!(stage.question().attempts.len(), 4);
}

#[test]
fn only_a_repair_that_was_started_counts_as_one() {
    for limit in [0, 1, 2] {
        let mut stage = Stage::new();
        stage.policy.retry.repairs = limit;
        stage.job("j", JobSpec::default());
        for _ in 0..limit {
            breaks(&mut stage, "KeyError");
            stage.repaired("j", None);
        }
        breaks(&mut stage, "KeyError");
        assert_eq!(stage.question().why.rule, Rule::RepairBudgetExhausted);
        let counters = stage.state.task(stage.id("j")).unwrap().counters;
        assert_eq!(counters.repairs, limit);
    }
}

#[test]
fn a_hint_is_no_leave_to_use_what_was_to_be_proposed() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec { propose_only: true, ..JobSpec::default() });
    for _ in 0..4 {
        breaks(&mut stage, "KeyError");
    }
    stage.answer(Decision::ProvideGuidance);
    assert_eq!(stage.owed("j").what, EffectKind::Repair { propose: true });
}

#[test]
fn an_agent_reads_how_the_script_failed_whatever_came_between() {
    let mut stage = Stage::new();
    stage.job("j", JobSpec::default());
    breaks(&mut stage, "KeyError: 'total'");
    let told = |stage: &Stage| {
        let run = stage.owed("j").run;
        tell::replan_context(&stage.state, &Policy::default(), run).unwrap()
    };
    let first = told(&stage);
    assert!(first.starts_with("THE SCRIPT FAILED"), "{first}");
    assert!(first.contains("repair attempt 1 of 3") && first.contains("KeyError: 'total'"));
    stage.fails("j", fault(Code::ValidationPreCommit, "the check is red"));
    let second = told(&stage);
    assert!(second.contains("FAILED\nThe job's script failed"), "{second}");
    assert!(second.contains("repair attempt 2 of 3"), "{second}");
    assert!(second.contains("HOW THE SCRIPT FAILED") && second.contains("KeyError: 'total'"));
    assert!(second.contains("the check is red"), "{second}");
    // An outage says nothing about the script.
    stage.fails("j", fault(Code::ProviderApiError, "503"));
    stage.wait();
    let third = told(&stage);
    assert!(third.contains("KeyError: 'total'") && !third.contains("503"), "{third}");
}
