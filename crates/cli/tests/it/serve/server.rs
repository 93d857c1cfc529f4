//! A running server, and a client that speaks plain HTTP with it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};
use unstuck_testkit::stage::RunningProgram;

use crate::program::ran;
use crate::project::Project;

pub(super) struct Server {
    program: RunningProgram,
    pub(super) address: String,
    pub(super) token: String,
}

impl Server {
    /// Starts it at a free port, and waits until it says where it is.
    pub(super) fn start(stage: &Project, args: &[&str]) -> Self {
        let mut unstuck = stage.unstuck(&["serve", "--bind", "127.0.0.1:0"]);
        // What belongs to the user is the same for both programs.
        unstuck.args(args).env("XDG_STATE_HOME", user(stage));
        let program = RunningProgram::follow_stdout(unstuck);
        Self::heard(stage, program, (" at http://", "Ctrl-C ends it"))
    }

    /// The server that a build runs for its own inbox while it lasts.
    pub(super) fn beside_run(stage: &Project, args: &[&str]) -> Self {
        let mut unstuck = stage.unstuck(args);
        unstuck.env("UNSTUCK_SERVER_DURING_RUN", "true").env("UNSTUCK_SERVER_BIND", "127.0.0.1:0");
        unstuck.env("XDG_STATE_HOME", user(stage)).stdout(Stdio::null());
        let words = "your inbox while this runs: http://";
        Self::heard(stage, RunningProgram::follow_stderr(unstuck), (words, words))
    }

    /// Waits until it says where it is, and the last of its words.
    fn heard(stage: &Project, mut program: RunningProgram, (start, last): (&str, &str)) -> Self {
        let said = program.read_until(last);
        let (_, address) = said.rsplit_once(start).unwrap();
        let address = address.split('/').next().unwrap().to_owned();
        let mut token = stage.unstuck(&["token", "make", "--name", "test", "--role", "operator"]);
        let token = ran(token.env("XDG_STATE_HOME", user(stage)).output().unwrap()).exits(0);
        Self { program, address, token: token.stdout.trim().to_owned() }
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

    /// Waits until a question is open.
    pub(super) fn wait_for_question(&self) -> Value {
        let open = "/api/v1/questions?status=pending";
        self.wait_for(open, |listed| listed["items"].get(0).cloned())
    }

    /// Answers a question with words of guidance.
    pub(super) fn guide(&self, question: &Value, words: &str) -> Value {
        let path = format!("/api/v1/questions/{}/answer", question["id"]);
        let answer = json!({ "decision": "provide_guidance", "guidance": words });
        self.post(&path, &answer.to_string())
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

    /// The number of its open descriptors.
    pub(super) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.program.child.id())).unwrap().count()
    }

    /// Lets it open no more than so many.
    pub(super) fn limit_descriptors(&self, most: u64) {
        let limit = Rlimit { current: Some(most), maximum: Some(1_024) };
        prlimit(Some(self.program.pid()), Resource::Nofile, limit).unwrap();
    }

    /// The status and the text of its readiness.
    pub(super) fn ready(&self) -> (u16, String) {
        self.raw("GET /readyz HTTP/1.1\r\nHost: localhost\r\n", "")
    }

    /// Ends it as a service manager does. Its status.
    pub(super) fn end(mut self) -> Option<i32> {
        self.program.signal(Signal::TERM);
        self.program.child.wait().unwrap().code()
    }

    /// The next thing that it has to say about itself.
    pub(super) fn complains(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.program.child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }

    /// Waits until it ends by itself.
    pub(super) fn ends(mut self) -> Option<i32> {
        self.program.child.wait().unwrap().code()
    }

    pub(super) fn kill(mut self) {
        self.program.signal(Signal::KILL);
        self.program.child.wait().unwrap();
    }
}

/// The folder of the user, the same for all programs in a project.
pub(super) fn user(stage: &Project) -> PathBuf {
    stage.path(".unstuck/user")
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that was ended already is gone.
        let _ = self.program.child.kill();
        let _ = self.program.child.wait();
    }
}
