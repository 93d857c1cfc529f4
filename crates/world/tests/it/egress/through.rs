//! What is let through, and on which way.

use std::os::unix::fs::PermissionsExt as _;
use std::{fs, thread};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use unstuck_world::egress::{EgressProxy, PROXY_PORT};
use unstuck_world::process::{PortForward, PortForwarder};
use unstuck_world::provider::Proxies;

use super::proxy::{Service, Stage, allowing, ask, connect_to, open_tunnel};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: x-hop\r\nx-hop: 1\r\n\r\nok";

#[tokio::test]
async fn a_tunnel_to_a_listed_host_carries_bytes_both_ways() {
    let (service, host, stage) = Stage::before("hello").await;
    let tunnel = stage.tunnel(&host.to_uppercase()).await.unwrap();
    assert_eq!(ask(tunnel, "any bytes\r\n\r\n").await, "hello");
    assert_eq!(service.heard(), ["any bytes\r\n\r\n"]);
    assert_eq!(stage.egress.list_refusals(), []);
}

#[tokio::test]
async fn a_plain_request_goes_to_the_judged_host_without_what_is_meant_for_the_proxy() {
    let (service, host, stage) = Stage::before(OK).await;
    let request = format!(
        "POST http://{host}/a?b=c HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: Basic x\r\n\
         Connection: close, X-Mine\r\nX-Mine: 1\r\nX-Kept: 1\r\nContent-Length: 2\r\n\r\nhi"
    );
    let answer = stage.ask(&request).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("ok"), "{answer}");
    assert!(!answer.contains("x-hop"), "{answer}");
    let heard = service.heard().remove(0);
    assert!(heard.starts_with("POST /a?b=c HTTP/1.1\r\n"), "{heard}");
    assert!(heard.contains(&format!("host: {host}\r\n")) && heard.contains("x-kept: 1"), "{heard}");
    for gone in ["evil", "proxy-", "x-mine"] {
        assert!(!heard.to_lowercase().contains(gone), "{heard}");
    }
}

#[tokio::test]
async fn the_socket_is_for_its_user_alone() {
    let stage = Stage::new(allowing(&[]));
    let mode = fs::metadata(&stage.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn with_its_credential_the_proxy_serves_on_loopback() {
    let service = Service::answering(OK).await;
    let host = format!("localhost:{}", service.port());
    let egress =
        EgressProxy::listen_on_loopback(allowing(std::slice::from_ref(&host))).await.unwrap();
    let by_it = through(&egress.proxy_address().to_url());
    // As any client would: the person's proxy is this one.
    let stage = Stage::new({
        let mut settings = allowing(&[host.clone(), "other.example".to_owned()]);
        settings.proxies = by_it;
        settings
    });
    let answer = stage.ask(&format!("GET http://{host}/ HTTP/1.0\r\n\r\n")).await;
    assert!(answer.ends_with("ok"), "{answer}");
    let tunnel = stage.tunnel(&host).await.unwrap();
    assert!(ask(tunnel, "GET / HTTP/1.1\r\n\r\n").await.ends_with("ok"));
    assert_eq!(service.heard().len(), 2);
    assert!(!service.heard().concat().to_lowercase().contains("proxy-authorization"));
    // What the next proxy refuses is told, and was refused there.
    let answer = stage.tunnel("other.example:443").await.unwrap_err();
    assert!(answer.contains("it answered 403"), "{answer}");
    assert_eq!(egress.list_refusals().len(), 1);
    assert_eq!(stage.egress.list_refusals(), []);
}

#[tokio::test]
async fn a_proxy_of_the_environment_that_cannot_be_used_is_told() {
    let mut settings = allowing(&["other.example".to_owned()]);
    settings.proxies = through("socks5://127.0.0.1:1");
    let answer = Stage::new(settings).tunnel("other.example:443").await.unwrap_err();
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("http://"), "{answer}");
}

#[tokio::test]
async fn a_relay_leads_to_its_one_service() {
    let service = Service::answering(OK).await;
    let mut stage = Stage::new(allowing(&[]));
    let socket = stage.socket.with_file_name("service.sock");
    stage.egress.add_relay(&socket, service.address).unwrap();
    let forwards = stage.egress.port_forwards();
    let proxy = PortForward { port: PROXY_PORT, socket: stage.socket.clone() };
    assert_eq!(forwards, [proxy, PortForward { port: service.port(), socket: socket.clone() }]);
    let answer = ask(UnixStream::connect(&socket).await.unwrap(), "GET /v1 HTTP/1.1\r\n\r\n").await;
    assert!(answer.ends_with("ok"), "{answer}");
}

#[tokio::test]
async fn through_a_forward_the_proxy_is_met_on_loopback() {
    let (_service, host, stage) = Stage::before(OK).await;
    let forwarder =
        PortForwarder::bind(&[PortForward { port: 0, socket: stage.socket.clone() }]).unwrap();
    let port = forwarder.ports()[0];
    thread::spawn(|| forwarder.serve());
    let tunnel = open_tunnel(connect_to(port).await, &host, "").await.unwrap();
    assert!(ask(tunnel, "GET / HTTP/1.1\r\n\r\n").await.ends_with("ok"));
    // Half-closed by the client: the answer still arrives.
    let mut half = connect_to(port).await;
    half.write_all(format!("GET http://{host}/ HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    half.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("ok"), "{answer}");
}

#[tokio::test]
async fn a_forward_leads_to_a_socket_in_a_folder_deeper_than_a_socket_s_name_may_be() {
    let service = Service::answering(OK).await;
    let mut stage = Stage::new(allowing(&[]));
    let folder = stage.socket.with_file_name("a".repeat(120));
    fs::create_dir(&folder).unwrap();
    stage.egress.add_relay(&folder.join("service.sock"), service.address).unwrap();
    let deep = stage.egress.port_forwards().pop().unwrap();
    let forwarder = PortForwarder::bind(&[PortForward { port: 0, ..deep }]).unwrap();
    let port = forwarder.ports()[0];
    thread::spawn(|| forwarder.serve());
    let answer = ask(connect_to(port).await, "GET /v1 HTTP/1.1\r\n\r\n").await;
    assert!(answer.ends_with("ok"), "{answer}");
}

#[tokio::test]
async fn open_tunnels_end_with_the_proxy() {
    let (_service, host, stage) = Stage::before("hello").await;
    let mut tunnel = stage.tunnel(&host).await.unwrap();
    drop(stage);
    assert_eq!(tunnel.read_to_end(&mut Vec::new()).await.unwrap_or_default(), 0);
}

/// The proxies of an environment in which everything goes through one, this machine too.
fn through(url: &str) -> Proxies {
    Proxies { http: Some(url.to_owned()), https: Some(url.to_owned()), not_for: None }
}
