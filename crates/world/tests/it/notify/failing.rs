//! A failure says whether it can work later, and never shows an address.

use std::path::Path;

use unstuck_core::time::Span;
use unstuck_world::fake::receiver::{FakeReceiver, ReceiverReply};
use unstuck_world::notify::{DeliveryDelay, DeliveryError, NotifyChannel};

use crate::notify::channels::{NOW, channel, means, message, settings};

/// Part of an address that a reader of a log could use.
const TOKEN: &str = "T0-0815-secret";

fn webhook(receiver: &FakeReceiver) -> NotifyChannel {
    channel(&format!("kind='webhook'\nurl='{}'", receiver.url(&format!("/{TOKEN}"))))
}

#[tokio::test]
async fn trouble_passes_and_a_refusal_stays() {
    let wait = |seconds| Some(DeliveryDelay::For(Span::from_secs(seconds)));
    let cases = [
        (ReceiverReply::with_status(500), Some(None)),
        (ReceiverReply::with_status(503), Some(None)),
        (
            ReceiverReply { retry_after: Some(90), ..ReceiverReply::with_status(429) },
            Some(wait(90)),
        ),
        (ReceiverReply { retry_after: Some(7), ..ReceiverReply::with_status(503) }, Some(wait(7))),
        (ReceiverReply::with_status(408), Some(None)),
        (ReceiverReply::with_status(301), None),
        (ReceiverReply::with_status(401), None),
        (ReceiverReply::with_status(404), None),
        (ReceiverReply::with_status(410), None),
    ];
    let receiver = FakeReceiver::start(cases.iter().map(|(reply, _)| reply.clone())).await.unwrap();
    let channel = webhook(&receiver);
    for (reply, later) in cases {
        let error = channel.deliver(&message(), NOW).await.unwrap_err();
        let why = format!("127.0.0.1 answered {}", reply.status);
        let wanted = match later {
            Some(after) => DeliveryError::Later { why, after },
            None => DeliveryError::Never { why },
        };
        assert_eq!(error, wanted);
    }
    channel.deliver(&message(), NOW).await.unwrap();
}

// TX16, B9: neither an error nor what a log would print of a channel shows an address.
#[tokio::test]
async fn an_address_is_never_shown() {
    let base = FakeReceiver::start([]).await.unwrap().url("");
    let gone = format!("{base}/{TOKEN}?key={TOKEN}");
    for toml in [
        format!("kind='webhook'\nurl='{gone}'\nsecret='{TOKEN}'"),
        format!("kind='slack'\nurl='{gone}'"),
        format!("kind='discord'\nurl='{gone}'"),
        format!("kind='telegram'\ntoken='{TOKEN}'\nchat='7'\nbase_url='{base}'"),
        format!("kind='ntfy'\ntopic='{TOKEN}'\ntoken='{TOKEN}'\nbase_url='{base}'"),
        format!(
            "kind='email'\nhost='127.0.0.1'\nport=1\nsecurity='none'\nuser='ada'\n\
             password='{TOKEN}'\nfrom='a@example.org'\nto=['b@example.org']"
        ),
    ] {
        let shown = format!("{:?}", settings(&toml));
        assert!(!shown.contains(TOKEN), "{shown}");
        let channel = channel(&toml);
        let error = channel.deliver(&message(), NOW).await.unwrap_err();
        assert!(matches!(error, DeliveryError::Later { .. }), "{toml}: {error:?}");
        let shown = format!("{channel:?} {error:?} {error}");
        assert!(!shown.contains(TOKEN), "{shown}");
    }
}

#[test]
fn settings_that_cannot_work_are_refused_before_anything_is_sent() {
    let email = "kind='email'\nhost='mail.example.org'\nfrom='a@example.org'\n";
    let cases = [
        ("kind='webhook'\nurl='not an address'".to_owned(), "url"),
        ("kind='slack'\nurl='ftp://example.org/x'".to_owned(), "url"),
        ("kind='command'\nrun=[]".to_owned(), "run"),
        (format!("{email}to=[]"), "to"),
        (format!("{email}to=['nowhere']"), "to"),
        (format!("{email}to=['b@example.org']\nuser='ada'"), "password"),
        (format!("{email}to=['b@example.org']\npassword='x'"), "user"),
        (
            format!("{email}to=['b@example.org']\nuser='ada'\npassword='x'\nsecurity='none'"),
            "security",
        ),
    ];
    for (toml, field) in cases {
        let fault =
            NotifyChannel::new("phone", settings(&toml), &means(Path::new("/"))).unwrap_err();
        let shown = format!("{:?}", fault.kind);
        assert!(shown.contains(&format!("{field:?}")), "{toml}: {shown}");
    }
}
