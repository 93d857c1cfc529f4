//! Whatever hangs is given up in time, and told to stop it stops at once.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unstuck_core::fault::{Code, Kind};
use unstuck_world::fake::server::{Answer, Server, Trouble};
use unstuck_world::model::Request;
use unstuck_world::provider::Deadlines;

use super::provider::{ALL, ask, settings, soon, user};

// T4.10, T4.20
#[tokio::test]
async fn each_deadline_passes_on_its_own() {
    let brief = Duration::from_millis(50);
    let cases = [
        (Trouble::HangBeforeHeaders, Deadlines { first_byte: brief, ..soon() }, "beginning"),
        (Trouble::HangBeforeHeaders, Deadlines { total: brief, ..soon() }, "whole turn"),
        (Trouble::HangAfterFirstEvent, Deadlines { idle: brief, ..soon() }, "more of"),
        (Trouble::HangAfterFirstEvent, Deadlines { total: brief, ..soon() }, "whole turn"),
    ];
    for (trouble, deadlines, what) in cases {
        for provider in ALL {
            let server = Server::start(Answer::Trouble(trouble)).await.unwrap();
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
        let server = Server::start(Answer::Trouble(Trouble::HangAfterFirstEvent)).await.unwrap();
        let model = provider.model(settings(Some(provider.base_url(&server.url()))));
        let stop = CancellationToken::new();
        let messages = [user("hello")];
        let request = Request { system: "", messages: &messages, tools: &[], output_tokens_max: 1 };
        let (turn, ()) = tokio::join!(model.turn(request, &stop), async {
            server.arrived(1).await;
            stop.cancel();
        });
        assert!(turn.is_none(), "{provider:?}");
    }
}
