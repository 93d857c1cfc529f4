//! Parses the output of Claude Code into activities and the end of the run. Does no I/O.
//!
//! No prose is interpreted: a code comes from fields alone, so an agent's text about a rate limit
//! has no effect. A result is only accepted in a known shape.

use std::borrow::Cow;
use std::time::Duration;

use unstuck_core::attempt::{Action, Observation, Outcome};
use unstuck_core::time::{Span, Time};

use super::failure::{self, Facts, Limits};
use super::tools;
use super::wire::{Block, Content, Line, Message, PermissionDenial, Tokens};
use crate::agent::{Activity, Denial, End, Usage};
use crate::provider::program::{Calls, Conversation, Heard, INPUT_BYTES_MAX, clip, less, shown};

/// Maximum number of reported denials: further ones repeat the same actions.
const DENIALS_MAX: usize = 100;
/// Time from the result until a program that does not end by itself is ended.
const LINGER: Duration = Duration::from_secs(2);
/// Time from the announcement of a retry to the end of the run: lines that are written together
/// with it still count. The program waits longer than this before its retry.
const LINGER_CUT: Duration = Duration::from_millis(100);
/// Maximum number of bytes of a command in a denial.
const WHAT_BYTES_MAX: usize = 1_024;

/// The state of Claude Code's output so far.
#[derive(Debug, Default)]
pub struct Stream {
    prompt: Vec<u8>,
    limits: Limits,
    thread: Option<String>,
    calls: Calls,
    /// The id of the last message whose usage was counted.
    message: Option<String>,
    /// The usage reported so far.
    used: Usage,
    facts: Facts,
    end: Option<End>,
    /// The status for which the program would retry by itself, and its delay; set once the run is
    /// cut short.
    cut: Option<(Option<u16>, Option<Span>)>,
    unknown_thread: bool,
}

impl Stream {
    /// Creates a stream for a run that gets `prompt` as its input and runs under these limits.
    pub(super) fn telling(prompt: &str, limits: Limits) -> Self {
        Self { prompt: prompt.as_bytes().to_vec(), limits, ..Self::default() }
    }

    /// Returns the id of the conversation, once it is known.
    pub fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    /// Returns the end of the run, once it is reported.
    pub const fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Returns whether the conversation to resume is unknown, so that no work was done.
    pub const fn unknown_thread(&self) -> bool {
        self.unknown_thread
    }

    /// Returns the usage, as far as it is known.
    pub const fn usage(&self) -> Usage {
        self.used
    }

    /// Handles a line and adds its activities to `activities`. A line that cannot be parsed is
    /// ignored.
    pub fn line(&mut self, line: &[u8], activities: &mut impl Extend<Activity>) {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return };
        if self.cut.is_some() {
            // The window of the account that is used up may be reported after the announcement.
            if line.kind == "rate_limit_event" {
                self.rate_limit(&line);
                self.cut_short();
            }
            return;
        }
        match (&*line.kind, line.subtype.as_deref()) {
            ("system", Some("init")) => activities.extend(self.init(line.session_id)),
            ("system", Some("api_retry")) => self.would_retry(line),
            ("assistant", _) => self.assistant(line, activities),
            ("user", _) => activities.extend(self.returns(line.message)),
            ("rate_limit_event", _) => self.rate_limit(&line),
            ("result", _) => activities.extend(self.result(&line)),
            _ => {}
        }
    }

    /// Handles the announcement of a retry. The time of a retry is decided for the whole account,
    /// so the run ends here, with the service's response and the time at which it may be called
    /// again.
    fn would_retry(&mut self, line: Line<'_>) {
        let delay = line.retry_delay_ms.and_then(whole).map(Span::from_millis);
        self.facts.error = line.error.map(Cow::into_owned);
        self.cut = Some((line.error_status, delay));
        self.cut_short();
    }

    fn cut_short(&mut self) {
        let fault = self.cut.map(|(status, delay)| self.facts.retried(status, delay));
        self.end = fault.map(|fault| End::Failed(Box::new(fault)));
    }

    fn init(&mut self, thread: Option<Cow<'_, str>>) -> Option<Activity> {
        let thread = thread?.into_owned();
        self.thread = Some(thread.clone());
        Some(Activity::Began { thread })
    }

    fn assistant(&mut self, line: Line<'_>, activities: &mut impl Extend<Activity>) {
        if line.error.is_some() {
            // The message comes from the program and not from the model: it describes a failure.
            self.facts.error = line.error.map(Cow::into_owned);
            self.facts.request = line.request_id.map(Cow::into_owned);
            return;
        }
        self.facts.error = None;
        let Some(message) = line.message else { return };
        let own = line.parent_tool_use_id.is_none();
        activities.extend(self.paid(&message, own));
        if let Some(Content::Blocks(blocks)) = message.content {
            activities.extend(blocks.into_iter().filter_map(|block| self.block(block, own)));
        }
    }

    /// Counts the usage of a message once: it arrives in several lines, one for each block. The
    /// number of output tokens is only known at the end, and the difference is reported there.
    fn paid(&mut self, message: &Message<'_>, own: bool) -> impl Iterator<Item = Activity> + use<> {
        let new = message.id.is_some() && message.id.as_deref() != self.message.as_deref();
        let usage = message.usage.filter(|_| new).map(usage);
        if new {
            self.message = message.id.as_deref().map(str::to_owned);
        }
        self.used = self.used.plus(usage.unwrap_or_default());
        let thinking = (new && own).then_some(Activity::Thinking);
        thinking.into_iter().chain(usage.map(|usage| Activity::Used { usage }))
    }

    fn block(&mut self, block: Block<'_>, own: bool) -> Option<Activity> {
        match &*block.kind {
            "text" if own => Some(Activity::Said { text: shown(&block.text?) }),
            "tool_use" => {
                let call = block.id?.into_owned();
                let name = block.name?.into_owned();
                self.calls.began(&call);
                let input = clip(block.input.map_or("{}", |input| input.get()), INPUT_BYTES_MAX);
                Some(Activity::Called { call, tool: tools::kind(&name), name, input })
            }
            _ => None,
        }
    }

    fn returns(&mut self, message: Option<Message<'_>>) -> Vec<Activity> {
        let Some(Content::Blocks(blocks)) = message.and_then(|message| message.content) else {
            return Vec::new();
        };
        blocks.into_iter().filter_map(|block| self.returned(block)).collect()
    }

    fn returned(&mut self, block: Block<'_>) -> Option<Activity> {
        if block.kind != "tool_result" {
            return None;
        }
        let call = block.tool_use_id?.into_owned();
        self.calls.returned(&call);
        let failed = block.is_error.unwrap_or(false);
        let outcome = if failed { Outcome::Failed } else { Outcome::Succeeded };
        let output = block.content.map(|content| shown(&content.text())).unwrap_or_default();
        Some(Activity::Returned { call, outcome, output })
    }

    fn rate_limit(&mut self, line: &Line<'_>) {
        let Some(info) = &line.rate_limit_info else { return };
        self.facts.window = (info.status.as_deref() == Some("rejected")).then(|| {
            let name = info.rate_limit_type.as_deref().map(str::to_owned);
            (name, info.resets_at.and_then(from_seconds))
        });
    }

    fn result(&mut self, line: &Line<'_>) -> Option<Activity> {
        self.unknown_thread = self.limits.resumes && failure::began_nothing(line);
        if self.thread.is_none() && !self.unknown_thread {
            self.thread = line.session_id.as_deref().map(str::to_owned);
        }
        self.end = Some(match self.facts.failure(line, self.limits) {
            Some(fault) => End::Failed(Box::new(fault)),
            None => End::Finished {
                said: shown(line.result.as_deref().unwrap_or_default()),
                denials: line.permission_denials.iter().take(DENIALS_MAX).map(denial).collect(),
            },
        });
        self.total(line)
    }

    /// Reads the total usage from the result, and returns the part that was not reported yet.
    fn total(&mut self, line: &Line<'_>) -> Option<Activity> {
        let by_model = line.model_usage.iter().flat_map(|models| models.values());
        let by_model = by_model.copied().map(usage).reduce(Usage::plus);
        let total = by_model.or(line.usage.map(usage))?;
        let rest =
            Usage { money_micros: line.total_cost_usd.and_then(micros), ..less(total, self.used) };
        self.used = Usage { money_micros: rest.money_micros, ..self.used.plus(rest) };
        let anything = rest.tokens() > 0 || rest.money_micros.is_some_and(|money| money > 0);
        anything.then_some(Activity::Used { usage: rest })
    }
}

impl Conversation for Stream {
    fn open(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.prompt)
    }

    fn hear(&mut self, line: &[u8], heard: &mut Heard) {
        self.line(line, &mut heard.activities);
    }

    fn tells_more(&self) -> bool {
        false
    }

    fn tool_runs(&self) -> bool {
        self.calls.any()
    }

    fn over(&self) -> bool {
        self.end.is_some()
    }

    fn linger(&self) -> Duration {
        if self.cut.is_some() { LINGER_CUT } else { LINGER }
    }
}

fn denial(denial: &PermissionDenial<'_>) -> Denial {
    let tool = tools::kind(&denial.tool_name);
    let input = clip(denial.tool_input.map_or("{}", |input| input.get()), INPUT_BYTES_MAX);
    let observation = Observation::of(Outcome::Failed, "", "");
    let action = Action { tool, input, observation };
    let what = action.command().or_else(|| action.path(""));
    Denial {
        tool,
        what: clip(&what.unwrap_or_else(|| denial.tool_name.to_string()), WHAT_BYTES_MAX),
    }
}

const fn usage(tokens: Tokens) -> Usage {
    Usage {
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cached_tokens: tokens.cached,
        cache_written_tokens: tokens.cache_written,
        money_micros: None,
        unmeasured_calls: 0,
    }
}

/// Converts a finite amount that is not negative to millionths.
fn micros(amount: f64) -> Option<u64> {
    whole(amount * 1e6)
}

fn from_seconds(seconds: f64) -> Option<Time> {
    whole(seconds * 1e3).map(Time::from_millis)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range was looked at, and a cast of a float saturates"
)]
fn whole(number: f64) -> Option<u64> {
    (number.is_finite() && number >= 0.0).then(|| number.round() as u64)
}
