//! The closed table of faults, as its users meet it.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;

use unstuck_core::fault::{
    Asks, Category, Charge, Class, ClassifiedBy, Code, Config, ErrorType, Fault, Files, Kind,
    Origin, Reaction, RunFailure, Validation, Work,
};
use unstuck_core::time::{Span, Time};

fn bare(code: Code) -> Fault {
    Fault::new(Kind::bare(code), "test", "message")
}

// T0.1
#[test]
fn there_are_three_classes_with_these_names_on_the_wire() {
    let names: Vec<&str> = Class::ALL.iter().map(|class| class.as_str()).collect();
    assert_eq!(names, ["never_retry", "code_error", "env_error"]);
    for class in Class::ALL {
        assert_eq!(serde_json::to_value(class).unwrap(), class.as_str());
    }
}

// T4.1
#[test]
fn there_are_eleven_categories_and_a_code_belongs_to_one() {
    assert_eq!(Category::ALL.len(), 11);
    let mut codes: BTreeMap<Category, u32> = BTreeMap::new();
    for code in Code::ALL {
        *codes.entry(code.row().category).or_default() += 1;
    }
    assert_eq!(codes.len(), 11, "every category has a code");
    assert_eq!(codes.values().sum::<u32>() as usize, Code::ALL.len());
}

#[test]
fn every_code_has_one_name_and_is_read_by_it_in_any_writing() {
    let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(names.len(), Code::ALL.len());
    for &code in Code::ALL {
        assert_eq!(code.as_str().parse(), Ok(code));
        assert_eq!(code.as_str().to_lowercase().replace('_', "-").parse(), Ok(code));
        assert!(code.summary().ends_with('.'), "{code}");
    }
}

#[test]
fn a_mistyped_code_gets_the_nearest_names() {
    let nearest = |given: &str| given.parse::<Code>().unwrap_err().nearest;
    assert_eq!(nearest("AUTH_EXPIERD")[0], Code::AuthExpired);
    assert_eq!(nearest("rate_limit")[0], Code::ProviderRateLimit);
    assert_eq!(nearest("conflict"), [Code::GitConflict]);
    assert_eq!(nearest("xyzzy"), []);
    assert_eq!(nearest(""), []);
    assert_eq!(nearest(&"A".repeat(10_000)), []);
}

// T4.2, T4.4
#[test]
fn what_the_table_says_is_consistent() {
    for &code in Code::ALL {
        let (row, fault) = (code.row(), bare(code));
        assert_eq!(fault.is_retryable(), row.class != Class::NeverRetry, "{code}");
        assert_eq!(fault.code(), code);
        let never = row.class == Class::NeverRetry;
        assert_eq!(never, row.charges.is_empty(), "{code}: what is never retried charges nothing");
        let silent = row.asks == Asks::NoQuestion;
        let reaction = code.reaction(Work::Task);
        let ends =
            matches!(reaction, Reaction::Fail | Reaction::TakeBackSkip | Reaction::RetryOnceWarn);
        assert_eq!(silent, ends, "{code}: only what ends by itself asks no question");
        if row.charges.contains(&Charge::Signature) {
            assert_eq!(row.class, Class::CodeError, "{code}");
            assert!(row.charges.contains(&Charge::Consecutive), "{code}");
        }
        if row.charges.contains(&Charge::Wait) {
            assert_eq!(row.charges, [Charge::Wait], "{code}: waiting charges nothing else");
        }
    }
}

// T3.1–T3.6, T3.19
#[test]
fn every_type_has_a_run_status() {
    let statuses: Vec<(ErrorType, RunFailure)> =
        ErrorType::ALL.iter().map(|t| (*t, t.run_status())).collect();
    assert_eq!(
        statuses,
        [
            (ErrorType::Auth, RunFailure::PausedApproval),
            (ErrorType::Permission, RunFailure::PausedApproval),
            (ErrorType::Precondition, RunFailure::PausedApproval),
            (ErrorType::Network, RunFailure::PausedTransient),
            (ErrorType::Logic, RunFailure::FailedLogic),
            (ErrorType::Internal, RunFailure::FailedInternal),
            (ErrorType::Config, RunFailure::FailedConfig),
        ]
    );
}

#[test]
fn a_job_is_repaired_where_a_task_is_replanned() {
    for &code in Code::ALL {
        let (task, job) = (code.reaction(Work::Task), code.reaction(Work::Job));
        match task {
            Reaction::Replan | Reaction::ReplanHarder | Reaction::TakeBackReplan => {
                assert_eq!(job, Reaction::Repair, "{code}");
                assert_eq!(code.charges(Work::Job), [Charge::Repair], "{code}");
            }
            _ => assert_eq!(job, task, "{code}"),
        }
    }
}

// T4.3
#[test]
fn a_fault_is_an_error_and_is_written_with_all_that_is_known() {
    let files = vec!["a.rs".to_owned()];
    let fault = Fault::scope_forbidden("scope", "a.rs is off limits", Files { files, patch: None })
        .with_cause("a person edited it");
    assert_eq!(fault.to_string(), "SCOPE_FORBIDDEN at scope: a.rs is off limits");
    assert!(fault.source().is_none());
    let json = serde_json::to_value(&fault).unwrap();
    let expected = [
        ("name", "Fault"),
        ("code", "SCOPE_FORBIDDEN"),
        ("category", "scope"),
        ("type", "logic"),
        ("class", "code_error"),
        ("origin", "agent"),
        ("message", "a.rs is off limits"),
        ("cause", "a person edited it"),
        ("classified_by", "typed"),
    ];
    for (field, value) in expected {
        assert_eq!(json[field], value, "{field}");
    }
    assert_eq!(json["retryable"], true);
    assert_eq!(json["context"]["files"][0], "a.rs");
}

// T4.32
#[test]
fn every_fault_survives_being_written_and_readers_skip_what_they_do_not_know() {
    for &code in Code::ALL {
        let fault = bare(code)
            .with_origin(Origin::Connector)
            .with_retry_after(Span::from_secs(3))
            .with_resets_at(Time::from_millis(9));
        let mut json = serde_json::to_value(&fault).unwrap();
        json["something_new"] = serde_json::json!({"nested": [1, 2]});
        let read: Fault = serde_json::from_value(json).unwrap();
        assert_eq!(read, fault, "{code}");
    }
}

#[test]
fn a_rule_that_is_gone_is_still_read() {
    let mut json = serde_json::to_value(bare(Code::EnvDns)).unwrap();
    json["classified_by"] = "rule:no-such-rule".into();
    let read: Fault = serde_json::from_value(json).unwrap();
    assert_eq!(read.classified_by, ClassifiedBy::Rule("retired"));
}

// T3.4, T3.11, T4.33
#[test]
fn a_fault_without_a_code_gets_one_by_its_origin() {
    let cases = [
        (Origin::Agent, Code::LogicError),
        (Origin::Tool, Code::ProviderCrash),
        (Origin::Provider, Code::ProviderCrash),
        (Origin::Connector, Code::NetworkUnavailable),
        (Origin::Host, Code::InternalError),
    ];
    for (origin, code) in cases {
        let fault = Fault::from_unclassified(origin, "somewhere", "what", "why");
        assert_eq!((fault.code(), fault.origin), (code, origin));
        assert_eq!(fault.source, "somewhere");
        assert_eq!(fault.cause.as_deref(), Some("why"));
    }
}

// T4.25, T4.23
#[test]
fn the_facts_of_a_fault_are_typed() {
    let context = Validation {
        command: "cargo test".to_owned(),
        exit: Some(101),
        output: "test a ... FAILED".to_owned(),
    };
    let fault = Fault::validation_pre_push("validate:pre_push#1", "red", context.clone());
    assert_eq!(fault.kind, Kind::ValidationPrePush(context));
    let context = Config { variable: Some("KEY".to_owned()), ..Config::default() };
    let fault = Fault::config_env_var_missing("config", "KEY is not set", context);
    assert_eq!((fault.code(), fault.origin), (Code::ConfigEnvVarMissing, Origin::Host));
}

// T0.7
#[test]
fn the_same_failure_has_the_same_signature_whatever_its_instance() {
    let red = |source: &str, output: &str| {
        let context = Validation { output: output.to_owned(), ..Validation::default() };
        Fault::validation_pre_commit(source, "red", context).signature
    };
    let failed = "error[E0425]: cannot find value `total` in this scope";
    let other = "error[E0425]: cannot find value `count` in this scope";
    assert_eq!(red("validate:pre_commit#1", failed), red("validate:pre_commit#2", failed));
    assert_ne!(red("validate:pre_commit#1", failed), red("validate:pre_commit#1", other));
    let touched = |files: &[&str]| {
        let files = files.iter().map(|&file| file.to_owned()).collect();
        Fault::scope_forbidden("scope", "", Files { files, patch: None }).signature
    };
    assert_eq!(touched(&["a", "b"]), touched(&["b", "a", "a"]));
    assert_ne!(touched(&["a"]), touched(&["a", "b"]));
    let silent = |exit| {
        let context = Validation { exit: Some(exit), ..Validation::default() };
        Fault::validation_pre_commit("v", "", context).signature
    };
    assert_ne!(silent(1), silent(2));
    assert_eq!(
        bare(Code::EnvDns).signature.key("shop"),
        format!("shop:{}", bare(Code::EnvDns).signature)
    );
}
