//! Accepts connections, within limits, until the server stops.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::auth::RequestPeer;

/// Maximum number of concurrent connections. Further ones wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 4_096;
/// Timeout for reading the headers of a request.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// Maximum time that running requests get when the server stops.
const END_WITHIN: Duration = Duration::from_secs(5);
/// Pause after a connection could not be accepted, for example because descriptors ran out.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`; then ends streams, finishes running requests, and accepts no more.
pub async fn serve_http(
    listener: TcpListener,
    app: Router,
    stop: CancellationToken,
) -> io::Result<()> {
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { break };
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                time::sleep(ACCEPT_RETRY_PAUSE).await;
                continue;
            }
        };
        let connection = serve_connection(stream, peer, app.clone());
        let watched = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = watched.await {
                tracing::debug!(%peer, %error, "a connection broke off");
            }
            drop(slot);
        });
    }
    drop(listener);
    // Connections that take longer are closed.
    let _ = time::timeout(END_WITHIN, graceful.shutdown()).await;
    Ok(())
}

fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    app: Router,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + Send {
    // Small frames are sent at once; without this option a connection is only slower.
    let _ = stream.set_nodelay(true);
    let with_peer = move |mut request: axum::http::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(RequestPeer(peer.ip()));
        request
    };
    let service = TowerToHyperService::new(app.map_request(with_peer));
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .serve_connection(TokioIo::new(stream), service)
}
