//! The directions to a runtime whose work fails.

use serde_json::{Value, json};

use super::{Runtime, broken};

fn decided(told: &Value) -> (&str, u64) {
    (told["decision"].as_str().unwrap(), told["attempt"].as_u64().unwrap())
}

// T0.10, T0.19, T1.9: three other ways and then a person, each with its count in one reply
#[tokio::test]
async fn three_other_ways_and_then_a_person() {
    let mut runtime = Runtime::new().await;
    for attempt in 1..=3 {
        let told = runtime.fails(&broken("total")).await;
        assert_eq!(decided(&told), ("retry", attempt), "{told}");
        assert_eq!(told["of"], 3);
        let counted = runtime.stage.project().store.load_signatures("shop").await.unwrap();
        assert_eq!(u64::from(counted[0].count), attempt, "the counter is as durable as the reply");
    }
    let told = runtime.fails(&broken("total")).await;
    assert_eq!(decided(&told), ("ask", 4), "{told}");
    assert_eq!(told["context"], Value::Null);
}

// T0.17: what the next attempt reads
#[tokio::test]
async fn the_context_says_what_failed_and_what_is_asked() {
    let mut runtime = Runtime::new().await;
    runtime.fails(&broken("total")).await;
    let told = runtime.fails(&broken("total")).await;
    let context = told["context"].as_str().unwrap();
    for part in [
        "APPROACH 2 FAILED",
        "approach 3 of 3",
        "Bring the orders over",
        "Type: logic",
        "there is no column",
        "read total by its name",
        "Step back and choose a fundamentally different approach",
    ] {
        assert!(context.contains(part), "{part}\n{context}");
    }
    assert_eq!(runtime.session().await["direction"]["context"], context);
}

// T0.11, T1.7, T2.1, T2.2: another session of the project goes on with the same count
#[tokio::test]
async fn an_error_has_one_count_in_the_project() {
    let mut runtime = Runtime::new().await;
    for _ in 0..3 {
        runtime.fails(&broken("total")).await;
    }
    runtime.open("Bring the invoices over").await;
    assert_eq!(decided(&runtime.fails(&broken("total")).await), ("ask", 4));
}

// T0.12: two errors count for themselves
#[tokio::test]
async fn errors_count_for_themselves() {
    let mut runtime = Runtime::new().await;
    for attempt in 1..=3 {
        let one = runtime.fails(&broken("total")).await;
        assert_eq!(decided(&one), ("retry", attempt));
        let other = json!({ "type": "ZeroDivisionError", "message": "division by zero" });
        assert_eq!(decided(&runtime.fails(&other).await), ("retry", attempt));
    }
}

// T0.13, T1.4: what trying again cannot help asks at once, as attempt 1, and counts nothing
#[tokio::test]
async fn what_is_never_retried_asks_at_once() {
    let failures = [
        json!({ "code": "AUTH_EXPIRED", "message": "the token is from May" }),
        json!({ "type": "HTTPError", "message": "401 Unauthorized: invalid credentials" }),
        // T0.6: the name of the type counts
        json!({ "type": "PermissionError", "message": "[Errno 13] Permission denied: 'out.csv'" }),
    ];
    for failure in failures {
        let mut runtime = Runtime::new().await;
        let told = runtime.fails(&failure).await;
        assert_eq!(decided(&told), ("ask", 1), "{told}");
        let counted = runtime.stage.project().store.load_signatures("shop").await.unwrap();
        assert!(counted.iter().all(|row| row.count == 0), "{counted:?}");
    }
}

// T2.6: what passes by itself is waited for
#[tokio::test]
async fn what_passes_by_itself_is_waited_for() {
    let mut runtime = Runtime::new().await;
    let outage = json!({ "type": "OSError", "message": "connect ECONNREFUSED 127.0.0.1:5432" });
    let told = runtime.fails(&outage).await;
    assert_eq!(decided(&told), ("wait", 1), "{told}");
    assert!(told["until"].as_u64().is_some(), "{told}");
    assert_eq!(told["context"], Value::Null);
    // The session waits for no report meanwhile, and none is charged.
    assert_eq!(decided(&runtime.fails(&broken("total")).await), ("wait", 1));
    assert_eq!(runtime.session().await["state"], "backing_off");
    // An account that is limited is waited for as long as it says.
    let mut runtime = Runtime::new().await;
    let limited = json!({ "code": "PROVIDER_RATE_LIMIT", "retry_after_seconds": 3600 });
    let told = runtime.fails(&limited).await;
    assert_eq!(told["decision"], "wait", "{told}");
    let opened = runtime.session().await["opened_at"].as_u64().unwrap();
    assert!(told["until"].as_u64().unwrap() >= opened + 3_600_000, "{told}");
}

// An unreadable error is known by its origin
#[tokio::test]
async fn an_error_without_a_name_is_known_by_its_origin() {
    for (origin, code) in [
        ("agent", "LOGIC_ERROR"),
        ("tool", "PROVIDER_CRASH"),
        ("provider", "PROVIDER_CRASH"),
        ("connector", "NETWORK_UNAVAILABLE"),
        ("host", "INTERNAL_ERROR"),
    ] {
        let mut runtime = Runtime::new().await;
        let failure = json!({ "type": "Oops", "message": "the frobnicator", "origin": origin });
        assert_eq!(runtime.fails(&failure).await["code"], code, "{origin}");
    }
}

// Settings that cannot work end the session
#[tokio::test]
async fn settings_that_cannot_work_end_it() {
    let mut runtime = Runtime::new().await;
    let told =
        runtime.fails(&json!({ "code": "CONFIG_INVALID", "message": "no such region" })).await;
    assert_eq!(told["decision"], "stop", "{told}");
    assert_eq!(runtime.session().await["state"], "failed");
}

#[tokio::test]
async fn the_same_request_is_charged_once() {
    let runtime = Runtime::new().await;
    let first = runtime.tell("failures", Some("a"), &broken("total")).await.json();
    let again = runtime.tell("failures", Some("a"), &broken("total")).await.json();
    assert_eq!(first, again);
    assert_eq!(decided(&again), ("retry", 1));
    let other = runtime.tell("failures", Some("a"), &broken("name")).await;
    assert_eq!(other.status, 422, "{other:?}");
    let problem = other.json();
    assert!(problem["detail"].as_str().unwrap().contains("something else"), "{problem}");
    assert!(problem["hint"].as_str().unwrap().contains("Idempotency-Key"), "{problem}");
    // Of many at once one is charged.
    let body = broken("total");
    let many = (0..8).map(|_| runtime.tell("failures", Some("b"), &body));
    for told in futures_util::future::join_all(many).await {
        assert_eq!(decided(&told.json()), ("retry", 2));
    }
}

#[tokio::test]
async fn success_ends_it_once_and_gives_its_tries_back() {
    let mut runtime = Runtime::new().await;
    runtime.fails(&broken("total")).await;
    let done = runtime.tell("success", None, &json!({ "summary": "read by position" })).await;
    assert_eq!(done.status, 200, "{done:?}");
    let done = done.json();
    assert_eq!((&done["state"], &done["direction"]["decision"]), (&json!("done"), &json!("stop")));
    let again = runtime.tell("success", None, &json!({})).await;
    assert_eq!((again.status.as_u16(), &again.json()["state"]), (200, &json!("done")));
    let counted = runtime.stage.project().store.load_signatures("shop").await.unwrap();
    assert_eq!(counted[0].count, 0);
    // The engine forgets it with the next one; the store does not.
    let over = runtime.session.clone();
    runtime.open("Bring the invoices over").await;
    runtime.session = over;
    assert_eq!(runtime.session().await["state"], "done");
    assert_eq!(runtime.fails(&broken("total")).await["decision"], "stop");
    let again = runtime.tell("success", None, &json!({})).await;
    assert_eq!(again.status, 200, "{again:?}");
}
