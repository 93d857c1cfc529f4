//! A mail arrives at a mail server that speaks just enough.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use unstuck_world::notify::{DeliveryError, NotifyChannel};

use crate::notify::channels::{NOW, channel, indiscreet, message};

/// Takes one mail, or answers `refusal` to its receiver, and tells everything that was said.
async fn server(refusal: Option<&'static str>) -> (u16, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let talk = async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let (mut said, mut in_mail) = (Vec::new(), false);
        stream.write_all(b"220 here\r\n").await.unwrap();
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return said;
            }
            let line = line.trim_end_matches("\r\n").to_owned();
            let answer = match line.as_str() {
                "." if in_mail => {
                    in_mail = false;
                    "250 taken"
                }
                _ if in_mail => "",
                "DATA" => {
                    in_mail = true;
                    "354 go on"
                }
                "QUIT" => "221 bye",
                line if line.starts_with("EHLO") => "250-here\r\n250 AUTH PLAIN",
                line if line.starts_with("AUTH") => "235 welcome",
                line if line.starts_with("RCPT") => refusal.unwrap_or("250 fine"),
                _ => "250 fine",
            };
            said.push(line);
            if !answer.is_empty() {
                stream.write_all(format!("{answer}\r\n").as_bytes()).await.unwrap();
            }
        }
    };
    (port, tokio::spawn(talk))
}

fn mailbox(port: u16) -> NotifyChannel {
    channel(&format!(
        "kind='email'\nhost='127.0.0.1'\nport={port}\nsecurity='none'\nuser='ada'\n\
         password='pass-4711'\nfrom='unstuck@example.org'\nto=['ada@example.org','bo@example.org']"
    ))
}

fn body(said: &[String]) -> String {
    let start = said.iter().position(String::is_empty).unwrap();
    let end = said.iter().position(|line| line == ".").unwrap();
    String::from_utf8(BASE64.decode(said[start..end].concat()).unwrap()).unwrap()
}

// T4.26
#[tokio::test]
async fn a_mail_says_it_all_to_every_receiver() {
    let (port, talk) = server(None).await;
    mailbox(port).deliver(&message(), NOW).await.unwrap();
    let said = talk.await.unwrap();
    let has = |line: &str| assert!(said.iter().any(|said| said == line), "{line}: {said:?}");
    has("MAIL FROM:<unstuck@example.org>");
    has("RCPT TO:<ada@example.org>");
    has("RCPT TO:<bo@example.org>");
    has(&format!("AUTH PLAIN {}", BASE64.encode("\0ada\0pass-4711")));
    has("Message-ID: <shop-12-1700000000123@example.org>");
    has("X-Unstuck-Category: timeout");
    has("X-Unstuck-Code: OPERATION_TIMEOUT");
    has("Date: Tue, 14 Nov 2023 22:13:20 -0000");
    let subject = said.iter().position(|line| line.starts_with("Subject: ")).unwrap();
    let pieces = said[subject..=subject + 1].join("");
    let pieces = pieces.trim_start_matches("Subject: ").split(' ').map(|piece| {
        let letters = piece.trim_start_matches("=?utf-8?B?").trim_end_matches("?=");
        String::from_utf8(BASE64.decode(letters).unwrap()).unwrap()
    });
    assert_eq!(pieces.collect::<String>(), "[TIMEOUT] Your answer is needed in “shop”");
    let body = body(&said);
    assert!(body.starts_with("[TIMEOUT] ") && body.contains("“Payment webhook”"), "{body}");
    assert!(said.iter().all(|line| line.len() <= 78), "{said:?}");
}

// TX16, B9
#[tokio::test]
async fn a_mail_holds_no_secret() {
    let (port, talk) = server(None).await;
    mailbox(port).deliver(&indiscreet(), NOW).await.unwrap();
    let body = body(&talk.await.unwrap());
    assert!(body.contains("[redacted]") && !body.contains("swordfish"), "{body}");
}

#[tokio::test]
async fn a_server_that_refuses_for_now_is_asked_again() {
    for (refusal, later) in [("450 busy, ada", true), ("550 no such user, ada", false)] {
        let (port, talk) = server(Some(refusal)).await;
        let error = mailbox(port).deliver(&message(), NOW).await.unwrap_err();
        let why = format!("127.0.0.1 answered {}", &refusal[..3]);
        let wanted = if later {
            DeliveryError::Later { why, after: None }
        } else {
            DeliveryError::Never { why }
        };
        assert_eq!(error, wanted);
        talk.await.unwrap();
    }
}
