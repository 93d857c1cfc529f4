//! The list of questions, asked for again and again, and answers.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Who ask at the same time.
const ASKERS: usize = 16;

pub(crate) async fn ask(args: &[String]) {
    let (address, token) = (args[0].clone(), args[1].clone());
    let seconds = Duration::from_secs(args[2].parse().unwrap());
    for path in ["/api/v1/questions", "/api/v1/questions?status=pending"] {
        let mut asking = JoinSet::new();
        let start = Instant::now();
        for _ in 0..ASKERS {
            let (address, token) = (address.clone(), token.clone());
            asking.spawn(async move {
                let mut line = Line::open(&address, &token).await.unwrap();
                let (mut count, mut bytes) = (0_u64, 0);
                while start.elapsed() < seconds {
                    let (status, body) = line.get(path).await.unwrap();
                    assert_eq!(status, 200);
                    (count, bytes) = (count + 1, body.len());
                }
                (count, bytes)
            });
        }
        let all = asking.join_all().await;
        let count: u64 = all.iter().map(|(count, _)| count).sum();
        println!(
            "  GET {path}: {:.0} a second, of {} bytes each",
            count as f64 / start.elapsed().as_secs_f64(),
            all[0].1
        );
    }
    answer(&address, &token).await;
}

/// Answers all that is open, one after the other.
async fn answer(address: &str, token: &str) {
    let mut line = Line::open(address, token).await.unwrap();
    let (_, open) = line.get("/api/v1/questions?status=pending&limit=200").await.unwrap();
    let open: serde_json::Value = serde_json::from_slice(&open).unwrap();
    let mut took = Vec::new();
    for question in open["items"].as_array().unwrap() {
        let path = format!("/api/v1/questions/{}/answer", question["id"]);
        let start = Instant::now();
        let (status, _) = line.post(&path, r#"{"decision":"skip_feature"}"#).await.unwrap();
        assert_eq!(status, 200);
        took.push(start.elapsed().as_secs_f64() * 1e3);
    }
    took.sort_by(f64::total_cmp);
    let at = |percent: usize| took[(took.len() * percent / 100).min(took.len() - 1)];
    println!(
        "  POST answer, {} of them: {:.1} ms at the median, {:.1} ms at the 99th percentile",
        took.len(),
        at(50),
        at(99)
    );
}

/// A connection that is kept.
struct Line {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Line {
    async fn open(address: &str, token: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let head = format!(" HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n");
        Ok(Self { stream: BufReader::with_capacity(256 * 1024, stream), head })
    }

    async fn get(&mut self, path: &str) -> io::Result<(u16, Vec<u8>)> {
        let request = format!("GET {path}{}\r\n", self.head);
        self.ask(&request).await
    }

    async fn post(&mut self, path: &str, body: &str) -> io::Result<(u16, Vec<u8>)> {
        let (head, length) = (&self.head, body.len());
        let request = format!(
            "POST {path}{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.ask(&request).await
    }

    async fn ask(&mut self, request: &str) -> io::Result<(u16, Vec<u8>)> {
        self.stream.write_all(request.as_bytes()).await?;
        let (mut line, mut status, mut length) = (String::new(), 0, 0);
        loop {
            line.clear();
            if self.stream.read_line(&mut line).await? == 0 {
                return Err(io::Error::other("hung up"));
            }
            let text = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = text.strip_prefix("http/1.1 ") {
                status = rest[..3].parse().map_err(io::Error::other)?;
            } else if let Some(rest) = text.strip_prefix("content-length: ") {
                length = rest.parse().map_err(io::Error::other)?;
            } else if text.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok((status, body))
    }
}
