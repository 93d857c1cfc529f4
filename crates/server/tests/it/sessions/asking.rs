//! A person is asked, and what their answer leads to.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Runtime, broken};

/// Four times the same error.
async fn stuck() -> (Runtime, Value) {
    let mut runtime = Runtime::new().await;
    let mut told = Value::Null;
    for _ in 0..4 {
        told = runtime.fails(&broken("total")).await;
    }
    assert_eq!(told["decision"], "ask", "{told}");
    (runtime, told)
}

// T0.18, T1.10, T1.11: the question as a person reads it, with everything that was tried
#[tokio::test]
async fn the_question_is_complete() {
    let (runtime, told) = stuck().await;
    let question = &told["question"];
    let token = runtime.stage.operator();
    let path = format!("/api/v1/questions/{}", question["id"]);
    assert_eq!(*question, runtime.stage.get(&token, &path).await.json());
    assert_eq!((&question["kind"], &question["status"]), (&json!("choice"), &json!("pending")));
    assert_eq!(question["attempts"].as_array().unwrap().len(), 4, "{question}");
    for field in ["problem", "recommended"] {
        assert!(!question[field].is_null(), "{field}: {question}");
    }
    assert_eq!(values(question), ["provide_guidance", "simpler_version", "skip_feature"]);
    let mut runtime = Runtime::new().await;
    let told = runtime.fails(&json!({ "code": "AUTH_MISSING", "message": "no key" })).await;
    assert_eq!(values(&told["question"]), ["provide_credentials", "skip_feature"]);
}

fn values(question: &Value) -> Vec<&str> {
    let options = question["options"].as_array().unwrap();
    let mut values: Vec<&str> = options
        .iter()
        .map(|option| {
            assert!(option["label"].is_string() && option["description"].is_string(), "{option}");
            option["value"].as_str().unwrap()
        })
        .collect();
    values.sort_unstable();
    values
}

// T0.15, T1.13, T2.3, TX3: guidance gives three fresh attempts and stands first in the context
#[tokio::test]
async fn guidance_gives_fresh_attempts() {
    let (mut runtime, told) = stuck().await;
    runtime.answer(&told["question"], "provide_guidance", Some("The column is called sum.")).await;
    let told = runtime.session().await["direction"].clone();
    assert_eq!(told["decision"], "retry", "{told}");
    let context = told["context"].as_str().unwrap();
    assert!(context.starts_with("GUIDANCE FROM A PERSON"), "{context}");
    assert!(context.contains("The column is called sum."), "{context}");
    for attempt in 1..=3 {
        let told = runtime.fails(&broken("total")).await;
        assert_eq!((&told["decision"], &told["attempt"]), (&json!("retry"), &json!(attempt)));
        assert!(told["context"].as_str().unwrap().contains("The column is called sum."), "{told}");
    }
    assert_eq!(runtime.fails(&broken("total")).await["decision"], "ask");
}

// T1.12: the events have their names, in their order
#[tokio::test]
async fn the_events_tell_the_story() {
    let (runtime, told) = stuck().await;
    runtime.answer(&told["question"], "skip_feature", None).await;
    let page = unstuck_store::EventPage { after: 0, limit: 1_000 };
    let events = runtime.stage.project().store.load_events("shop", page).await.unwrap();
    let names: Vec<String> = events
        .iter()
        .map(|event| serde_json::to_value(&event.event).unwrap()["type"].as_str().unwrap().into())
        .filter(|name: &String| name.starts_with("agent.") || name.starts_with("session."))
        .collect();
    let again = ["session.reported", "agent.retrying"].repeat(3);
    let ends = ["session.reported", "agent.waiting_for_input", "agent.escalation_resolved"];
    assert_eq!(names, [&again[..], &ends[..]].concat());
    assert_eq!(runtime.session().await["direction"]["decision"], "stop");
}

// The answer is waited for with one request
#[tokio::test]
async fn a_runtime_waits_for_the_answer_with_one_request() {
    let (runtime, told) = stuck().await;
    let path = format!("{}?wait=55", runtime.session);
    let token = runtime.stage.operator();
    let waits = runtime.stage.get(&token, &path);
    let answers = runtime.answer(&told["question"], "simpler_version", None);
    let both = async { tokio::join!(waits, answers) };
    let (waited, ()) = tokio::time::timeout(Duration::from_secs(50), both).await.unwrap();
    assert_eq!(waited.json()["direction"]["decision"], "retry", "{waited:?}");
    let too_long = runtime.stage.get(&token, &format!("{}?wait=56", runtime.session)).await;
    assert_eq!(too_long.status, 422);
}

// T0.14: open questions are counted in one build, so that no session holds another one up
#[tokio::test]
async fn sessions_do_not_hold_each_other_up() {
    let mut runtime = Runtime::new().await;
    for at in 0..6 {
        runtime.open(&format!("Part {at}")).await;
        let failure =
            json!({ "code": "AUTH_INVALID", "message": "no", "source": format!("api-{at}") });
        assert_eq!(runtime.fails(&failure).await["decision"], "ask");
    }
    runtime.open("The last part").await;
    assert_eq!(runtime.session().await["direction"]["decision"], "retry");
    // TX2: the same error joins the question that is open
    let failure = json!({ "code": "AUTH_INVALID", "message": "no", "source": "api-0" });
    let told = runtime.fails(&failure).await;
    assert_eq!(told["question"]["id"], 0, "{told}");
}

#[tokio::test]
async fn a_person_holds_a_session_and_ends_it() {
    let mut runtime = Runtime::new().await;
    let token = runtime.stage.operator();
    let build = runtime.session.replace("sessions", "builds");
    let order = async |what: &str| {
        let done = runtime.stage.post(&token, &format!("{build}/{what}"), &json!({})).await;
        assert_eq!(done.status, 200, "{done:?}");
    };
    order("pause").await;
    assert_eq!(runtime.session().await["direction"]["decision"], "wait");
    let early = runtime.tell("success", None, &json!({})).await;
    assert_eq!(early.status, 409, "{early:?}");
    assert!(early.json()["hint"].as_str().unwrap().contains("?wait=55"), "{early:?}");
    order("resume").await;
    assert_eq!(runtime.session().await["direction"]["decision"], "retry");
    order("cancel").await;
    assert_eq!(runtime.fails(&broken("total")).await["decision"], "stop");
}
