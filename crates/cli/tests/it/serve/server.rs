//! A running server, and a client that speaks plain HTTP with it.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::Value;

use crate::program::ran;
use crate::run::stage::Stage;

pub(super) struct Server {
    child: Child,
    _said: Box<dyn BufRead>,
    pub(super) address: String,
    pub(super) token: String,
}

impl Server {
    /// Starts it at a free port, and waits until it says where it is.
    pub(super) fn start(stage: &Stage, args: &[&str]) -> Self {
        let mut unstuck = stage.unstuck(&["serve", "--bind", "127.0.0.1:0"]);
        // What belongs to the user is the same for both programs.
        unstuck.args(args).env("XDG_STATE_HOME", user(stage));
        let mut child = unstuck.process_group(0).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self::heard(stage, child, said, (" at http://", "Ctrl-C ends it"))
    }

    /// The server that a build runs for its own inbox while it lasts.
    pub(super) fn beside_run(stage: &Stage, args: &[&str]) -> Self {
        let mut unstuck = stage.unstuck(args);
        unstuck.env("UNSTUCK_SERVER_DURING_RUN", "true").env("UNSTUCK_SERVER_BIND", "127.0.0.1:0");
        unstuck.env("XDG_STATE_HOME", user(stage)).stdout(Stdio::null());
        let mut child = unstuck.process_group(0).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let words = "your inbox while this runs: http://";
        Self::heard(stage, child, said, (words, words))
    }

    /// Waits until it says where it is, and the last of its words.
    fn heard(
        stage: &Stage,
        child: Child,
        mut said: impl BufRead + 'static,
        (where_it_is, last): (&str, &str),
    ) -> Self {
        let (mut address, mut line) = (String::new(), String::new());
        while !line.contains(last) {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it was there");
            if let Some((_, rest)) = line.split_once(where_it_is) {
                rest.split('/').next().unwrap().clone_into(&mut address);
            }
        }
        let user = user(stage);
        let mut token = stage.unstuck(&["token", "make", "--name", "test", "--role", "operator"]);
        let token = ran(token.env("XDG_STATE_HOME", &user).output().unwrap());
        assert_eq!(token.exit, 0, "{token}");
        Self { child, _said: Box::new(said), address, token: token.stdout.trim().to_owned() }
    }

    pub(super) fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// Sends these bytes, and reads what comes back until the end.
    pub(super) fn raw_bytes(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        // A client that the server hung up on may read an error at the end.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Sends a request: its head without the last line, and its body. The status, and what came back.
    pub(super) fn raw(&self, head: &str, body: &str) -> (u16, String) {
        let length = body.len();
        let request = format!("{head}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}");
        let answer = self.raw_bytes(request.as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        let (status, answer) = self.request(method, path, None, body);
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    /// Sends a request, under an `Idempotency-Key` where there is one. The status, and what came back.
    pub(super) fn request(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: &str,
    ) -> (u16, Value) {
        let (status, answer) = self.raw(&self.head(method, path, key), body);
        (status, serde_json::from_str(&answer).unwrap())
    }

    /// Sends a request and never hears the answer.
    pub(super) fn send_only(&self, path: &str, key: &str, body: &str) -> TcpStream {
        let (head, length) = (self.head("POST", path, Some(key)), body.len());
        let mut stream = self.connect();
        write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
        stream
    }

    fn head(&self, method: &str, path: &str, key: Option<&str>) -> String {
        let key = key.map(|key| format!("Idempotency-Key: {key}\r\n")).unwrap_or_default();
        format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\n{key}",
            self.token
        )
    }

    pub(super) fn get(&self, path: &str) -> Value {
        self.ask("GET", path, "")
    }

    pub(super) fn post(&self, path: &str, body: &str) -> Value {
        self.ask("POST", path, body)
    }

    /// Asks until the answer holds what is wanted, each time after something has happened.
    pub(super) fn wait_for<T>(&self, path: &str, wanted: impl Fn(&Value) -> Option<T>) -> T {
        let mut news = self.connect();
        let head = format!(
            "GET /api/v1/news HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
            self.token
        );
        news.write_all(head.as_bytes()).unwrap();
        let mut news = BufReader::new(news);
        let mut line = String::new();
        // From its first line on nothing is missed.
        while !line.contains("retry:") {
            line.clear();
            assert!(news.read_line(&mut line).unwrap() > 0, "there are no news");
        }
        loop {
            if let Some(found) = wanted(&self.get(path)) {
                return found;
            }
            line.clear();
            while !line.contains("event: news") {
                line.clear();
                assert!(news.read_line(&mut line).unwrap() > 0, "the news ended");
            }
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap()).unwrap()
    }

    /// The number of its open descriptors.
    pub(super) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Lets it open no more than so many.
    pub(super) fn limit_descriptors(&self, most: u64) {
        let limit = Rlimit { current: Some(most), maximum: Some(1_024) };
        prlimit(Some(self.pid()), Resource::Nofile, limit).unwrap();
    }

    /// The status and the text of its readiness.
    pub(super) fn ready(&self) -> (u16, String) {
        self.raw("GET /readyz HTTP/1.1\r\nHost: localhost\r\n", "")
    }

    /// Ends it as a service manager does. Its status.
    pub(super) fn end(mut self) -> Option<i32> {
        kill_process(self.pid(), Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }

    /// The next thing that it has to say about itself.
    pub(super) fn complains(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }

    /// Waits until it ends by itself.
    pub(super) fn ends(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    pub(super) fn kill(mut self) {
        kill_process(self.pid(), Signal::KILL).unwrap();
        self.child.wait().unwrap();
    }
}

/// The folder of the user, the same for all programs in a project.
pub(super) fn user(stage: &Stage) -> PathBuf {
    stage.path(".unstuck/user")
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that was ended already is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
