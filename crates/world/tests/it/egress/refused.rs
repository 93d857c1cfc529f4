//! What is refused, how it is said, and that nothing of it went out.

use std::net::SocketAddr;

use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use unstuck_world::egress::{EgressProxy, RefusalReason};

use super::proxy::{Service, Stage, allowing, ask, connect_to, open_tunnel};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test]
async fn a_host_that_is_not_listed_is_refused_with_the_line_to_add() {
    let stage = Stage::new(allowing(&["registries".to_owned(), "good.example".to_owned()]));
    for _ in 0..3 {
        let answer = stage.tunnel("Evil.example.:443").await.unwrap_err();
        assert!(answer.starts_with("HTTP/1.1 403 Refused by Unstuck: "), "{answer}");
        assert!(answer.contains("Unstuck refused the connection to evil.example:443"), "{answer}");
        let line = "[agent]\nnetwork = [\"registries\", \"good.example\", \"evil.example\"]";
        assert!(answer.contains(line), "{answer}");
    }
    let answer = stage.ask("GET http://evil.example:8080/x HTTP/1.0\r\n\r\n").await;
    assert!(answer.contains("\"evil.example:8080\"]"), "{answer}");
    let refused: Vec<_> = stage.egress.list_refusals().iter().map(ToString::to_string).collect();
    assert_eq!(
        refused,
        [
            "connect to evil.example:443 (3 times): the host is not allowed by the settings",
            "connect to evil.example:8080: the host is not allowed by the settings",
        ]
    );
}

#[tokio::test]
async fn an_address_is_refused_in_every_spelling() {
    let service = Service::answering(OK).await;
    let port = service.port();
    let stage = Stage::new(allowing(&[format!("localhost:{port}")]));
    let spelt = [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "[::1]",
        "[::ffff:127.0.0.1]", "[::]", "127.0.0.1.",
    ];
    for host in spelt {
        let answer = stage.tunnel(&format!("{host}:{port}")).await.unwrap_err();
        assert!(answer.contains("an address instead of a host name"), "{host}: {answer}");
        let answer = stage.ask(&format!("GET http://{host}:{port}/ HTTP/1.0\r\n\r\n")).await;
        assert!(answer.contains("an address instead of a host name"), "{host}: {answer}");
    }
    assert_eq!(service.heard(), Vec::<String>::new());
}

#[tokio::test]
async fn a_listed_name_has_its_listed_port_only() {
    let service = Service::answering(OK).await;
    let other = Service::answering(OK).await;
    let stage = Stage::new(allowing(&[format!("localhost:{}", service.port())]));
    assert!(stage.tunnel(&format!("localhost:{}", other.port())).await.is_err());
    assert_eq!(other.heard(), Vec::<String>::new());
}

#[tokio::test]
async fn a_redirect_is_the_next_request_and_judged_again() {
    const ELSEWHERE: &str =
        "HTTP/1.1 302 Found\r\nlocation: http://evil.example/\r\ncontent-length: 0\r\n\r\n";
    let service = Service::answering(ELSEWHERE).await;
    let port = service.port();
    let stage = Stage::new(allowing(&[format!("localhost:{port}")]));
    let requests = format!(
        "GET http://localhost:{port}/ HTTP/1.1\r\nHost: localhost\r\n\r\n\
         GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    );
    let answer = stage.ask(&requests).await;
    assert!(answer.contains("location: http://evil.example/"), "{answer}");
    assert!(answer.contains("refused the connection to evil.example:80"), "{answer}");
    assert_eq!(service.heard().len(), 1);
}

#[tokio::test]
async fn the_own_server_is_refused_even_where_the_settings_list_it() {
    let service = Service::answering(OK).await;
    let host = format!("localhost:{}", service.port());
    let mut settings = allowing(std::slice::from_ref(&host));
    let both: [SocketAddr; 2] = [service.address, SocketAddr::new([0; 16].into(), service.port())];
    settings.destinations = settings.destinations.with_denied_addresses(both.to_vec());
    let stage = Stage::new(settings);
    let answer = stage.tunnel(&host).await.unwrap_err();
    assert!(answer.contains("agents may not reach Unstuck's own server"), "{answer}");
    assert_eq!(stage.egress.list_refusals()[0].reason, RefusalReason::OwnServer);
    assert_eq!(service.heard(), Vec::<String>::new());
}

#[tokio::test]
async fn garbage_is_answered_or_closed_and_the_next_client_is_served() {
    let (service, host, stage) = Stage::before(OK).await;
    let long = format!("GET http://{host}/ HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(200_000));
    let many = format!("GET http://{host}/ HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(500));
    let garbage = [
        "\0\u{1}\u{2}\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "CONNECT HTTP/1.1\r\n\r\n",
        "CONNECT localhost HTTP/1.1\r\n\r\n",
        "CONNECT localhost:0 HTTP/1.1\r\n\r\n",
        "CONNECT a@localhost:80 HTTP/1.1\r\n\r\n",
        "CONNECT /etc/passwd HTTP/1.1\r\n\r\n",
        "GET ftp://localhost/ HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET https://localhost/ HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET http:///x HTTP/1.1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &long,
        &many,
    ];
    for bytes in garbage {
        let mut stream = UnixStream::connect(&stage.socket).await.unwrap();
        // The proxy may close before all of it is written.
        let _ = stream.write_all(bytes.as_bytes()).await;
        stream.shutdown().await.unwrap_or_default();
        let answer = ask(stream, "").await;
        assert!(!answer.starts_with("HTTP/1.1 2"), "{bytes:.60}: {answer}");
    }
    assert_eq!(service.heard(), Vec::<String>::new());
    let answer = stage.ask(&format!("GET http://{host}/ HTTP/1.0\r\n\r\n")).await;
    assert!(answer.ends_with("ok"), "{answer}");
}

#[tokio::test]
async fn on_loopback_only_clients_with_the_credential_are_served() {
    let service = Service::answering(OK).await;
    let host = format!("localhost:{}", service.port());
    let settings = allowing(std::slice::from_ref(&host));
    let egress = EgressProxy::listen_on_loopback(settings).await.unwrap();
    let port = egress.loopback_port().unwrap();
    for headers in ["", "Proxy-Authorization: Basic dW5zdHVjazp4\r\n", "Authorization: Basic x\r\n"]
    {
        let answer = open_tunnel(connect_to(port).await, &host, headers).await.unwrap_err();
        assert!(answer.starts_with("HTTP/1.1 407 "), "{answer}");
    }
    assert_eq!(service.heard(), Vec::<String>::new());
    assert_eq!(egress.list_refusals(), []);
}
