//! A session with `codex app-server`: requests, activities, and the end of the turn. Does no I/O.
//!
//! No prose is interpreted: a code comes from fields alone.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use unstuck_core::attempt::ToolKind;
use unstuck_core::fault::{Code, Fault};
use unstuck_core::time::{Span, Time};

use super::requests::{number, written};
use super::wire::{
    Answer, Item, Message, Outcome, Params, RateLimits, ThreadResult, TokenUsage, Tokens, Turn,
    TurnError, TurnResult,
};
use super::{Access, failure, items, requests, reset};
use crate::agent::{Activity, Denial, End, Usage};
use crate::provider::program::{Calls, Conversation, Heard, clip, less, shown};

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

/// The parameters of a session.
#[derive(Clone, Debug)]
pub struct Order {
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
    pub access: Access,
    /// Exact commands that are allowed in addition to the permissions.
    pub allowed_commands: BTreeSet<String>,
    /// The operator's time zone, in which Codex reports times.
    pub zone: TimeZone,
}

/// A session with Codex.
#[derive(Debug)]
pub struct Session {
    order: Order,
    thread: Option<String>,
    turn: Option<String>,
    calls: Calls,
    /// The commands or files of the calls that have not returned.
    about: HashMap<String, String>,
    said: Option<String>,
    denials: Vec<Denial>,
    limits: RateLimits,
    /// The usage of the conversation before this turn.
    before: Option<Usage>,
    used: Usage,
    answers: u32,
    waiting: Option<Waiting>,
    /// The announced delay from the log, if the error has not arrived yet.
    delay: Option<Span>,
    end: Option<End>,
    /// `true` if Codex would continue by itself, although the run is over.
    cut: bool,
}

/// A rate limit that Codex waits out, for as long as the service asked, before its single retry.
#[derive(Debug)]
struct Waiting {
    fault: Fault,
    since_ms: Option<u64>,
}

impl Session {
    /// Creates a session before its first message.
    pub fn new(order: Order) -> Self {
        Self {
            order,
            thread: None,
            turn: None,
            calls: Calls::default(),
            about: HashMap::new(),
            said: None,
            denials: Vec::new(),
            limits: RateLimits::default(),
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
    pub fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    /// Returns the end of the turn, once it has ended.
    pub const fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Returns the usage of the turn so far.
    pub const fn usage(&self) -> Usage {
        self.used
    }

    /// Returns the first message.
    pub fn first(&self) -> Vec<u8> {
        requests::initialize()
    }

    /// Handles a line: adds its activities to `activities` and the responses to `reply`. A line
    /// that cannot be parsed is ignored.
    pub fn line(
        &mut self,
        line: &[u8],
        activities: &mut impl Extend<Activity>,
        reply: &mut Vec<u8>,
    ) {
        let Ok(message) = serde_json::from_slice::<Message<'_>>(line) else { return };
        if self.end.is_some() {
            return;
        }
        match (&message.method, message.id) {
            (Some(method), Some(id)) => {
                let params = message.params.and_then(read::<Params<'_>>);
                let outcome = self.decide(method, params);
                reply.extend(written(&Answer { id, outcome }));
            }
            (Some(method), None) => {
                let at_ms = message.emitted_at_ms;
                self.notice(method, message.params, at_ms, activities);
            }
            (None, Some(id)) => activities.extend(self.answered(id, &message, reply)),
            (None, None) => {}
        }
    }

    /// Handles a line of the log. Only the log states how long the service asked to wait; the error
    /// does not. The two arrive in any order.
    pub fn logged(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let Some(delay) = failure::delay_in(&line) else { return };
        // A subagent has turns of its own.
        let own = self.turn.as_deref().is_none_or(|turn| line.contains(turn));
        if own && self.end.is_none() {
            self.delay = Some(delay);
            self.look_whether_asked();
        }
    }

    /// Ends the run if the service asked for a wait: the engine waits instead, which sees all tasks
    /// of the account and can be paused meanwhile.
    fn look_whether_asked(&mut self) {
        let Some(delay) = self.delay.filter(|delay| failure::is_asked(*delay)) else { return };
        if let Some(Waiting { fault, .. }) = self.waiting.take() {
            self.fail(failure::after_waiting(fault, Some(delay)));
            self.cut = true;
        }
    }

    /// Sends the next request after the response to the previous one.
    fn answered(
        &mut self,
        id: &RawValue,
        message: &Message<'_>,
        reply: &mut Vec<u8>,
    ) -> Option<Activity> {
        let number = id.get().parse::<u64>().ok()?;
        match (number, message.result, &message.error) {
            (number::INITIALIZE, Some(_), _) => {
                reply.extend(requests::initialized());
                reply.extend(self.order.open_thread(number::THREAD, self.order.thread.as_deref()));
                None
            }
            // An unknown conversation is replaced by a new one, once; its different id shows that.
            (number::THREAD, None, Some(_)) if self.order.thread.is_some() => {
                reply.extend(self.order.open_thread(number::THREAD_ANEW, None));
                None
            }
            (number::THREAD | number::THREAD_ANEW, Some(result), _) => {
                let thread = owned::<ThreadResult>(result)?.thread.id;
                reply.extend(self.order.start_turn(&thread));
                self.thread = Some(thread.clone());
                Some(Activity::Began { thread })
            }
            (number::TURN, Some(result), _) => {
                self.turn = Some(owned::<TurnResult>(result)?.turn.id);
                None
            }
            (_, None, Some(error)) => {
                self.fail(failure::not_accepted(&error.message));
                None
            }
            _ => None,
        }
    }

    fn notice(
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
        let params = params.filter(|_| looked_at).and_then(read::<Params<'_>>);
        let Some(params) = params else { return };
        // A subagent has a conversation of its own: its actions are reported, its text and its end
        // are not.
        let own = params.thread_id.as_deref() == self.thread.as_deref();
        match (method, &params) {
            ("item/started", Params { item: Some(item), .. }) => {
                activities.extend(self.began(item));
            }
            ("item/completed", Params { item: Some(item), .. }) => {
                activities.extend(self.completed(item, own));
            }
            ("turn/started", _) if own => activities.extend([Activity::Thinking]),
            ("turn/completed", Params { turn: Some(turn), .. }) if own => {
                self.turn_ended(turn, at_ms);
            }
            ("thread/tokenUsage/updated", Params { token_usage: Some(usage), .. }) if own => {
                activities.extend(self.used(usage, params.turn_id.as_deref()));
            }
            ("account/rateLimits/updated", _) => {
                self.limits = params.rate_limits.unwrap_or_default();
            }
            ("error", Params { error: Some(error), will_retry: Some(true), .. }) if own => {
                self.would_retry(error, at_ms);
            }
            _ => {}
        }
    }

    /// Handles the announcement of a retry, which Codex repeats forever if no service answers.
    /// Backoff and retry are for the engine; Codex may only wait out a limit once, unless its log
    /// states how long the service asked for.
    fn would_retry(&mut self, error: &TurnError, at_ms: Option<u64>) {
        let fault = failure::fault(error, &self.limits);
        if failure::is_limit(error) {
            self.waiting = Some(Waiting { fault, since_ms: at_ms });
            self.look_whether_asked();
        } else {
            self.fail(fault);
            self.cut = true;
        }
    }

    fn began(&mut self, item: &Item<'_>) -> Option<Activity> {
        match self.order.turns_max {
            Some(max) if self.answers >= max => {
                self.fail(failure::too_many_turns(max));
                return None;
            }
            _ => {}
        }
        let called = items::called(item)?;
        self.calls.began(&item.id);
        if self.about.len() < WAITING_MAX {
            self.about.insert(item.id.to_string(), clip(&items::what(item), WHAT_BYTES_MAX));
        }
        Some(called)
    }

    fn completed(&mut self, item: &Item<'_>, own: bool) -> Vec<Activity> {
        if item.kind == "agentMessage" && own {
            let text = shown(item.text.as_deref().unwrap_or_default());
            self.said = Some(text.clone());
            return vec![Activity::Said { text }];
        }
        let known = self.calls.returned(&item.id);
        self.about.remove(&*item.id);
        let called = if known { None } else { items::called(item) };
        called.into_iter().chain(items::returned(item)).collect()
    }

    /// Updates the usage. Codex reports sums over the whole conversation, so the usage before this
    /// turn is subtracted.
    fn used(&mut self, usage: &TokenUsage, turn: Option<&str>) -> Option<Activity> {
        let total = tokens(usage.total);
        if self.turn.is_none() || turn != self.turn.as_deref() {
            // Reported again when a conversation is resumed.
            self.before = Some(total);
            return None;
        }
        self.answers = self.answers.saturating_add(1);
        (self.waiting, self.delay) = (None, None);
        let before = *self.before.get_or_insert_with(|| less(total, tokens(usage.last)));
        let used = less(total, before);
        let since = less(used, self.used);
        self.used = used;
        (since != Usage::default()).then_some(Activity::Used { usage: since })
    }

    fn turn_ended(&mut self, turn: &Turn<'_>, at_ms: Option<u64>) {
        if self.turn.as_deref().is_some_and(|ours| ours != turn.id) {
            return;
        }
        match (turn.status.as_deref(), &turn.error) {
            (Some("completed"), None) => match self.said.take() {
                Some(said) => {
                    let denials = std::mem::take(&mut self.denials);
                    self.end = Some(End::Finished { said, denials });
                }
                None => self.fail(failure::refused()),
            },
            (_, Some(error)) => {
                let since_ms = self.waiting.take().and_then(|waiting| waiting.since_ms);
                let waited = since_ms.zip(at_ms).map(|(since, now)| now.saturating_sub(since));
                let fault = self.with_reset(failure::fault(error, &self.limits), error, at_ms);
                self.fail(failure::after_waiting(fault, waited.map(Span::from_millis)));
            }
            (_, None) => self.fail(failure::broken_off()),
        }
    }

    /// Adds the reset time of a window if only the error's message states it.
    fn with_reset(&self, fault: Fault, error: &TurnError, at_ms: Option<u64>) -> Fault {
        if fault.code() != Code::ProviderUsageLimit || fault.resets_at.is_some() {
            return fault;
        }
        let now = at_ms.map(Time::from_millis);
        match now.and_then(|now| reset::said_in(&error.message, now, &self.order.zone)) {
            Some(time) => fault.resets_at(time),
            None => fault,
        }
    }

    fn fail(&mut self, fault: Fault) {
        self.end = Some(End::Failed(Box::new(fault)));
    }

    /// Decides about a request for approval. No person is present to approve it, so it is declined
    /// and reported as a denial at the end, unless the command was allowed in advance.
    fn decide(&mut self, method: &str, params: Option<Params<'_>>) -> Outcome {
        let what = self.asked(params);
        let allowed = what.as_ref().is_some_and(|what| self.order.allowed_commands.contains(what));
        if method == APPROVE_COMMAND && allowed {
            return Outcome::Result(json!({ "decision": "accept" }));
        }
        let (tool, declined) = match method {
            APPROVE_COMMAND => (ToolKind::Command, json!({ "decision": "decline" })),
            "item/fileChange/requestApproval" => (ToolKind::Edit, json!({ "decision": "decline" })),
            "item/permissions/requestApproval" => (ToolKind::Other, json!({ "permissions": {} })),
            "mcpServer/elicitation/request" => (ToolKind::Other, json!({ "action": "decline" })),
            _ => return Outcome::Error { code: METHOD_NOT_FOUND, message: "not offered" },
        };
        if self.denials.len() < DENIALS_MAX {
            let what = what.unwrap_or_else(|| method.to_owned());
            self.denials.push(Denial { tool, what: clip(&what, WHAT_BYTES_MAX) });
        }
        Outcome::Result(declined)
    }

    fn asked(&self, params: Option<Params<'_>>) -> Option<String> {
        let params = params?;
        let item = params.item_id.and_then(|item| self.about.get(&*item)).cloned();
        let command = params.command.map(std::borrow::Cow::into_owned);
        let known = command.or(item).filter(|what| !what.is_empty());
        known.or_else(|| params.reason.map(std::borrow::Cow::into_owned))
    }
}

impl Conversation for Session {
    fn open(&mut self) -> Vec<u8> {
        self.first()
    }

    fn hear(&mut self, line: &[u8], heard: &mut Heard) {
        self.line(line, &mut heard.activities, &mut heard.reply);
    }

    fn hear_aside(&mut self, line: &[u8]) {
        self.logged(line);
    }

    fn tells_more(&self) -> bool {
        self.end.is_none()
    }

    fn tool_runs(&self) -> bool {
        self.calls.any()
    }

    fn over(&self) -> bool {
        self.end.is_some()
    }

    fn linger(&self) -> Duration {
        if self.cut { Duration::ZERO } else { LINGER }
    }

    fn waits(&self) -> Option<Duration> {
        self.waiting.as_ref().map(|_| WAIT_MAX.into())
    }

    fn waited(&mut self) {
        if let Some(Waiting { fault, .. }) = self.waiting.take() {
            self.fail(failure::after_waiting(fault, Some(LONG_WAIT)));
            self.cut = true;
        }
    }
}

const fn tokens(tokens: Tokens) -> Usage {
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

fn read<'a, T: serde::Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

fn owned<T: DeserializeOwned>(raw: &RawValue) -> Option<T> {
    read(raw)
}
