//! One table: what a service does, and what each provider makes of it.

use std::net::{Ipv4Addr, TcpListener};

use serde_json::json;
use unstuck_core::fault::{Category, Code, Kind};
use unstuck_core::time::{Span, Time};
use unstuck_world::agent::Usage;
use unstuck_world::fake::server::{
    FakeAnswer, FakeFailure, FakeHttpError, FakeRetryAfter, FakeServer, FakeStopReason,
    FakeToolCall, FakeTurn, FakeWindowReset,
};
use unstuck_world::model::{MessagePart, ModelFailure, ModelTurn};

use super::provider::{ALL, CANARY, Provider, ask, settings, user};

async fn answer(
    provider: Provider,
    answer: FakeAnswer,
) -> (Result<ModelTurn, ModelFailure>, FakeServer) {
    let server = FakeServer::start(answer).await.unwrap();
    let model = provider.model(settings(Some(provider.base_url(&server.url()))));
    assert_eq!(model.check_ready(), Ok(()));
    (ask(&*model, &[user("hello")]).await, server)
}

async fn failure(provider: Provider, what: FakeAnswer) -> ModelFailure {
    let name = format!("{provider:?} {what:?}");
    let (turn, server) = answer(provider, what).await;
    let failure = turn.expect_err(&name);
    // Exactly one request, whatever came of it.
    assert_eq!(server.recorded_requests().len(), 1, "{name}");
    assert!(!format!("{failure:?}").contains(CANARY), "{name}");
    failure
}

const RESET: FakeWindowReset =
    FakeWindowReset { at: Time::from_millis(1_794_732_577_000), within: Span::from_secs(3_600) };

fn errors() -> Vec<(FakeAnswer, Code)> {
    let error = |error, code| (FakeAnswer::Error(error), code);
    let trouble = |trouble, code| (FakeAnswer::Trouble(trouble), code);
    let date = "Sun, 15 Nov 2026 08:49:37 GMT".to_owned();
    vec![
        error(FakeHttpError::Unauthorized, Code::AuthInvalid),
        error(FakeHttpError::Forbidden, Code::AuthInvalid),
        error(FakeHttpError::PaymentRequired, Code::ProviderQuota),
        error(FakeHttpError::NoCredit, Code::ProviderQuota),
        error(FakeHttpError::NoSuchModel, Code::ProviderNotAvailable),
        error(FakeHttpError::RateLimit(FakeRetryAfter::Unsaid), Code::ProviderRateLimit),
        error(FakeHttpError::RateLimit(FakeRetryAfter::Seconds(7)), Code::ProviderRateLimit),
        error(FakeHttpError::RateLimit(FakeRetryAfter::Date(date)), Code::ProviderRateLimit),
        error(FakeHttpError::UsageLimit(None), Code::ProviderUsageLimit),
        error(FakeHttpError::UsageLimit(Some(RESET)), Code::ProviderUsageLimit),
        error(FakeHttpError::Internal, Code::ProviderApiError),
        error(FakeHttpError::Unavailable, Code::ProviderApiError),
        error(FakeHttpError::Overloaded, Code::ProviderOverloaded),
        error(FakeHttpError::ContextTooLong, Code::ProviderContextTooLong),
        error(FakeHttpError::TooLarge, Code::ProviderContextTooLong),
        error(FakeHttpError::Invalid, Code::ProviderRejected),
        error(FakeHttpError::Unheard, Code::ProviderRejected),
        error(FakeHttpError::Page, Code::ProviderApiError),
        error(FakeHttpError::Redirect, Code::ProviderCrash),
        trouble(FakeFailure::Cut, Code::ProviderApiError),
        trouble(FakeFailure::EndsEarly, Code::ProviderApiError),
        trouble(FakeFailure::Empty, Code::ProviderApiError),
        trouble(FakeFailure::Malformed, Code::ProviderCrash),
        trouble(FakeFailure::WrongContentType, Code::ProviderCrash),
        trouble(FakeFailure::OverloadedMidStream, Code::ProviderOverloaded),
        trouble(FakeFailure::UnheardMidStream, Code::ProviderCrash),
        trouble(FakeFailure::HugeEvent(17 * 1_024 * 1_024), Code::ProviderCrash),
        (FakeAnswer::with_stop(FakeStopReason::OutputLimit), Code::ProviderOutputLimit),
        (FakeAnswer::with_stop(FakeStopReason::Refusal), Code::ProviderRefused),
    ]
}

// T1.1, T4.6-T4.9, T4.20, T4.33, TX18: by what the service states, never by its words.
#[tokio::test]
async fn every_failure_has_its_code() {
    for (what, code) in errors() {
        for provider in ALL {
            let failure = failure(provider, what.clone()).await;
            let fault = &failure.fault;
            assert_eq!(fault.code(), code, "{provider:?} {what:?}: {fault}");
            let category = fault.category();
            let kind =
                if code == Code::AuthInvalid { Category::Permission } else { Category::Provider };
            assert_eq!(category, kind, "{provider:?} {what:?}");
        }
    }
}

// T4.33: an unknown stop is no success.
#[tokio::test]
async fn an_end_of_unknown_kind_is_no_success() {
    for provider in ALL {
        let failure = failure(provider, FakeAnswer::with_stop(FakeStopReason::Unheard)).await;
        // In Responses an event of unknown kind is passed over, and then there is no end.
        let code = match provider {
            Provider::Responses => Code::ProviderApiError,
            _ => Code::ProviderCrash,
        };
        assert_eq!(failure.fault.code(), code, "{provider:?}");
    }
}

// T4.9
#[tokio::test]
async fn a_limit_says_when_to_come_back() {
    let date = "Sun, 15 Nov 2026 08:49:37 GMT".to_owned();
    for provider in ALL {
        let times = async |error| {
            let fault = failure(provider, FakeAnswer::Error(error)).await.fault;
            (fault.retry_after, fault.resets_at)
        };
        let limit = FakeHttpError::RateLimit;
        assert_eq!(times(limit(FakeRetryAfter::Unsaid)).await, (None, None));
        assert_eq!(
            times(limit(FakeRetryAfter::Seconds(7))).await,
            (Some(Span::from_secs(7)), None)
        );
        assert_eq!(times(limit(FakeRetryAfter::Date(date.clone()))).await, (None, Some(RESET.at)));
        assert_eq!(times(FakeHttpError::UsageLimit(None)).await, (None, None));
        let (after, at) = times(FakeHttpError::UsageLimit(Some(RESET))).await;
        assert_eq!(at, Some(RESET.at), "{provider:?}");
        let span = (provider != Provider::Anthropic).then_some(RESET.within);
        assert_eq!(after, span, "{provider:?}");
    }
}

#[tokio::test]
async fn a_fault_keeps_the_facts_and_not_the_key() {
    for provider in ALL {
        let fault = failure(provider, FakeAnswer::Error(FakeHttpError::Internal)).await.fault;
        let Kind::ProviderApiError(http) = &fault.kind else { panic!("{fault:?}") };
        assert_eq!((http.status, http.request_id.as_deref()), (Some(500), Some("req_fake123")));
        assert!(http.error_type.is_some(), "{fault:?}");
        let fault = failure(provider, FakeAnswer::Error(FakeHttpError::Unauthorized)).await.fault;
        let Kind::AuthInvalid(auth) = &fault.kind else { panic!("{fault:?}") };
        assert_eq!(auth.variable.as_deref(), Some("MODEL_KEY"));
        // A service repeats the key that it refuses.
        assert!(!fault.message.contains("sk-fake-"), "{fault}");
        let fault = failure(provider, FakeAnswer::Error(FakeHttpError::NoSuchModel)).await.fault;
        let Kind::ProviderNotAvailable(missing) = &fault.kind else { panic!("{fault:?}") };
        assert_eq!(missing.model.as_deref(), Some("model-1"));
    }
}

// T4.7: refused and unknown host.
#[tokio::test]
async fn no_connection_is_an_error_of_the_service() {
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    for url in [format!("http://{closed}"), "http://unstuck.invalid".to_owned()] {
        for provider in ALL {
            let model = provider.model(settings(Some(provider.base_url(&url))));
            let failure = ask(&*model, &[user("hello")]).await.expect_err(&url);
            assert_eq!(failure.fault.code(), Code::ProviderApiError, "{url}: {}", failure.fault);
            assert!(failure.fault.cause.is_some());
        }
    }
}

// T4.20: success unchanged, and what it used.
#[tokio::test]
async fn a_turn_is_what_the_model_said() {
    let speech = FakeTurn {
        text: "I look.".to_owned(),
        calls: vec![
            FakeToolCall::new("run", &json!({"command": "ls"})),
            FakeToolCall::new("run", &json!({})),
        ],
        ..FakeTurn::default()
    };
    for provider in ALL {
        let (turn, server) = answer(provider, FakeAnswer::Turn(speech.clone())).await;
        let turn = turn.unwrap();
        let [
            MessagePart::Text { text },
            MessagePart::Call { id, name, input },
            MessagePart::Call { id: other, .. },
        ] = &turn.parts[..]
        else {
            panic!("{provider:?}: {turn:?}")
        };
        assert_eq!((text.as_str(), name.as_str()), ("I look.", "run"));
        assert_eq!(*input, json!({"command": "ls"}));
        assert_ne!(id, other);
        let used = Usage {
            input_tokens: 90,
            output_tokens: 20,
            cached_tokens: 10,
            cache_written_tokens: 0,
            money_micros: Some(110),
            unmeasured_calls: 0,
        };
        assert_eq!(turn.usage, used, "{provider:?}");
        assert!(server.model_calls()[0].header("user-agent").unwrap().starts_with("unstuck/"));
    }
}

#[tokio::test]
async fn what_is_not_measured_has_no_price() {
    let speech = FakeTurn { text: "Hi.".to_owned(), unmeasured: true, ..FakeTurn::default() };
    for provider in ALL {
        let (turn, _server) = answer(provider, FakeAnswer::Turn(speech.clone())).await;
        assert_eq!(turn.unwrap().usage, Usage::UNMEASURED, "{provider:?}");
    }
}

// T4.21
#[tokio::test]
async fn broken_arguments_of_a_call_are_a_crash() {
    for arguments in ["{\"command\": \"l", "[1]", "nothing"] {
        for provider in ALL {
            let call = FakeToolCall { name: "run".to_owned(), arguments: arguments.to_owned() };
            let fault = failure(provider, FakeAnswer::with_calls([call])).await.fault;
            assert_eq!(fault.code(), Code::ProviderCrash, "{provider:?} {arguments}");
            assert_eq!(fault.message, "Invalid tool call arguments");
        }
    }
}

// B3: what a model says changes nothing.
#[tokio::test]
async fn a_model_may_speak_of_failures() {
    let text =
        "I got a 429: rate limit exceeded, then 401 unauthorized, a timeout, overloaded_error";
    for provider in ALL {
        let (turn, _server) = answer(provider, FakeAnswer::with_text(text)).await;
        assert_eq!(
            turn.unwrap().parts,
            [MessagePart::Text { text: text.to_owned() }],
            "{provider:?}"
        );
    }
}

// What a cut answer used has been paid for.
#[tokio::test]
async fn a_failure_says_what_it_used() {
    let failure = failure(Provider::Anthropic, FakeAnswer::Trouble(FakeFailure::Cut)).await;
    assert_eq!((failure.usage.input_tokens, failure.usage.money_micros), (90, Some(91)));
}

// T4.8: known before anything is sent.
#[tokio::test]
async fn what_cannot_work_is_known_without_a_call() {
    for provider in ALL {
        let mut without = settings(None);
        without.credential = None;
        let fault = provider.model(without.clone()).check_ready().unwrap_err();
        assert_eq!(fault.code(), Code::AuthMissing);
        assert!(fault.message.contains("MODEL_KEY"), "{fault}");
        let failure = ask(&*provider.model(without), &[user("hello")]).await.unwrap_err();
        assert_eq!(failure.fault.code(), Code::AuthMissing);

        for address in ["nowhere", "ftp://host", "http://user:secret-pass@host", ""] {
            let fault =
                provider.model(settings(Some(address.to_owned()))).check_ready().unwrap_err();
            assert_eq!(fault.code(), Code::ConfigInvalid, "{address}");
            assert!(!fault.message.contains("secret-pass"), "{fault}");
        }
        let mut bad = settings(None);
        bad.credential = unstuck_world::provider::Credential::new("two\nlines");
        assert_eq!(provider.model(bad).check_ready().unwrap_err().code(), Code::AuthInvalid);
        // A service of one's own may need no key.
        let mut own = settings(Some("http://127.0.0.1:9".to_owned()));
        own.credential = None;
        assert_eq!(provider.model(own).check_ready(), Ok(()));
    }
}
