//! Chats and phones get the same words, each in its own form.

use serde_json::{Value, json};
use unstuck_core::tell::Notification;
use unstuck_core::time::Span;
use unstuck_world::fake::receiver::{FakeReceiver, ReceiverReply};
use unstuck_world::fake::server::RecordedRequest;
use unstuck_world::notify::{DeliveryDelay, DeliveryError};

use crate::notify::channels::{NOW, channel, message};

async fn sent(
    toml: impl Fn(&FakeReceiver) -> String,
    message: &Notification,
) -> (RecordedRequest, Value) {
    let receiver = FakeReceiver::start([]).await.unwrap();
    channel(&toml(&receiver)).deliver(message, NOW).await.unwrap();
    let seen = receiver.recorded_requests().remove(0);
    assert_eq!(seen.header("x-unstuck-delivery"), Some(message.id.as_str()));
    let body = seen.json();
    (seen, body)
}

#[track_caller]
fn says_it_all(text: &Value) {
    let text = text.as_str().unwrap();
    assert!(text.starts_with("[TIMEOUT] Your answer is needed in “shop”"), "{text}");
    assert!(text.contains("“Payment webhook”"), "{text}");
    assert!(text.ends_with("(OPERATION_TIMEOUT)"), "{text}");
}

// T4.26: Slack, Discord, Telegram and ntfy begin with the category and carry the code.
#[tokio::test]
async fn slack() {
    let toml = |at: &FakeReceiver| format!("kind='slack'\nurl='{}'", at.url("/services/T0/B0/x"));
    let (seen, body) = sent(toml, &message()).await;
    assert_eq!(seen.path, "/services/T0/B0/x");
    says_it_all(&body["text"]);
    let mut loud = message();
    loud.body = "<!everyone> & co".to_owned();
    let (_, body) = sent(toml, &loud).await;
    assert!(body["text"].as_str().unwrap().contains("&lt;!everyone&gt; &amp; co"));
}

#[tokio::test]
async fn discord() {
    let toml = |at: &FakeReceiver| format!("kind='discord'\nurl='{}'", at.url("/api/webhooks/1/x"));
    let (_, body) = sent(toml, &message()).await;
    says_it_all(&body["content"]);
    assert_eq!(body["allowed_mentions"], json!({"parse": []}));
    let mut long = message();
    long.body = "ü".repeat(3_000);
    let (_, body) = sent(toml, &long).await;
    let content = body["content"].as_str().unwrap();
    assert_eq!(content.chars().count(), 2_000);
    assert!(content.ends_with("…\n\n(OPERATION_TIMEOUT)"));
}

#[tokio::test]
async fn telegram() {
    let toml = |at: &FakeReceiver| {
        format!("kind='telegram'\ntoken='4711:x'\nchat='@shop'\nbase_url='{}'", at.url("/"))
    };
    let (seen, body) = sent(toml, &message()).await;
    assert_eq!(seen.path, "/bot4711:x/sendMessage");
    says_it_all(&body["text"]);
    assert_eq!(body["chat_id"], json!("@shop"));
}

#[tokio::test]
async fn telegram_says_in_its_body_how_long_to_wait() {
    let body = json!({"ok": false, "error_code": 429, "parameters": {"retry_after": 35}});
    let reply = ReceiverReply { body: body.to_string(), ..ReceiverReply::with_status(429) };
    let receiver = FakeReceiver::start([reply]).await.unwrap();
    let base = receiver.url("");
    let channel = channel(&format!("kind='telegram'\ntoken='4711:x'\nchat='7'\nbase_url='{base}'"));
    let error = channel.deliver(&message(), NOW).await.unwrap_err();
    let after = Some(DeliveryDelay::For(Span::from_secs(35)));
    assert_eq!(error, DeliveryError::Later { why: "127.0.0.1 answered 429".to_owned(), after });
}

#[tokio::test]
async fn ntfy() {
    let toml = |at: &FakeReceiver| {
        format!("kind='ntfy'\ntopic='shop-x'\ntoken='tk_4711'\nbase_url='{}'", at.url(""))
    };
    let (seen, body) = sent(toml, &message()).await;
    assert!(seen.header("authorization").is_some());
    assert_eq!(body["topic"], json!("shop-x"));
    assert_eq!(body["tags"], json!(["timeout", "OPERATION_TIMEOUT"]));
    assert!(body["title"].as_str().unwrap().starts_with("[TIMEOUT] "));
    assert_eq!(body["priority"], json!(4));
}
