//! A session with `codex app-server`: requests, activities, and the end of the turn. Does no I/O.
//!
//! No prose is interpreted: a code comes from fields alone.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use unstuck_core::fault::{Code, Fault};
use unstuck_core::time::{Span, Time};

use super::approvals::CodexApprovals;
use super::requests::{CodexSessionParams, number, serialize_line};
use super::usage::CodexTurnUsage;
use super::wire::{
    CodexItem, CodexMessage, CodexParams, CodexRateLimits, CodexResponse, CodexThreadResult,
    CodexTokenUsage, CodexTurn, CodexTurnError, CodexTurnResult,
};
use super::{failure, items, requests};
use crate::agent::{Activity, AgentEnd, Usage};
use crate::provider::program::{LineEffects, ProgramDialog, RunningCalls, shorten_middle};

/// Time from the end of the turn, when all of it is recorded, until the program is ended.
const LINGER: Duration = Duration::from_millis(100);
/// Maximum time that Codex may wait for a limit; longer waits are for the engine, which sees all
/// tasks of the account.
const WAIT_MAX: Span = Span::from_secs(20);
/// The assumed length of a longer wait, if the log does not state it.
const LONG_WAIT: Span = Span::from_mins(1);
/// Maximum time between the announcement of a retry and its line of the log.
const LOG_WAIT_MAX: Span = Span::from_secs(1);

/// A session with Codex.
#[derive(Debug)]
pub struct CodexSession {
    params: CodexSessionParams,
    thread: Option<String>,
    turn: Option<String>,
    calls: RunningCalls,
    approvals: CodexApprovals,
    said: Option<String>,
    limits: CodexRateLimits,
    usage: CodexTurnUsage,
    retry: Option<AnnouncedRetry>,
    /// The announced delay from the log, if the error has not arrived yet.
    delay: Option<Span>,
    end: Option<AgentEnd>,
    /// `true` if Codex would continue by itself, although the run is over.
    cut: bool,
}

/// The single retry that Codex makes after a failure, once it has waited for as long as the service
/// asked.
#[derive(Debug)]
struct AnnouncedRetry {
    fault: Fault,
    /// `true` for a limit of the service, which Codex may wait out by itself.
    is_limit: bool,
    since_ms: Option<u64>,
}

impl CodexSession {
    /// Creates a session before its first message.
    pub fn new(params: CodexSessionParams) -> Self {
        Self {
            params,
            thread: None,
            turn: None,
            calls: RunningCalls::default(),
            approvals: CodexApprovals::default(),
            said: None,
            limits: CodexRateLimits::default(),
            usage: CodexTurnUsage::default(),
            retry: None,
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
        self.usage.used
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
                let rules = (&self.params.allowed_commands, self.params.commands.as_ref());
                let outcome = self.approvals.decide_request(method, params, rules);
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

    /// Ends the run if the announced retry is for the engine, which sees all tasks of the account and
    /// can be paused meanwhile: always, except for a limit for which the service asked for no wait.
    fn check_requested_wait(&mut self) {
        let Some(delay) = self.delay else { return };
        let is_for_engine =
            |retry: &mut AnnouncedRetry| !retry.is_limit || failure::is_requested_wait(delay);
        if let Some(AnnouncedRetry { fault, .. }) = self.retry.take_if(is_for_engine) {
            self.cut_off(failure::add_requested_wait(fault, Some(delay)));
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
                    self.params.build_open_thread(number::THREAD, self.params.thread.as_deref()),
                );
                None
            }
            // An unknown conversation is replaced by a new one, once; its different id shows that.
            (number::THREAD, None, Some(_)) if self.params.thread.is_some() => {
                reply.extend(self.params.build_open_thread(number::THREAD_ANEW, None));
                None
            }
            (number::THREAD | number::THREAD_ANEW, Some(result), _) => {
                let thread = parse_raw::<CodexThreadResult>(result)?.thread.id;
                reply.extend(self.params.build_start_turn(&thread));
                self.thread = Some(thread.clone());
                Some(Activity::Began { thread })
            }
            (number::TURN, Some(result), _) => {
                self.turn = Some(parse_raw::<CodexTurnResult>(result)?.turn.id);
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

    /// Handles the announcement of a retry. Codex may only wait out a limit once, unless its log
    /// states how long the service asked for. Any other failure ends the run as soon as the log
    /// states the wait, or with the next announcement: if no service answers, Codex repeats it
    /// forever.
    fn handle_retry(&mut self, error: &CodexTurnError, at_ms: Option<u64>) {
        if let Some(AnnouncedRetry { fault, .. }) = self.retry.take_if(|retry| !retry.is_limit) {
            self.cut_off(fault);
            return;
        }
        let fault = failure::turn_error_fault(error, &self.limits);
        let is_limit = failure::is_rate_limit(error);
        self.retry = Some(AnnouncedRetry { fault, is_limit, since_ms: at_ms });
        self.check_requested_wait();
    }

    fn handle_item_started(&mut self, item: &CodexItem<'_>) -> Option<Activity> {
        if let Some(max) = self.params.turns_max
            && self.usage.responses >= max
        {
            self.end_with_fault(failure::turn_limit_fault(max));
            return None;
        }
        let called = items::build_call_activity(item)?;
        self.calls.mark_started(&item.id);
        self.approvals.remember_call(item);
        Some(called)
    }

    fn handle_item_completed(&mut self, item: &CodexItem<'_>, own: bool) -> Vec<Activity> {
        if item.kind == "agentMessage" && own {
            let text = shorten_middle(item.text.as_deref().unwrap_or_default());
            self.said = Some(text.clone());
            return vec![Activity::Said { text }];
        }
        let known = self.calls.mark_returned(&item.id);
        self.approvals.forget_call(item);
        let called = if known { None } else { items::build_call_activity(item) };
        called.into_iter().chain(items::build_return_activity(item)).collect()
    }

    fn update_usage(&mut self, usage: &CodexTokenUsage, turn: Option<&str>) -> Option<Activity> {
        if self.turn.is_none() || turn != self.turn.as_deref() {
            self.usage.set_earlier_usage(usage);
            return None;
        }
        (self.retry, self.delay) = (None, None);
        let usage = self.usage.add_response(usage);
        (usage != Usage::default()).then_some(Activity::Used { usage })
    }

    fn handle_turn_end(&mut self, turn: &CodexTurn, at_ms: Option<u64>) {
        if self.turn.as_deref().is_some_and(|ours| ours != turn.id) {
            return;
        }
        match (turn.status.as_deref(), &turn.error) {
            (Some("completed"), None) => match self.said.take() {
                Some(said) => {
                    let denials = std::mem::take(&mut self.approvals.denials);
                    self.end = Some(AgentEnd::Finished { said, denials });
                }
                None => self.end_with_fault(failure::refusal_fault()),
            },
            (_, Some(error)) => {
                let limit = self.retry.take().filter(|retry| retry.is_limit);
                let since_ms = limit.and_then(|retry| retry.since_ms);
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
        match now.and_then(|now| failure::parse_reset_time(&error.message, now, &self.params.zone))
        {
            Some(time) => fault.with_resets_at(time),
            None => fault,
        }
    }

    fn end_with_fault(&mut self, fault: Fault) {
        self.end = Some(AgentEnd::Failed(Box::new(fault)));
    }

    /// Ends the run before Codex retries.
    fn cut_off(&mut self, fault: Fault) {
        self.end_with_fault(fault);
        self.cut = true;
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
        let max = |retry: &AnnouncedRetry| if retry.is_limit { WAIT_MAX } else { LOG_WAIT_MAX };
        self.retry.as_ref().map(|retry| max(retry).into())
    }

    fn give_up_waiting(&mut self) {
        if let Some(AnnouncedRetry { fault, is_limit, .. }) = self.retry.take() {
            self.cut_off(failure::add_requested_wait(fault, is_limit.then_some(LONG_WAIT)));
        }
    }
}

fn parse_raw<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}
