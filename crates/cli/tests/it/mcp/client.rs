//! A client: writes requests, reads answers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

pub(super) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    /// Starts the server and greets it.
    pub(super) fn start(mut server: Command) -> Self {
        server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = server.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { child, input, output, next: 0 };
        let greeting = client.ask("initialize", &json!({ "protocolVersion": "2025-06-18" }));
        assert_eq!(greeting["serverInfo"]["name"], "unstuck");
        client
            .write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        client
    }

    pub(super) fn write(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(super) fn read(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended");
        serde_json::from_str(&line).unwrap()
    }

    /// The result of a request.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        let asked = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&asked.to_string());
        let mut said = self.read();
        assert_eq!(said["id"], id, "{said}");
        said["result"].take()
    }

    /// What a tool says, and whether it failed.
    #[expect(clippy::needless_pass_by_value, reason = "it is written where it is called")]
    pub(super) fn call(&mut self, tool: &str, input: Value) -> (String, bool) {
        let said = self.ask("tools/call", &json!({ "name": tool, "arguments": input }));
        let text = said["content"][0]["text"].as_str().unwrap().to_owned();
        (text, said["isError"].as_bool().unwrap())
    }

    /// The code and the category of what a tool's answer is about.
    #[expect(clippy::needless_pass_by_value, reason = "it is written where it is called")]
    pub(super) fn about(&mut self, tool: &str, input: Value) -> (Value, Value) {
        let mut said = self.ask("tools/call", &json!({ "name": tool, "arguments": input }));
        let about = &mut said["structuredContent"];
        (about["code"].take(), about["category"].take())
    }

    /// Asks it to end, as clients do.
    pub(super) fn terminate(mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }

    /// Has nothing more to say, and waits for the end.
    pub(super) fn leave(mut self) -> ExitStatus {
        drop(self.input.take());
        self.child.wait().unwrap()
    }
}

/// The lines of a client that has nothing to wait for, to be read from a file.
pub(super) fn lines(calls: &[(&str, Value)]) -> String {
    let mut lines = String::new();
    for (id, (tool, input)) in (1..).zip(calls) {
        let params = json!({ "name": tool, "arguments": input });
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        lines.push_str(&call.to_string());
        lines.push('\n');
    }
    lines
}

/// What was said to them, in order, and whether it failed.
pub(super) fn said(output: &str) -> Vec<(String, bool)> {
    let said = |line: &str| {
        let said: Value = serde_json::from_str(line).unwrap();
        let text = said["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        (text, said["result"]["isError"].as_bool().unwrap())
    };
    output.lines().map(said).collect()
}
