//! Questions and their answers.

use serde_json::json;
use unstuck_server::{AccessRole, ProjectVisibility};

use super::desk::SECRET;
use super::served_projects::{Stage, choice};

// T1.11, TX5: one question round-trips with every field, and every surface has the same record
#[tokio::test]
async fn a_question_is_the_record_of_the_store() {
    let (stage, id, token) = Stage::with_question().await;
    let one = stage.get(&token, &format!("/api/v1/questions/{id}")).await.json();
    let store = &stage.project().store;
    let row =
        store.load_question("shop", unstuck_core::engine::QuestionId(id)).await.unwrap().unwrap();
    assert_eq!(one, serde_json::to_value(&row).unwrap());
    let listed = stage.get(&token, "/api/v1/questions?status=pending").await.json();
    assert_eq!(listed["items"], json!([one]));
    assert_eq!(one["options"].as_array().unwrap().len(), 2);
}

// T1.13, TX3: the answer is taken down with who gave it, and the work goes on
#[tokio::test]
async fn an_answer_is_taken_down_and_taken_up() {
    let (stage, id, _) = Stage::with_question().await;
    let anna = stage.token("anna", AccessRole::Answerer, ProjectVisibility::All);
    let path = format!("/api/v1/questions/q{id}/answer");
    let said = format!("use the new key, not {SECRET}");
    let body = json!({ "decision": "provide_credentials", "guidance": said });
    let answered = stage.post(&anna, &path, &body).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    let answer = answered.json();
    assert_eq!(answer["by"], "anna");
    assert_eq!(answer["taken_up"], true);
    assert_eq!(answer["guidance"], "use the new key, not [hidden]");
    let row = stage.get(&anna, &format!("/api/v1/questions/{id}")).await.json();
    assert_eq!(row["status"], "resolved");
    assert_eq!(row["answered_by"], "anna");
    assert_eq!(row["decision"], "provide_credentials");
    assert_eq!(stage.project().outstanding().await.len(), 1, "the task is at work again");
}

// TX4: what is no option is refused, and the first answer counts
#[tokio::test]
async fn answers_that_do_not_count_say_why() {
    let (stage, id, token) = Stage::with_question().await;
    let path = format!("/api/v1/questions/{id}/answer");
    for wrong in ["it_happened", "nonsense", ""] {
        let refused = stage.post(&token, &path, &choice(wrong)).await;
        assert_eq!(refused.status, 422, "{wrong}");
        let hint = refused.json()["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains("provide_credentials (“I have fixed it, try again”)"), "{hint}");
        assert!(hint.contains("skip_feature (“Leave it out”)"), "{hint}");
    }
    let unknown = stage.post(&token, "/api/v1/questions/99/answer", &choice("skip_feature")).await;
    assert_eq!(unknown.status, 404);
    let first = stage.post(&token, &path, &choice("skip_feature")).await;
    assert_eq!(first.status, 200, "{first:?}");
    let second = stage.post(&token, &path, &choice("provide_credentials")).await;
    assert_eq!(second.status, 409, "{second:?}");
    assert_eq!(second.json()["hint"], "the first answer counts");
}

// TX4: of two at the same moment exactly one wins
#[tokio::test]
async fn of_many_answers_at_once_one_wins() {
    let (stage, id, token) = Stage::with_question().await;
    let path = format!("/api/v1/questions/{id}/answer");
    let skip = choice("skip_feature");
    let all = (0..8).map(|_| stage.post(&token, &path, &skip));
    let all = futures_util::future::join_all(all).await;
    let won = all.iter().filter(|answered| answered.status == 200).count();
    let lost = all.iter().filter(|answered| answered.status == 409).count();
    assert_eq!((won, lost), (1, 7));
}

#[tokio::test]
async fn a_withdrawn_question_is_gone() {
    let (stage, id, token) = Stage::with_question().await;
    let cancelled = stage.post(&token, "/api/v1/builds/b0/cancel", &json!({})).await;
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    let path = format!("/api/v1/questions/{id}/answer");
    let late = stage.post(&token, &path, &choice("skip_feature")).await;
    assert_eq!(late.status, 410, "{late:?}");
}

#[tokio::test]
async fn a_client_that_waits_for_an_answer_is_told_at_once() {
    let (stage, id, token) = Stage::with_question().await;
    let path = format!("/api/v1/questions/{id}?wait=55");
    let waits = stage.get(&token, &path);
    let answers = async {
        let path = format!("/api/v1/questions/{id}/answer");
        stage.post(&token, &path, &choice("skip_feature")).await
    };
    let (waited, answered) = tokio::join!(waits, answers);
    assert_eq!(answered.status, 200);
    // It may come between the answer and its being taken up.
    let waited = waited.json();
    let heard = waited["status"] == "skipped" || waited["answer"]["decision"] == "skip_feature";
    assert!(heard, "{waited}");
    let too_long = stage.get(&token, &format!("/api/v1/questions/{id}?wait=56")).await;
    assert_eq!(too_long.status, 422);
}

// B9, TX16: the error in its own words is for operators only
#[tokio::test]
async fn an_answerer_reads_the_public_words_only() {
    let (stage, id, _) = Stage::with_question().await;
    let path = format!("/api/v1/questions/{id}");
    let anna = stage.token("anna", AccessRole::Answerer, ProjectVisibility::All);
    let public = stage.get(&anna, &path).await.json();
    assert_eq!((&public["raw_error"], &public["operator_text"]), (&json!(""), &json!("")));
    let viewer = stage.token("vera", AccessRole::Viewer, ProjectVisibility::All);
    let whole = stage.get(&viewer, &path).await.json();
    assert!(whole["raw_error"].as_str().unwrap().contains("403 refused"));
    let listed = stage.get(&anna, "/api/v1/questions").await.text();
    assert!(!listed.contains("\"raw_error\":\"403"), "{listed}");
}
