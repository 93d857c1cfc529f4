//! One table: what a service does, and what each provider makes of it.

use std::net::{Ipv4Addr, TcpListener};

use serde_json::json;
use unstuck_core::fault::{Category, Code, Kind};
use unstuck_core::time::{Span, Time};
use unstuck_world::agent::Usage;
use unstuck_world::fake::server::{
    Answer, Call, HttpError, Reset, RetryAfter, Server, Speech, Stop, Trouble,
};
use unstuck_world::model::{Failure, Part, Turn};

use super::provider::{ALL, CANARY, Provider, ask, settings, user};

async fn answer(provider: Provider, answer: Answer) -> (Result<Turn, Failure>, Server) {
    let server = Server::start(answer).await.unwrap();
    let model = provider.model(settings(Some(provider.base_url(&server.url()))));
    assert_eq!(model.check(), Ok(()));
    (ask(&*model, &[user("hello")]).await, server)
}

async fn failure(provider: Provider, what: Answer) -> Failure {
    let name = format!("{provider:?} {what:?}");
    let (turn, server) = answer(provider, what).await;
    let failure = turn.expect_err(&name);
    // Exactly one request, whatever came of it.
    assert_eq!(server.seen().len(), 1, "{name}");
    assert!(!format!("{failure:?}").contains(CANARY), "{name}");
    failure
}

const RESET: Reset =
    Reset { at: Time::from_millis(1_794_732_577_000), within: Span::from_secs(3_600) };

fn errors() -> Vec<(Answer, Code)> {
    let error = |error, code| (Answer::Error(error), code);
    let trouble = |trouble, code| (Answer::Trouble(trouble), code);
    let date = "Sun, 15 Nov 2026 08:49:37 GMT".to_owned();
    vec![
        error(HttpError::Unauthorized, Code::AuthInvalid),
        error(HttpError::Forbidden, Code::AuthInvalid),
        error(HttpError::PaymentRequired, Code::ProviderQuota),
        error(HttpError::NoCredit, Code::ProviderQuota),
        error(HttpError::NoSuchModel, Code::ProviderNotAvailable),
        error(HttpError::RateLimit(RetryAfter::Unsaid), Code::ProviderRateLimit),
        error(HttpError::RateLimit(RetryAfter::Seconds(7)), Code::ProviderRateLimit),
        error(HttpError::RateLimit(RetryAfter::Date(date)), Code::ProviderRateLimit),
        error(HttpError::UsageLimit(None), Code::ProviderUsageLimit),
        error(HttpError::UsageLimit(Some(RESET)), Code::ProviderUsageLimit),
        error(HttpError::Internal, Code::ProviderApiError),
        error(HttpError::Unavailable, Code::ProviderApiError),
        error(HttpError::Overloaded, Code::ProviderOverloaded),
        error(HttpError::ContextTooLong, Code::ProviderContextTooLong),
        error(HttpError::TooLarge, Code::ProviderContextTooLong),
        error(HttpError::Invalid, Code::ProviderRejected),
        error(HttpError::Unheard, Code::ProviderRejected),
        error(HttpError::Page, Code::ProviderApiError),
        error(HttpError::Redirect, Code::ProviderCrash),
        trouble(Trouble::Cut, Code::ProviderApiError),
        trouble(Trouble::EndsEarly, Code::ProviderApiError),
        trouble(Trouble::Empty, Code::ProviderApiError),
        trouble(Trouble::Malformed, Code::ProviderCrash),
        trouble(Trouble::WrongContentType, Code::ProviderCrash),
        trouble(Trouble::OverloadedMidStream, Code::ProviderOverloaded),
        trouble(Trouble::UnheardMidStream, Code::ProviderCrash),
        trouble(Trouble::HugeEvent(17 * 1_024 * 1_024), Code::ProviderCrash),
        (Answer::stopped(Stop::OutputLimit), Code::ProviderOutputLimit),
        (Answer::stopped(Stop::Refusal), Code::ProviderRefused),
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
        let failure = failure(provider, Answer::stopped(Stop::Unheard)).await;
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
            let fault = failure(provider, Answer::Error(error)).await.fault;
            (fault.retry_after, fault.resets_at)
        };
        let limit = HttpError::RateLimit;
        assert_eq!(times(limit(RetryAfter::Unsaid)).await, (None, None));
        assert_eq!(times(limit(RetryAfter::Seconds(7))).await, (Some(Span::from_secs(7)), None));
        assert_eq!(times(limit(RetryAfter::Date(date.clone()))).await, (None, Some(RESET.at)));
        assert_eq!(times(HttpError::UsageLimit(None)).await, (None, None));
        let (after, at) = times(HttpError::UsageLimit(Some(RESET))).await;
        assert_eq!(at, Some(RESET.at), "{provider:?}");
        let span = (provider != Provider::Anthropic).then_some(RESET.within);
        assert_eq!(after, span, "{provider:?}");
    }
}

#[tokio::test]
async fn a_fault_keeps_the_facts_and_not_the_key() {
    for provider in ALL {
        let fault = failure(provider, Answer::Error(HttpError::Internal)).await.fault;
        let Kind::ProviderApiError(http) = &fault.kind else { panic!("{fault:?}") };
        assert_eq!((http.status, http.request_id.as_deref()), (Some(500), Some("req_fake123")));
        assert!(http.error_type.is_some(), "{fault:?}");
        let fault = failure(provider, Answer::Error(HttpError::Unauthorized)).await.fault;
        let Kind::AuthInvalid(auth) = &fault.kind else { panic!("{fault:?}") };
        assert_eq!(auth.variable.as_deref(), Some("MODEL_KEY"));
        // A service repeats the key that it refuses.
        assert!(!fault.message.contains("sk-fake-"), "{fault}");
        let fault = failure(provider, Answer::Error(HttpError::NoSuchModel)).await.fault;
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
    let speech = Speech {
        text: "I look.".to_owned(),
        calls: vec![Call::new("run", &json!({"command": "ls"})), Call::new("run", &json!({}))],
        ..Speech::default()
    };
    for provider in ALL {
        let (turn, server) = answer(provider, Answer::Turn(speech.clone())).await;
        let turn = turn.unwrap();
        let [Part::Text { text }, Part::Call { id, name, input }, Part::Call { id: other, .. }] =
            &turn.parts[..]
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
        assert!(server.calls()[0].header("user-agent").unwrap().starts_with("unstuck/"));
    }
}

#[tokio::test]
async fn what_is_not_measured_has_no_price() {
    let speech = Speech { text: "Hi.".to_owned(), unmeasured: true, ..Speech::default() };
    for provider in ALL {
        let (turn, _server) = answer(provider, Answer::Turn(speech.clone())).await;
        assert_eq!(turn.unwrap().usage, Usage::UNMEASURED, "{provider:?}");
    }
}

// T4.21
#[tokio::test]
async fn broken_arguments_of_a_call_are_a_crash() {
    for arguments in ["{\"command\": \"l", "[1]", "nothing"] {
        for provider in ALL {
            let call = Call { name: "run".to_owned(), arguments: arguments.to_owned() };
            let fault = failure(provider, Answer::calls([call])).await.fault;
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
        let (turn, _server) = answer(provider, Answer::text(text)).await;
        assert_eq!(turn.unwrap().parts, [Part::Text { text: text.to_owned() }], "{provider:?}");
    }
}

// What a cut answer used has been paid for.
#[tokio::test]
async fn a_failure_says_what_it_used() {
    let failure = failure(Provider::Anthropic, Answer::Trouble(Trouble::Cut)).await;
    assert_eq!((failure.usage.input_tokens, failure.usage.money_micros), (90, Some(91)));
}

// T4.8: known before anything is sent.
#[tokio::test]
async fn what_cannot_work_is_known_without_a_call() {
    for provider in ALL {
        let mut without = settings(None);
        without.credential = None;
        let fault = provider.model(without.clone()).check().unwrap_err();
        assert_eq!(fault.code(), Code::AuthMissing);
        assert!(fault.message.contains("MODEL_KEY"), "{fault}");
        let failure = ask(&*provider.model(without), &[user("hello")]).await.unwrap_err();
        assert_eq!(failure.fault.code(), Code::AuthMissing);

        for address in ["nowhere", "ftp://host", "http://user:secret-pass@host", ""] {
            let fault = provider.model(settings(Some(address.to_owned()))).check().unwrap_err();
            assert_eq!(fault.code(), Code::ConfigInvalid, "{address}");
            assert!(!fault.message.contains("secret-pass"), "{fault}");
        }
        let mut bad = settings(None);
        bad.credential = unstuck_world::provider::Credential::new("two\nlines");
        assert_eq!(provider.model(bad).check().unwrap_err().code(), Code::AuthInvalid);
        // A service of one's own may need no key.
        let mut own = settings(Some("http://127.0.0.1:9".to_owned()));
        own.credential = None;
        assert_eq!(provider.model(own).check(), Ok(()));
    }
}
