//! Without a run around it: a client's questions and failures are those of a session.

use serde_json::{Value, json};
use unstuck_core::engine::{Event, RecordedEvent, TaskState};
use unstuck_core::fault::{Code, Work};
use unstuck_core::tell;
use unstuck_store::tables::QuestionStatus;

use super::client::Client;
use crate::project::Project;

fn client(stage: &Project) -> Client {
    Client::start(stage.unstuck(&["mcp"]))
}

fn narrated(recorded: &RecordedEvent) -> Option<String> {
    match &recorded.event {
        Event::Narrated { text, .. } => Some(text.to_string()),
        _ => None,
    }
}

/// The end of each task of all builds.
fn ended(stage: &Project) -> Vec<TaskState> {
    let ended = |recorded: RecordedEvent| match recorded.event {
        Event::TaskDone { .. } => Some(TaskState::Done),
        Event::TaskFailed { code, .. } => Some(TaskState::Failed { code }),
        _ => None,
    };
    stage.events().into_iter().filter_map(ended).collect()
}

#[test]
fn a_question_comes_into_the_inbox_and_its_answer_goes_back() {
    let stage = Project::new();
    let mut client = client(&stage);
    let (said, failed) = client.call("narrate", json!({"text": "I look at the prices."}));
    assert_eq!((said.as_str(), failed), ("said.", false));
    let asked =
        json!({"question": "Which colour should the button have?", "options": ["red", "blue"]});
    let (said, failed) = client.call("ask_human", asked);
    assert!(said.contains("question q0") && !failed, "{said}");
    let (said, _) = client.call("check_answer", json!({"question": "q0"}));
    assert!(said.starts_with("Question q0 is not answered yet."), "{said}");

    let question = stage.question();
    assert_eq!(
        (question.code, question.status),
        (Some(Code::PreconditionInput), QuestionStatus::Pending)
    );
    assert!(question.text.problem.contains("Which colour should the button have?"));
    let answered =
        stage.unstuck(&["inbox", "answer", "0", "provide_guidance", "--guidance", "Take blue."]);
    assert!({ answered }.status().unwrap().success());

    let (said, failed) = client.call("check_answer", json!({"question": "0"}));
    assert!(
        said.contains("provide_guidance") && said.ends_with("\nTake blue.") && !failed,
        "{said}"
    );
    let (said, failed) = client.call("task_done", json!({"summary": "The button is blue."}));
    assert_eq!((said.as_str(), failed), ("noted.", false));
    assert!(client.leave().success());
    let told: Vec<String> = stage.events().iter().filter_map(narrated).collect();
    assert_eq!(told, ["I look at the prices.", "The button is blue."]);
    assert_eq!(ended(&stage), [TaskState::Done]);
}

#[test]
fn a_question_outlives_its_client_and_the_next_one_reads_the_answer() {
    let stage = Project::new();
    let mut first = client(&stage);
    first.call("ask_human", json!({"question": "Which colour?"}));
    assert!(first.leave().success());
    assert!(stage.answer(&stage.question(), "skip_feature").status.success());

    let mut next = client(&stage);
    let (said, failed) = next.call("check_answer", json!({"question": "q0"}));
    // The answer is taken up when a process takes up the project.
    assert!(said.contains("q0") && !failed, "{said}");
    next.call("narrate", json!({"text": "I am here again."}));
    let (said, _) = next.call("check_answer", json!({"question": "q0"}));
    assert!(said.contains("skip_feature") && said.contains("Leave it out"), "{said}");
    assert!(next.leave().success());
}

#[test]
fn a_session_that_was_left_with_an_open_question_ends_when_it_is_answered() {
    let stage = Project::new();
    let mut first = client(&stage);
    first.call("ask_human", json!({"question": "Which colour?"}));
    assert!(first.leave().success());
    let answered =
        stage.unstuck(&["inbox", "answer", "0", "provide_guidance", "--guidance", "Blue."]);
    assert!({ answered }.status().unwrap().success());
    let mut next = client(&stage);
    next.call("task_done", json!({"summary": "Nothing to do."}));
    assert!(next.leave().success());
    assert_eq!(ended(&stage), [TaskState::Done, TaskState::Done]);
}

#[test]
fn a_failure_is_answered_with_what_to_do() {
    let stage = Project::new();
    let mut client = client(&stage);
    let mut report = |code: Option<&str>, message: &str| {
        let mut input = json!({ "message": message });
        if let Some(code) = code {
            input["code"] = json!(code);
        }
        client.call("report_failure", input)
    };
    let (said, failed) = report(Some("LOGIC_ERROR"), "assertion failed: left == right");
    // What the next prompt would say: the same words, for the same code and the same attempt.
    let advice = |code, at| tell::retry_advice(code, Work::Task, at);
    assert!(said.contains("attempt 1") && !failed, "{said}");
    assert!(said.ends_with(&advice(Code::LogicError, (1, 3))), "{said}");
    let (said, _) = report(Some("TOOL_MISSING"), "there is no jq");
    assert!(said.starts_with("TOOL_MISSING"), "{said}");
    assert!(said.ends_with(&advice(Code::ToolMissing, (1, 3))), "{said}");
    assert!(said.contains("Use what is installed"), "{said}");
    let (said, _) = report(Some("ENV_DNS"), "no such host");
    assert!(said.starts_with("ENV_DNS") && said.contains("Wait for"), "{said}");
    let (said, _) = report(None, "test shop::adds ... FAILED");
    assert!(said.starts_with("noted"), "{said}");
    let (said, failed) = report(Some("INTERNAL_STORE"), "x");
    assert!(said.contains("about Unstuck itself") && failed, "{said}");
    let (said, failed) = report(Some("SCOPE_USER_DENIED"), "they said no");
    assert_eq!((said.as_str(), failed), ("The task is left out. Stop here.", false));
    let (said, failed) = report(Some("AUTH_EXPIRED"), "log in again");
    assert!(said.contains("question q0") && !failed, "{said}");
    assert!(client.leave().success());
    assert_eq!(stage.question().code, Some(Code::AuthExpired));
}

// T4.29, T4.31: a refusal and a decision about a failure carry code and category beside the words
#[test]
fn every_answer_about_a_failure_has_its_code_and_category() {
    let stage = Project::new();
    let mut client = client(&stage);
    let failure = |code: &str| json!({ "code": code, "message": "as it is" });
    for (tool, input, code, category) in [
        ("narrate", json!({}), "LOGIC_BAD_INPUT", "logic"),
        ("read_file", json!({}), "LOGIC_BAD_INPUT", "logic"),
        ("check_answer", json!({ "question": "seven" }), "LOGIC_BAD_INPUT", "logic"),
        (
            "mutate",
            json!({ "key": "out", "action": { "kind": "git.push" } }),
            "LOGIC_PHASE_VIOLATION",
            "logic",
        ),
        ("report_failure", failure("INTERNAL_STORE"), "LOGIC_BAD_INPUT", "logic"),
        ("report_failure", failure("LOGIC_ERROR"), "LOGIC_ERROR", "logic"),
        ("report_failure", failure("ENV_DNS"), "ENV_DNS", "environment"),
        ("report_failure", failure("AUTH_EXPIRED"), "AUTH_EXPIRED", "permission"),
        ("ask_human", json!({ "question": "Which?" }), "PRECONDITION_INPUT", "environment"),
    ] {
        let about = client.about(tool, input);
        assert_eq!(about, (json!(code), json!(category)), "{tool}");
    }
    assert_eq!(client.about("narrate", json!({ "text": "fine" })), (Value::Null, Value::Null));
    assert!(client.leave().success());
}

#[test]
fn what_needs_a_task_says_so_and_nonsense_is_answered() {
    let stage = Project::new();
    let mut client = client(&stage);
    let push = json!({"key": "out", "action": {"kind": "git.push"}});
    for (tool, input, says) in [
        ("mutate", push, "there is no task around you"),
        ("narrate", json!({}), "missing field `text`"),
        ("read_file", json!({"path": "/etc/passwd"}), "no such tool"),
        ("check_answer", json!({"question": "q7"}), "nothing was run yet"),
        ("check_answer", json!({"question": "seven"}), "There is no question \"seven\""),
    ] {
        let (said, failed) = client.call(tool, input);
        assert!(said.contains(says) && failed, "{tool}: {said}");
    }
    client.write("{");
    assert_eq!(client.read()["error"]["code"], -32_700);
    client.write(&"x".repeat(5 * 1_024 * 1_024));
    assert_eq!(client.read()["error"]["code"], -32_600);
    assert_eq!(client.ask("ping", &Value::Null), json!({}));
    assert!(client.leave().success());
}

// TX16
#[test]
fn a_secret_of_the_clients_environment_reaches_no_record() {
    let stage = Project::new();
    let mut server = stage.unstuck(&["mcp"]);
    server.env("SHOP_TOKEN", "canary-4711-in-the-mine");
    let mut client = Client::start(server);
    client.call("narrate", json!({"text": "I use canary-4711-in-the-mine."}));
    client.call("ask_human", json!({"question": "Is canary-4711-in-the-mine right?"}));
    assert!(client.leave().success());
    let kept = format!("{:?} {:?}", stage.events(), stage.question());
    assert!(kept.contains("[redacted]") && !kept.contains("-4711"), "{kept}");
}

#[test]
fn a_server_that_is_asked_to_end_ends_its_session() {
    let stage = Project::new();
    let mut client = client(&stage);
    client.call("narrate", json!({"text": "I look around."}));
    assert!(client.terminate().success());
    assert_eq!(ended(&stage), [TaskState::Done]);
}

#[test]
fn two_clients_work_beside_each_other_and_one_goes_on_without_the_other() {
    let stage = Project::new();
    let (mut one, mut other) = (client(&stage), client(&stage));
    one.call("narrate", json!({"text": "one"}));
    other.call("narrate", json!({"text": "other"}));
    // The first holds the project; the second takes it over in the middle of its session.
    assert!(one.leave().success());
    let (said, failed) = other.call("narrate", json!({"text": "alone"}));
    assert_eq!((said.as_str(), failed), ("said.", false));
    assert!(other.leave().success());
    let told: Vec<String> = stage.events().iter().filter_map(narrated).collect();
    assert_eq!(told, ["one", "other", "alone"]);
    assert_eq!(ended(&stage), [TaskState::Done, TaskState::Done]);
}
