//! A service on a local port that does what a test says, and remembers who called.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A request that came in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// What the service does about a request.
pub(crate) enum Reply {
    Answer(u16, &'static str),
    /// It has done what was asked, and the connection breaks.
    Cut,
    /// It has done what was asked, and says nothing.
    Silence,
}

/// The service, until it is dropped. What it does follows from the request and those before it.
pub(crate) struct Service {
    address: SocketAddr,
    seen: watch::Receiver<Vec<Seen>>,
    _end: DropGuard,
}

type Rule = dyn Fn(&Seen, &[Seen]) -> Reply + Send + Sync;

impl Service {
    pub(crate) async fn start(
        rule: impl Fn(&Seen, &[Seen]) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (notes, seen) = watch::channel(Vec::new());
        let (notes, rule): (_, Arc<Rule>) = (Arc::new(notes), Arc::new(rule));
        let end = CancellationToken::new();
        let until = end.clone();
        tokio::spawn(async move {
            while let Some(Ok((stream, _))) = until.run_until_cancelled(listener.accept()).await {
                tokio::spawn(serve(stream, Arc::clone(&notes), Arc::clone(&rule), until.clone()));
            }
        });
        Self { address, seen, _end: end.drop_guard() }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests with this method so far.
    pub(crate) fn seen(&self, method: &str) -> Vec<Seen> {
        self.seen.borrow().iter().filter(|seen| seen.method == method).cloned().collect()
    }

    /// Waits until so many requests have come in.
    pub(crate) async fn arrived(&self, count: usize) {
        self.seen.clone().wait_for(|seen| seen.len() >= count).await.unwrap();
    }
}

async fn serve(
    stream: TcpStream,
    notes: Arc<watch::Sender<Vec<Seen>>>,
    rule: Arc<Rule>,
    end: CancellationToken,
) {
    let mut stream = BufReader::new(stream);
    let seen = read(&mut stream).await;
    let before = notes.borrow().clone();
    let reply = rule(&seen, &before);
    notes.send_modify(|notes| notes.push(seen));
    match reply {
        Reply::Answer(status, body) => {
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
        }
        Reply::Cut => {}
        Reply::Silence => end.cancelled().await,
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Seen {
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
    Seen {
        method: first.next().unwrap(),
        path: first.next().unwrap(),
        headers,
        body: String::from_utf8(body).unwrap(),
    }
}
