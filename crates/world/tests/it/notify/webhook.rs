//! A webhook gets everything, signed.

use ring::hmac;
use serde_json::json;
use unstuck_world::fake::receiver::FakeReceiver;

use crate::notify::channels::{NOW, channel, indiscreet, message};

const SECRET: &str = "whsec-0815-of-the-test";

// T4.26
#[tokio::test]
async fn a_webhook_gets_category_code_and_choices_signed() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let url = receiver.url("/hook?key=k");
    let channel = channel(&format!("kind='webhook'\nurl='{url}'\nsecret='{SECRET}'"));
    channel.deliver(&message(), NOW).await.unwrap();
    let seen = receiver.recorded_requests().remove(0);
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/hook?key=k"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("x-unstuck-delivery"), Some("shop-12-1700000000123"));
    assert_eq!(seen.header("x-unstuck-timestamp"), Some("1700000000"));
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let signed = [b"1700000000.", &seen.body[..]].concat();
    let digits = seen.header("x-unstuck-signature").unwrap().strip_prefix("sha256=").unwrap();
    hmac::verify(&key, &signed, &bytes(digits)).unwrap();
    let body = seen.json();
    let named = ["id", "project", "build", "question", "category", "code", "level", "at"];
    assert_eq!(
        named.map(|name| body[name].clone()),
        [
            json!("shop-12-1700000000123"),
            json!("shop"),
            json!(7),
            json!(3),
            json!("timeout"),
            json!("OPERATION_TIMEOUT"),
            json!("questions"),
            json!(1_700_000_000_123_u64),
        ]
    );
    assert!(body["title"].as_str().unwrap().starts_with("[TIMEOUT] "));
    assert_eq!(body["options"][0]["value"], json!("try_again"));
}

#[tokio::test]
async fn without_a_secret_nothing_is_signed() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let channel = channel(&format!("kind='webhook'\nurl='{}'", receiver.url("/")));
    channel.deliver(&message(), NOW).await.unwrap();
    assert_eq!(receiver.recorded_requests()[0].header("x-unstuck-signature"), None);
}

// TX16, B9
#[tokio::test]
async fn a_secret_leaves_in_no_message() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let channel = channel(&format!("kind='webhook'\nurl='{}'", receiver.url("/")));
    channel.deliver(&indiscreet(), NOW).await.unwrap();
    let body = String::from_utf8(receiver.recorded_requests()[0].body.to_vec()).unwrap();
    assert!(body.contains("[redacted]") && !body.contains("swordfish"), "{body}");
}

fn bytes(digits: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(pair).collect()
}
