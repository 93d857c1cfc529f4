//! Requests of Codex for approval. No person is present to approve one, so it is declined and
//! reported as a denial at the end, unless the command was allowed in advance.

use std::collections::{BTreeSet, HashMap};

use serde_json::json;
use unstuck_core::attempt::ToolKind;

use super::items;
use super::wire::{CodexItem, CodexOutcome, CodexParams};
use crate::agent::Denial;
use crate::commands::CommandPolicy;
use crate::provider::program::{DENIALS_MAX, WHAT_BYTES_MAX, clip_denial, clip_text};

/// The method of a request for approval of a command.
const APPROVE_COMMAND: &str = "item/commandExecution/requestApproval";
/// The method of a request for approval of an edit.
const APPROVE_EDIT: &str = "item/fileChange/requestApproval";
/// Maximum number of remembered calls that have not returned.
const WAITING_MAX: usize = 1_024;
/// The JSON-RPC error code for an unknown method.
const METHOD_NOT_FOUND: i32 = -32_601;

#[derive(Debug, Default)]
pub(super) struct CodexApprovals {
    /// The commands or files of the calls that have not returned.
    targets: HashMap<String, String>,
    pub(super) denials: Vec<Denial>,
}

impl CodexApprovals {
    /// Remembers the command or the files of a call, which a request may be about.
    pub(super) fn remember_call(&mut self, item: &CodexItem<'_>) {
        if self.targets.len() < WAITING_MAX {
            let target = clip_text(&items::describe_target(item), WHAT_BYTES_MAX);
            self.targets.insert(item.id.to_string(), target);
        }
    }

    pub(super) fn forget_call(&mut self, item: &CodexItem<'_>) {
        self.targets.remove(&*item.id);
    }

    /// Decides about a request: the commands in `allowed` are accepted, and those that the rules
    /// allow. Under rules Codex may ask about each of its edits as well, and the scope is enforced
    /// after the attempt.
    pub(super) fn decide_request(
        &mut self,
        method: &str,
        params: Option<CodexParams<'_>>,
        (allowed, rules): (&BTreeSet<String>, Option<&CommandPolicy>),
    ) -> CodexOutcome {
        let what = params.and_then(|params| self.describe_request(params));
        let may_run = |what: &String| {
            allowed.contains(what) || rules.is_some_and(|rules| rules.check_line(what).is_ok())
        };
        let is_allowed = match method {
            APPROVE_COMMAND => what.as_ref().is_some_and(may_run),
            APPROVE_EDIT => rules.is_some(),
            _ => false,
        };
        if is_allowed {
            return CodexOutcome::Result(json!({ "decision": "accept" }));
        }
        let (tool, declined) = match method {
            APPROVE_COMMAND => (ToolKind::Command, json!({ "decision": "decline" })),
            APPROVE_EDIT => (ToolKind::Edit, json!({ "decision": "decline" })),
            "item/permissions/requestApproval" => (ToolKind::Other, json!({ "permissions": {} })),
            "mcpServer/elicitation/request" => (ToolKind::Other, json!({ "action": "decline" })),
            _ => return CodexOutcome::Error { code: METHOD_NOT_FOUND, message: "not offered" },
        };
        if self.denials.len() < DENIALS_MAX {
            self.denials.push(clip_denial(tool, what.as_deref().unwrap_or(method)));
        }
        CodexOutcome::Result(declined)
    }

    fn describe_request(&self, params: CodexParams<'_>) -> Option<String> {
        let target = params.item_id.and_then(|item| self.targets.get(&item)).cloned();
        let known = params.command.or(target).filter(|what| !what.is_empty());
        known.or(params.reason)
    }
}
