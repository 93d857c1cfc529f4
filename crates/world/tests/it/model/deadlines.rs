//! Whatever hangs is given up in time, and told to stop it stops at once.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unstuck_core::fault::{Code, Kind};
use unstuck_world::fake::server::{FakeAnswer, FakeFailure, FakeServer};
use unstuck_world::model::ModelRequest;
use unstuck_world::provider::TurnDeadlines;

use super::provider::{ALL, ask, settings, soon, user};

// T4.10, T4.20
#[tokio::test]
async fn each_deadline_passes_on_its_own() {
    let brief = Duration::from_millis(50);
    let cases = [
        (
            FakeFailure::HangBeforeHeaders,
            TurnDeadlines { first_byte: brief, ..soon() },
            "beginning",
        ),
        (FakeFailure::HangBeforeHeaders, TurnDeadlines { total: brief, ..soon() }, "whole turn"),
        (FakeFailure::HangAfterFirstEvent, TurnDeadlines { idle: brief, ..soon() }, "more of"),
        (FakeFailure::HangAfterFirstEvent, TurnDeadlines { total: brief, ..soon() }, "whole turn"),
    ];
    for (trouble, deadlines, what) in cases {
        for provider in ALL {
            let server = FakeServer::start(FakeAnswer::Trouble(trouble)).await.unwrap();
            let mut settings = settings(Some(provider.base_url(&server.url())));
            settings.deadlines = deadlines;
            let failure = ask(&*provider.model(settings), &[user("hello")]).await.unwrap_err();
            assert_eq!(failure.fault.code(), Code::IterationTimeout, "{provider:?} {trouble:?}");
            let Kind::IterationTimeout(timeout) = &failure.fault.kind else { unreachable!() };
            assert!(timeout.operation.contains(what), "{}", timeout.operation);
            assert_eq!(timeout.limit_ms, 50);
        }
    }
}

#[tokio::test]
async fn told_to_stop_it_stops() {
    for provider in ALL {
        let server =
            FakeServer::start(FakeAnswer::Trouble(FakeFailure::HangAfterFirstEvent)).await.unwrap();
        let model = provider.model(settings(Some(provider.base_url(&server.url()))));
        let stop = CancellationToken::new();
        let messages = [user("hello")];
        let request =
            ModelRequest { system: "", messages: &messages, tools: &[], output_tokens_max: 1 };
        let (turn, ()) = tokio::join!(model.request_turn(request, &stop), async {
            server.wait_for_requests(1).await;
            stop.cancel();
        });
        assert!(turn.is_none(), "{provider:?}");
    }
}
