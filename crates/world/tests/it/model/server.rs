//! The local service itself.

use serde_json::json;
use unstuck_world::fake::server::{
    FakeAnswer, FakeFailure, FakeHttpError, FakeRetryAfter, FakeScript, FakeServer,
};

const PATHS: [&str; 3] = ["/v1/messages", "/v1/responses", "/v1/chat/completions"];

fn client() -> reqwest::Client {
    // Whether there is one already does not matter: it is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

fn post(server: &FakeServer, path: &str, streaming: bool) -> reqwest::RequestBuilder {
    let body = json!({"model": "m", "stream": streaming}).to_string();
    client().post(server.url() + path).header("x-api-key", "sk-canary").body(body)
}

#[tokio::test]
async fn calls_are_answered_by_the_script_and_noted_without_their_credentials() {
    let limited = FakeAnswer::Error(FakeHttpError::RateLimit(FakeRetryAfter::Seconds(7)));
    for path in PATHS {
        let script = FakeScript::new([limited.clone()], FakeAnswer::with_text("hello"));
        let server = FakeServer::start(script).await.unwrap();
        // A look at the address is no call.
        assert_eq!(client().head(server.url()).send().await.unwrap().status(), 404);

        let first = post(&server, path, true).send().await.unwrap();
        assert_eq!(first.status(), 429);
        assert_eq!(first.headers()["retry-after"], "7");
        let second = post(&server, path, true).send().await.unwrap();
        assert_eq!(second.status(), 200);
        assert_eq!(second.headers()["content-type"], "text/event-stream; charset=utf-8");
        let text = second.text().await.unwrap();
        assert!(text.contains("hell"), "{text}");
        let third = post(&server, path, false).send().await.unwrap().text().await.unwrap();
        let whole: serde_json::Value = serde_json::from_str(&third).unwrap();
        assert!(whole.to_string().contains("hello"), "{whole}");

        let calls = server.model_calls();
        assert_eq!((server.recorded_requests().len(), calls.len()), (4, 3));
        assert_eq!(calls[0].path, path);
        assert_eq!(calls[0].header("x-api-key"), Some("[redacted]"));
        assert_eq!(calls[0].json()["model"], "m");
        assert!(!format!("{:?}", server.recorded_requests()).contains("sk-canary"));
    }
}

#[tokio::test]
async fn what_hangs_ends_with_the_server() {
    for (trouble, headers) in
        [(FakeFailure::HangBeforeHeaders, false), (FakeFailure::HangAfterFirstEvent, true)]
    {
        let server = FakeServer::start(FakeAnswer::Trouble(trouble)).await.unwrap();
        let sent = tokio::spawn(post(&server, PATHS[0], true).send());
        server.wait_for_requests(1).await;
        if headers {
            let mut response = sent.await.unwrap().unwrap();
            assert!(response.chunk().await.unwrap().is_some());
            drop(server);
            assert!(response.chunk().await.is_err());
        } else {
            drop(server);
            assert!(sent.await.unwrap().is_err());
        }
    }
}

#[tokio::test]
async fn a_cut_breaks_the_connection_and_an_early_end_does_not() {
    for (trouble, broken) in [(FakeFailure::Cut, true), (FakeFailure::EndsEarly, false)] {
        for path in PATHS {
            let server = FakeServer::start(FakeAnswer::Trouble(trouble)).await.unwrap();
            let response = post(&server, path, true).send().await.unwrap();
            assert_eq!(response.text().await.is_err(), broken, "{path} {trouble:?}");
        }
    }
}
