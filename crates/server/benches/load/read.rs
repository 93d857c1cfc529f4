//! Many readers of live events.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// What one reader saw.
struct Seen {
    /// How late each event came, in milliseconds.
    late: Vec<u64>,
    missed: u64,
    again: u64,
}

pub(crate) async fn read(args: &[String]) {
    let (readers, events): (u64, usize) = (args[2].parse().unwrap(), args[3].parse().unwrap());
    let mut reading = JoinSet::new();
    for _ in 0..readers {
        let (address, token) = (args[0].clone(), args[1].clone());
        reading.spawn(async move { follow(&address, &token, events).await.unwrap() });
    }
    let all = reading.join_all().await;
    let mut late: Vec<u64> = all.iter().flat_map(|seen| seen.late.iter().copied()).collect();
    late.sort_unstable();
    let at = |percent: usize| late[(late.len() * percent / 100).min(late.len() - 1)];
    let (missed, again) =
        all.iter().fold((0, 0), |sum, seen| (sum.0 + seen.missed, sum.1 + seen.again));
    println!(
        "  {} events read, {missed} missed, {again} twice; late by {} ms at the median, {} ms at the \
         99th percentile, {} ms at most",
        late.len(),
        at(50),
        at(99),
        at(100)
    );
}

async fn follow(address: &str, token: &str, events: usize) -> io::Result<Seen> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "GET /api/v1/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut lines = BufReader::new(stream);
    let mut seen = Seen { late: Vec::with_capacity(events), missed: 0, again: 0 };
    let (mut line, mut last) = (Vec::new(), None);
    while seen.late.len() < events {
        line.clear();
        if lines.read_until(b'\n', &mut line).await? == 0 {
            return Err(io::Error::other("the stream ended"));
        }
        // Lines of the transfer and of the stream come by as well; events say where they are.
        let Some(json) = find(&line, b"\"seq\":") else { continue };
        let (seq, at) = (number(json), number(find(&line, b"\"at\":").unwrap()));
        seen.late.push(now().saturating_sub(at));
        match last {
            Some(last) if seq <= last => seen.again += 1,
            Some(last) => seen.missed += seq - last - 1,
            None => {}
        }
        last = Some(seq);
    }
    Ok(seen)
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_millis().try_into().unwrap()
}

/// What follows `what`.
fn find<'a>(line: &'a [u8], what: &[u8]) -> Option<&'a [u8]> {
    let at = line.windows(what.len()).position(|part| part == what)?;
    Some(&line[at + what.len()..])
}

fn number(text: &[u8]) -> u64 {
    text.iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0'))
}
