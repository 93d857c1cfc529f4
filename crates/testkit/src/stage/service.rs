//! An HTTP service on a local port that follows a rule and records its requests.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct SeenRequest {
    pub method: String,
    pub path: String,
    /// The headers, with their names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// The reaction to a request.
pub enum ServiceReply {
    Answer(u16, &'static str),
    Json(u16, Value),
    /// The service does what was asked, and the connection breaks.
    Cut,
    /// The service does what was asked, and says nothing.
    Silence,
}

/// A service that ends when it is dropped.
pub struct HttpService {
    address: SocketAddr,
    seen: watch::Receiver<Vec<SeenRequest>>,
    _end: DropGuard,
}

type ServiceRule = dyn Fn(&SeenRequest, &[SeenRequest]) -> ServiceReply + Send + Sync;

impl HttpService {
    /// Starts a service whose replies follow from the request and from those before it.
    pub async fn start(
        rule: impl Fn(&SeenRequest, &[SeenRequest]) -> ServiceReply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (notes, seen) = watch::channel(Vec::new());
        let notes = Arc::new(notes);
        let rule: Arc<ServiceRule> = Arc::new(rule);
        let end = CancellationToken::new();
        let until = end.clone();
        tokio::spawn(async move {
            while let Some(Ok((stream, _))) = until.run_until_cancelled(listener.accept()).await {
                tokio::spawn(serve(stream, Arc::clone(&notes), Arc::clone(&rule), until.clone()));
            }
        });
        Self { address, seen, _end: end.drop_guard() }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the requests with this method so far.
    pub fn seen_requests(&self, method: &str) -> Vec<SeenRequest> {
        self.seen.borrow().iter().filter(|seen| seen.method == method).cloned().collect()
    }

    /// Waits until so many requests have arrived.
    pub async fn wait_for_requests(&self, count: usize) {
        self.seen.clone().wait_for(|seen| seen.len() >= count).await.unwrap();
    }
}

async fn serve(
    stream: TcpStream,
    notes: Arc<watch::Sender<Vec<SeenRequest>>>,
    rule: Arc<ServiceRule>,
    end: CancellationToken,
) {
    let mut stream = BufReader::new(stream);
    let seen = read_request(&mut stream).await;
    let before = notes.borrow().clone();
    let reply = rule(&seen, &before);
    notes.send_modify(|notes| notes.push(seen));
    let (status, body) = match reply {
        ServiceReply::Answer(status, body) => (status, body.to_owned()),
        ServiceReply::Json(status, body) => (status, body.to_string()),
        ServiceReply::Cut => return,
        ServiceReply::Silence => return end.cancelled().await,
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> SeenRequest {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut first = lines[0].split(' ').map(ToOwned::to_owned);
    let headers: BTreeMap<String, String> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    SeenRequest {
        method: first.next().unwrap(),
        path: first.next().unwrap(),
        headers,
        body: String::from_utf8(body).unwrap(),
    }
}
