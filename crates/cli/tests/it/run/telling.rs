//! A run tells people elsewhere, on the channels of the settings.

use serde_json::{Value, json};
use unstuck_world::fake::receiver::FakeReceiver;
use unstuck_world::fake::server::{FakeAnswer, FakeHttpError, FakeServer, RecordedRequest};

use super::models::ANTHROPIC;
use crate::program::ran;
use crate::project::{Project, outside};

/// A webhook that wants to hear everything.
fn webhook(receiver: &FakeReceiver) -> String {
    format!(
        "[notify.phone]\nkind = \"webhook\"\nurl = \"{}\"\nlevel = \"all\"\n",
        receiver.url("/")
    )
}

/// The first event of a type, from the lines of `--json`.
fn event(lines: &str, name: &str) -> Value {
    let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events
        .into_iter()
        .find(|event| event["type"] == name)
        .unwrap_or_else(|| panic!("{name}: {lines}"))
}

// T4.26, T4.27: what the provider says, the event, the question and the message are of one category
#[test]
fn the_category_is_the_same_from_the_provider_to_the_phone() {
    let cases = [
        (FakeHttpError::PaymentRequired, "provider", "PROVIDER_QUOTA"),
        (FakeHttpError::NoCredit, "provider", "PROVIDER_QUOTA"),
        (FakeHttpError::NoSuchModel, "provider", "PROVIDER_NOT_AVAILABLE"),
        (FakeHttpError::Unauthorized, "permission", "AUTH_INVALID"),
        (FakeHttpError::Forbidden, "permission", "AUTH_INVALID"),
    ];
    let outside = outside();
    for (error, category, code) in cases {
        let stage = Project::with_agents();
        let receiver = outside.block_on(FakeReceiver::start([])).unwrap();
        stage.set(&webhook(&receiver));
        let service = outside.block_on(FakeServer::start(FakeAnswer::Error(error))).unwrap();
        let args = ["run", "write a", "--json", "--max-wait", "0"];
        let ran = ran(ANTHROPIC.unstuck(&stage, &service, &args).output().unwrap());
        assert_eq!(ran.exit, 3, "{code}: {ran}");
        assert_eq!(service.model_calls().len(), 1, "{code} is not tried twice");
        let met = event(&ran.stdout, "run.fault");
        let fault = &met["data"]["fault"];
        assert_eq!((&fault["category"], &fault["code"]), (&json!(category), &json!(code)));
        let result = event(&ran.stdout, "task.parked");
        assert_eq!((&result["category"], &result["code"]), (&json!(category), &json!(code)));
        assert_eq!(stage.questions()[0].code.unwrap().as_str(), code);
        let message = receiver.recorded_requests().remove(0).json();
        assert_eq!((&message["category"], &message["code"]), (&json!(category), &json!(code)));
        let mark = format!("[{}] ", category.to_uppercase());
        assert!(message["title"].as_str().unwrap().starts_with(&mark), "{message}");
    }
}

// T4.26: each thing is told once, in its order, and the process does not end before
#[test]
fn a_run_tells_its_question_and_its_end() {
    let (stage, outside) = (Project::with_agents(), outside());
    let receiver = outside.block_on(FakeReceiver::start([])).unwrap();
    stage.agent("paint-it", &[r#"{blocked = "which colour?"}"#]);
    stage.set(&webhook(&receiver));
    stage.run(&["run", "paint it", "--max-wait", "0"]).exits(3);
    assert_eq!(stage.run(&["inbox", "answer", "0", "skip_feature"]).exit, 0);
    stage.run(&["resume"]).exits(1);
    let told: Vec<Value> = receiver.recorded_requests().iter().map(RecordedRequest::json).collect();
    let titles: Vec<&str> = told.iter().map(|body| body["title"].as_str().unwrap()).collect();
    assert_eq!(titles.len(), 2, "{titles:?}");
    assert!(titles[0].starts_with("[ENVIRONMENT] Your answer is needed"), "{titles:?}");
    assert!(titles[1].starts_with("The build is over"), "{titles:?}");
}
