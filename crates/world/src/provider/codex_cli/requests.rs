//! The parameters of a session with Codex, and the requests that it makes, in order.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::tz::TimeZone;
use serde::Serialize;

use super::CodexAccess;
use super::wire::{
    ClientInfo, CodexInitialize, CodexNotification, CodexRequest, OpenThread, StartTurn, TextInput,
};
use crate::commands::CommandPolicy;

/// The parameters of a session.
#[derive(Clone, Debug)]
pub struct CodexSessionParams {
    /// The working directory.
    pub directory: PathBuf,
    /// The prompt.
    pub prompt: String,
    /// The id of the conversation to resume.
    pub thread: Option<String>,
    /// The model; `None` leaves the choice to Codex.
    pub model: Option<String>,
    /// Maximum number of responses of the model.
    pub turns_max: Option<u32>,
    /// The permissions.
    pub access: CodexAccess,
    /// The rules by which requests for approval are decided; without them, they are declined.
    pub commands: Option<CommandPolicy>,
    /// `true` if Codex asks before each command that does more than read.
    pub asks_first: bool,
    /// Exact commands that are allowed in addition to the permissions.
    pub allowed_commands: BTreeSet<String>,
    /// The operator's time zone, in which Codex reports times.
    pub zone: TimeZone,
}

/// The ids of the requests, each of which is sent at most once.
pub(super) mod number {
    pub(in super::super) const INITIALIZE: u64 = 1;
    pub(in super::super) const THREAD: u64 = 2;
    pub(in super::super) const TURN: u64 = 3;
    /// A new conversation, if the one to resume is unknown.
    pub(in super::super) const THREAD_ANEW: u64 = 4;
}

/// Builds the request that identifies the client.
pub(super) fn build_initialize() -> Vec<u8> {
    let client_info = ClientInfo { name: "unstuck", version: env!("CARGO_PKG_VERSION") };
    let params = CodexInitialize { client_info };
    serialize_line(&CodexRequest { id: number::INITIALIZE, method: "initialize", params })
}

/// Builds the notification that acknowledges the response to `initialize`.
pub(super) fn build_initialized() -> Vec<u8> {
    serialize_line(&CodexNotification { method: "initialized" })
}

impl CodexSessionParams {
    /// Builds the request for a new conversation, or for resuming `thread`.
    pub(super) fn build_open_thread(&self, id: u64, thread: Option<&str>) -> Vec<u8> {
        let (approval_policy, sandbox) = self.access.approval_and_sandbox(self.asks_first);
        let params = OpenThread {
            thread_id: thread,
            exclude_turns: thread.map(|_| true),
            cwd: &self.directory,
            approval_policy,
            sandbox,
            model: self.model.as_deref(),
        };
        let method = if thread.is_some() { "thread/resume" } else { "thread/start" };
        serialize_line(&CodexRequest { id, method, params })
    }

    pub(super) fn build_start_turn(&self, thread: &str) -> Vec<u8> {
        let input = [TextInput { kind: "text", text: &self.prompt }];
        let params = StartTurn { thread_id: thread, input };
        serialize_line(&CodexRequest { id: number::TURN, method: "turn/start", params })
    }
}

pub(super) fn serialize_line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}
