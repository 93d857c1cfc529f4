//! What Codex is asked, in the order of asking.

use serde::Serialize;

use super::session::Order;
use super::wire::{ClientInfo, Initialize, Notice, OpenThread, Request, StartTurn, TextInput};

/// The numbers of our requests, each of which is made at most once.
pub(super) mod number {
    pub(in super::super) const INITIALIZE: u64 = 1;
    pub(in super::super) const THREAD: u64 = 2;
    pub(in super::super) const TURN: u64 = 3;
    /// A new conversation, where the one to go on with is not known.
    pub(in super::super) const THREAD_ANEW: u64 = 4;
}

/// Says who we are.
pub(super) fn initialize() -> Vec<u8> {
    let client_info = ClientInfo { name: "unstuck", version: env!("CARGO_PKG_VERSION") };
    let params = Initialize { client_info };
    written(&Request { id: number::INITIALIZE, method: "initialize", params })
}

/// Says that its answer to that was heard.
pub(super) fn initialized() -> Vec<u8> {
    written(&Notice { method: "initialized" })
}

impl Order {
    /// Begins a conversation, or goes on with `thread`.
    pub(super) fn open_thread(&self, id: u64, thread: Option<&str>) -> Vec<u8> {
        let (approval_policy, sandbox) = self.access.words();
        let params = OpenThread {
            thread_id: thread,
            exclude_turns: thread.map(|_| true),
            cwd: &self.directory,
            approval_policy,
            sandbox,
            model: self.model.as_deref(),
        };
        let method = if thread.is_some() { "thread/resume" } else { "thread/start" };
        written(&Request { id, method, params })
    }

    /// Says what to do.
    pub(super) fn start_turn(&self, thread: &str) -> Vec<u8> {
        let input = [TextInput { kind: "text", text: &self.prompt }];
        let params = StartTurn { thread_id: thread, input };
        written(&Request { id: number::TURN, method: "turn/start", params })
    }
}

/// A message on a line of its own.
pub(super) fn written(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}
