//! A session with `codex app-server`: requests, activities, and the end of the turn. Does no I/O.
//!
//! No prose is interpreted: a code comes from fields alone.

use std::collections::HashMap;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use unstuck_core::attempt::ToolKind;
use unstuck_core::fault::{Code, Fault};
use unstuck_core::time::{Span, Time};

use super::requests::{CodexSessionParams, number, serialize_line};
use super::wire::{
    CodexItem, CodexMessage, CodexOutcome, CodexParams, CodexRateLimits, CodexResponse,
    CodexThreadResult, CodexTokenUsage, CodexTokens, CodexTurn, CodexTurnError, CodexTurnResult,
};
use super::{failure, items, requests};
use crate::agent::{Activity, AgentEnd, Denial, Usage};
use crate::provider::program::{
    LineEffects, ProgramDialog, RunningCalls, clip_text, shorten_middle, subtract_usage,
};

/// Maximum number of reported denials: further ones repeat the same actions.
const DENIALS_MAX: usize = 100;
/// The method of a request for approval of a command.
const APPROVE_COMMAND: &str = "item/commandExecution/requestApproval";
/// Maximum number of bytes of a command in a denial.
const WHAT_BYTES_MAX: usize = 1_024;
/// Maximum number of remembered calls that have not returned.
const WAITING_MAX: usize = 1_024;

/// Time from the end of the turn, when all of it is recorded, until the program is ended.
const LINGER: Duration = Duration::from_millis(100);
/// Maximum time that Codex may wait for a limit; longer waits are for the engine, which sees all
/// tasks of the account.
const WAIT_MAX: Span = Span::from_secs(20);
/// The assumed length of a longer wait, if the log does not state it.
const LONG_WAIT: Span = Span::from_mins(1);

/// The JSON-RPC error code for an unknown method.
const METHOD_NOT_FOUND: i32 = -32_601;

/// A session with Codex.
#[derive(Debug)]
pub struct CodexSession {
    order: CodexSessionParams,
    thread: Option<String>,
    turn: Option<String>,
    calls: RunningCalls,
    /// The commands or files of the calls that have not returned.
    about: HashMap<String, String>,
    said: Option<String>,
    denials: Vec<Denial>,
    limits: CodexRateLimits,
    /// The usage of the conversation before this turn.
    before: Option<Usage>,
    used: Usage,
    answers: u32,
    waiting: Option<RateLimitWait>,
    /// The announced delay from the log, if the error has not arrived yet.
    delay: Option<Span>,
    end: Option<AgentEnd>,
    /// `true` if Codex would continue by itself, although the run is over.
    cut: bool,
}

/// A rate limit that Codex waits out, for as long as the service asked, before its single retry.
#[derive(Debug)]
struct RateLimitWait {
    fault: Fault,
    since_ms: Option<u64>,
}

impl CodexSession {
    /// Creates a session before its first message.
    pub fn new(order: CodexSessionParams) -> Self {
        Self {
            order,
            thread: None,
            turn: None,
            calls: RunningCalls::default(),
            about: HashMap::new(),
            said: None,
            denials: Vec::new(),
            limits: CodexRateLimits::default(),
            before: None,
            used: Usage::default(),
            answers: 0,
            waiting: None,
            delay: None,
            end: None,
            cut: false,
        }
    }

    /// Returns the id of the conversation, once it is known.
    pub fn thread_id(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    /// Returns the end of the turn, once it has ended.
    pub const fn reported_end(&self) -> Option<&AgentEnd> {
        self.end.as_ref()
    }

    /// Returns the usage of the turn so far.
    pub const fn usage(&self) -> Usage {
        self.used
    }

    /// Returns the first message.
    pub fn first_message(&self) -> Vec<u8> {
        requests::build_initialize()
    }

    /// Handles a line: adds its activities to `activities` and the responses to `reply`. A line
    /// that cannot be parsed is ignored.
    pub fn handle_line(
        &mut self,
        line: &[u8],
        activities: &mut impl Extend<Activity>,
        reply: &mut Vec<u8>,
    ) {
        let Ok(message) = serde_json::from_slice::<CodexMessage<'_>>(line) else { return };
        if self.end.is_some() {
            return;
        }
        match (&message.method, message.id) {
            (Some(method), Some(id)) => {
                let params = message.params.and_then(parse_raw::<CodexParams<'_>>);
                let outcome = self.decide_approval(method, params);
                reply.extend(serialize_line(&CodexResponse { id, outcome }));
            }
            (Some(method), None) => {
                let at_ms = message.emitted_at_ms;
                self.handle_notification(method, message.params, at_ms, activities);
            }
            (None, Some(id)) => activities.extend(self.handle_response(id, &message, reply)),
            (None, None) => {}
        }
    }

    /// Handles a line of the log. Only the log states how long the service asked to wait; the error
    /// does not. The two arrive in any order.
    pub fn handle_log_line(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let Some(delay) = failure::parse_retry_delay(&line) else { return };
        // A subagent has turns of its own.
        let own = self.turn.as_deref().is_none_or(|turn| line.contains(turn));
        if own && self.end.is_none() {
            self.delay = Some(delay);
            self.check_requested_wait();
        }
    }

    /// Ends the run if the service asked for a wait: the engine waits instead, which sees all tasks
    /// of the account and can be paused meanwhile.
    fn check_requested_wait(&mut self) {
        let Some(delay) = self.delay.filter(|delay| failure::is_requested_wait(*delay)) else {
            return;
        };
        if let Some(RateLimitWait { fault, .. }) = self.waiting.take() {
            self.end_with_fault(failure::add_requested_wait(fault, Some(delay)));
            self.cut = true;
        }
    }

    /// Sends the next request after the response to the previous one.
    fn handle_response(
        &mut self,
        id: &RawValue,
        message: &CodexMessage<'_>,
        reply: &mut Vec<u8>,
    ) -> Option<Activity> {
        let number = id.get().parse::<u64>().ok()?;
        match (number, message.result, &message.error) {
            (number::INITIALIZE, Some(_), _) => {
                reply.extend(requests::build_initialized());
                reply.extend(
                    self.order.build_open_thread(number::THREAD, self.order.thread.as_deref()),
                );
                None
            }
            // An unknown conversation is replaced by a new one, once; its different id shows that.
            (number::THREAD, None, Some(_)) if self.order.thread.is_some() => {
                reply.extend(self.order.build_open_thread(number::THREAD_ANEW, None));
                None
            }
            (number::THREAD | number::THREAD_ANEW, Some(result), _) => {
                let thread = parse_owned::<CodexThreadResult>(result)?.thread.id;
                reply.extend(self.order.build_start_turn(&thread));
                self.thread = Some(thread.clone());
                Some(Activity::Began { thread })
            }
            (number::TURN, Some(result), _) => {
                self.turn = Some(parse_owned::<CodexTurnResult>(result)?.turn.id);
                None
            }
            (_, None, Some(error)) => {
                self.end_with_fault(failure::rejected_request_fault(&error.message));
                None
            }
            _ => None,
        }
    }

    fn handle_notification(
        &mut self,
        method: &str,
        params: Option<&RawValue>,
        at_ms: Option<u64>,
        activities: &mut impl Extend<Activity>,
    ) {
        let looked_at = matches!(
            method,
            "item/started"
                | "item/completed"
                | "turn/started"
                | "turn/completed"
                | "thread/tokenUsage/updated"
                | "account/rateLimits/updated"
                | "error"
        );
        let params = params.filter(|_| looked_at).and_then(parse_raw::<CodexParams<'_>>);
        let Some(params) = params else { return };
        // A subagent has a conversation of its own: its actions are reported, its text and its end
        // are not.
        let own = params.thread_id.as_deref() == self.thread.as_deref();
        match (method, &params) {
            ("item/started", CodexParams { item: Some(item), .. }) => {
                activities.extend(self.handle_item_started(item));
            }
            ("item/completed", CodexParams { item: Some(item), .. }) => {
                activities.extend(self.handle_item_completed(item, own));
            }
            ("turn/started", _) if own => activities.extend([Activity::Thinking]),
            ("turn/completed", CodexParams { turn: Some(turn), .. }) if own => {
                self.handle_turn_end(turn, at_ms);
            }
            ("thread/tokenUsage/updated", CodexParams { token_usage: Some(usage), .. }) if own => {
                activities.extend(self.update_usage(usage, params.turn_id.as_deref()));
            }
            ("account/rateLimits/updated", _) => {
                self.limits = params.rate_limits.unwrap_or_default();
            }
            ("error", CodexParams { error: Some(error), will_retry: Some(true), .. }) if own => {
                self.handle_retry(error, at_ms);
            }
            _ => {}
        }
    }

    /// Handles the announcement of a retry, which Codex repeats forever if no service answers.
    /// Backoff and retry are for the engine; Codex may only wait out a limit once, unless its log
    /// states how long the service asked for.
    fn handle_retry(&mut self, error: &CodexTurnError, at_ms: Option<u64>) {
        let fault = failure::turn_error_fault(error, &self.limits);
        if failure::is_rate_limit(error) {
            self.waiting = Some(RateLimitWait { fault, since_ms: at_ms });
            self.check_requested_wait();
        } else {
            self.end_with_fault(fault);
            self.cut = true;
        }
    }

    fn handle_item_started(&mut self, item: &CodexItem<'_>) -> Option<Activity> {
        match self.order.turns_max {
            Some(max) if self.answers >= max => {
                self.end_with_fault(failure::turn_limit_fault(max));
                return None;
            }
            _ => {}
        }
        let called = items::build_call_activity(item)?;
        self.calls.mark_started(&item.id);
        if self.about.len() < WAITING_MAX {
            self.about.insert(
                item.id.to_string(),
                clip_text(&items::describe_target(item), WHAT_BYTES_MAX),
            );
        }
        Some(called)
    }

    fn handle_item_completed(&mut self, item: &CodexItem<'_>, own: bool) -> Vec<Activity> {
        if item.kind == "agentMessage" && own {
            let text = shorten_middle(item.text.as_deref().unwrap_or_default());
            self.said = Some(text.clone());
            return vec![Activity::Said { text }];
        }
        let known = self.calls.mark_returned(&item.id);
        self.about.remove(&*item.id);
        let called = if known { None } else { items::build_call_activity(item) };
        called.into_iter().chain(items::build_return_activity(item)).collect()
    }

    /// Updates the usage. Codex reports sums over the whole conversation, so the usage before this
    /// turn is subtracted.
    fn update_usage(&mut self, usage: &CodexTokenUsage, turn: Option<&str>) -> Option<Activity> {
        let total = convert_tokens(usage.total);
        if self.turn.is_none() || turn != self.turn.as_deref() {
            // Reported again when a conversation is resumed.
            self.before = Some(total);
            return None;
        }
        self.answers = self.answers.saturating_add(1);
        (self.waiting, self.delay) = (None, None);
        let before =
            *self.before.get_or_insert_with(|| subtract_usage(total, convert_tokens(usage.last)));
        let used = subtract_usage(total, before);
        let since = subtract_usage(used, self.used);
        self.used = used;
        (since != Usage::default()).then_some(Activity::Used { usage: since })
    }

    fn handle_turn_end(&mut self, turn: &CodexTurn<'_>, at_ms: Option<u64>) {
        if self.turn.as_deref().is_some_and(|ours| ours != turn.id) {
            return;
        }
        match (turn.status.as_deref(), &turn.error) {
            (Some("completed"), None) => match self.said.take() {
                Some(said) => {
                    let denials = std::mem::take(&mut self.denials);
                    self.end = Some(AgentEnd::Finished { said, denials });
                }
                None => self.end_with_fault(failure::refusal_fault()),
            },
            (_, Some(error)) => {
                let since_ms = self.waiting.take().and_then(|waiting| waiting.since_ms);
                let waited = since_ms.zip(at_ms).map(|(since, now)| now.saturating_sub(since));
                let fault = self.add_reset_time(
                    failure::turn_error_fault(error, &self.limits),
                    error,
                    at_ms,
                );
                self.end_with_fault(failure::add_requested_wait(
                    fault,
                    waited.map(Span::from_millis),
                ));
            }
            (_, None) => self.end_with_fault(failure::broken_turn_fault()),
        }
    }

    /// Adds the reset time of a window if only the error's message states it.
    fn add_reset_time(&self, fault: Fault, error: &CodexTurnError, at_ms: Option<u64>) -> Fault {
        if fault.code() != Code::ProviderUsageLimit || fault.resets_at.is_some() {
            return fault;
        }
        let now = at_ms.map(Time::from_millis);
        match now.and_then(|now| failure::parse_reset_time(&error.message, now, &self.order.zone)) {
            Some(time) => fault.with_resets_at(time),
            None => fault,
        }
    }

    fn end_with_fault(&mut self, fault: Fault) {
        self.end = Some(AgentEnd::Failed(Box::new(fault)));
    }

    /// Decides about a request for approval. No person is present to approve it, so it is declined
    /// and reported as a denial at the end, unless the command was allowed in advance.
    fn decide_approval(&mut self, method: &str, params: Option<CodexParams<'_>>) -> CodexOutcome {
        let what = self.describe_request(params);
        let allowed = what.as_ref().is_some_and(|what| self.order.allowed_commands.contains(what));
        if method == APPROVE_COMMAND && allowed {
            return CodexOutcome::Result(json!({ "decision": "accept" }));
        }
        let (tool, declined) = match method {
            APPROVE_COMMAND => (ToolKind::Command, json!({ "decision": "decline" })),
            "item/fileChange/requestApproval" => (ToolKind::Edit, json!({ "decision": "decline" })),
            "item/permissions/requestApproval" => (ToolKind::Other, json!({ "permissions": {} })),
            "mcpServer/elicitation/request" => (ToolKind::Other, json!({ "action": "decline" })),
            _ => return CodexOutcome::Error { code: METHOD_NOT_FOUND, message: "not offered" },
        };
        if self.denials.len() < DENIALS_MAX {
            let what = what.unwrap_or_else(|| method.to_owned());
            self.denials.push(Denial { tool, what: clip_text(&what, WHAT_BYTES_MAX) });
        }
        CodexOutcome::Result(declined)
    }

    fn describe_request(&self, params: Option<CodexParams<'_>>) -> Option<String> {
        let params = params?;
        let item = params.item_id.and_then(|item| self.about.get(&*item)).cloned();
        let command = params.command.map(std::borrow::Cow::into_owned);
        let known = command.or(item).filter(|what| !what.is_empty());
        known.or_else(|| params.reason.map(std::borrow::Cow::into_owned))
    }
}

impl ProgramDialog for CodexSession {
    fn first_input(&mut self) -> Vec<u8> {
        self.first_message()
    }

    fn on_line(&mut self, line: &[u8], heard: &mut LineEffects) {
        self.handle_line(line, &mut heard.activities, &mut heard.reply);
    }

    fn on_stderr_line(&mut self, line: &[u8]) {
        self.handle_log_line(line);
    }

    fn has_more_input(&self) -> bool {
        self.end.is_none()
    }

    fn is_tool_running(&self) -> bool {
        self.calls.has_running()
    }

    fn is_over(&self) -> bool {
        self.end.is_some()
    }

    fn linger_time(&self) -> Duration {
        if self.cut { Duration::ZERO } else { LINGER }
    }

    fn service_wait_max(&self) -> Option<Duration> {
        self.waiting.as_ref().map(|_| WAIT_MAX.into())
    }

    fn give_up_waiting(&mut self) {
        if let Some(RateLimitWait { fault, .. }) = self.waiting.take() {
            self.end_with_fault(failure::add_requested_wait(fault, Some(LONG_WAIT)));
            self.cut = true;
        }
    }
}

const fn convert_tokens(tokens: CodexTokens) -> Usage {
    let cached = tokens.cached.saturating_add(tokens.cache_written);
    Usage {
        input_tokens: tokens.input.saturating_sub(cached),
        output_tokens: tokens.output,
        cached_tokens: tokens.cached,
        cache_written_tokens: tokens.cache_written,
        money_micros: None,
        unmeasured_calls: 0,
    }
}

fn parse_raw<'a, T: serde::Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

fn parse_owned<T: DeserializeOwned>(raw: &RawValue) -> Option<T> {
    parse_raw(raw)
}
