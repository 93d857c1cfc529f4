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
        let head = format!(" HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
        Ok(Self { stream: BufReader::with_capacity(256 * 1024, stream), head })
    }

    async fn get(&mut self, path: &str) -> io::Result<(u16, Vec<u8>)> {
        let request = format!("GET {path}{}", self.head);
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
