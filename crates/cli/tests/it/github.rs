//! The part of GitHub's API that pull requests need, on a local port: one pull request per pair of
//! branches, however often it is asked for.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// What it does with a request to open one.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mood {
    /// Opens it and says so.
    Well,
    /// Opens it, and the connection breaks.
    LosesTheAnswer,
    /// Opens the first one and says nothing.
    FallsSilentOnce,
    /// Does not know the token.
    Refuses,
}

#[derive(Default)]
struct Site {
    pulls: Vec<Value>,
    asked: Vec<String>,
    tokens: Vec<String>,
    /// Connections that are kept waiting.
    held: Vec<TcpStream>,
}

pub(crate) struct Github {
    address: SocketAddr,
    site: Arc<Mutex<Site>>,
    opened: mpsc::Receiver<()>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Github {
    pub(crate) fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (site, over) =
            (Arc::new(Mutex::new(Site::default())), Arc::new(AtomicBool::new(false)));
        let (kept, ends) = (Arc::clone(&site), Arc::clone(&over));
        let (told, opened) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let before = kept.lock().unwrap().pulls.len();
                serve(stream.unwrap(), mood, &kept);
                if kept.lock().unwrap().pulls.len() > before {
                    let _ = told.send(());
                }
            }
        });
        Self { address, site, opened, over, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until another one was opened.
    pub(crate) fn hear(&self) {
        self.opened.recv().unwrap();
    }

    /// The pull requests there are.
    pub(crate) fn pulls(&self) -> Vec<Value> {
        self.site.lock().unwrap().pulls.clone()
    }

    /// How often it was asked with this method.
    pub(crate) fn asked(&self, method: &str) -> usize {
        let site = self.site.lock().unwrap();
        site.asked.iter().filter(|asked| *asked == method).count()
    }

    pub(crate) fn tokens(&self) -> Vec<String> {
        self.site.lock().unwrap().tokens.clone()
    }
}

impl Drop for Github {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, mood: Mood, site: &Mutex<Site>) {
    let mut reader = BufReader::new(&stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let header = |name: &str| {
        let mut lines = head.iter().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let length = header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let method = head[0].split(' ').next().unwrap().to_owned();
    let mut site = site.lock().unwrap();
    site.asked.push(method.clone());
    site.tokens.extend(header("authorization"));
    let (status, answer) = match method.as_str() {
        _ if mood == Mood::Refuses => (401, json!({"message": "Bad credentials"})),
        "POST" => open(&mut site, &serde_json::from_slice(&body).unwrap()),
        _ => (200, json!(site.pulls)),
    };
    if mood == Mood::LosesTheAnswer && method == "POST" {
        return;
    }
    if mood == Mood::FallsSilentOnce && method == "POST" && site.held.is_empty() {
        site.held.push(stream);
        return;
    }
    let answer = answer.to_string();
    let length = answer.len();
    let head =
        format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(format!("{head}{answer}").as_bytes()).unwrap();
}

fn open(site: &mut Site, wanted: &Value) -> (u16, Value) {
    let same = |pull: &&Value| pull["head"] == wanted["head"] && pull["base"] == wanted["base"];
    if site.pulls.iter().find(same).is_some() {
        return (422, json!({"message": "Validation Failed"}));
    }
    let mut pull = wanted.clone();
    let number = site.pulls.len() + 1;
    pull["html_url"] = json!(format!("https://git.example/ada/shop/pull/{number}"));
    site.pulls.push(pull.clone());
    (201, pull)
}
