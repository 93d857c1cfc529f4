//! Parses the output of Claude Code into activities and the end of the run. Does no I/O.
//!
//! No prose is interpreted: a code comes from fields alone, so an agent's text about a rate limit
//! has no effect. A result is only accepted in a known shape.

use std::time::Duration;

use unstuck_core::attempt::{ActionOutcome, AgentAction, Observation, ToolKind};
use unstuck_core::time::{Span, Time};

use super::failure::{self, ClaudeFacts, ClaudeLimits};
use super::wire::{
    ClaudeBlock, ClaudeContent, ClaudeLine, ClaudeMessage, ClaudeTokens, PermissionDenial,
};
use crate::agent::{Activity, AgentEnd, Denial, Usage};
use crate::mcp;
use crate::provider::program::{
    DENIALS_MAX, INPUT_BYTES_MAX, LineEffects, ProgramDialog, RunningCalls, clip_denial, clip_text,
    shorten_middle, subtract_usage,
};

/// Time from the result until a program that does not end by itself is ended.
const LINGER: Duration = Duration::from_secs(2);
/// Time from the announcement of a retry to the end of the run: lines that are written together
/// with it still count. The program waits longer than this before its retry.
const LINGER_CUT: Duration = Duration::from_millis(100);

/// The state of Claude Code's output so far.
#[derive(Debug, Default)]
pub struct ClaudeStream {
    prompt: Vec<u8>,
    limits: ClaudeLimits,
    thread: Option<String>,
    calls: RunningCalls,
    /// The id of the last message whose usage was counted.
    message: Option<String>,
    /// The usage reported so far.
    used: Usage,
    facts: ClaudeFacts,
    end: Option<AgentEnd>,
    /// The status for which the program would retry by itself, and its delay; set once the run is
    /// cut short.
    cut: Option<(Option<u16>, Option<Span>)>,
    unknown_thread: bool,
}

impl ClaudeStream {
    /// Creates a stream for a run that gets `prompt` as its input and runs under these limits.
    pub(super) fn with_prompt(prompt: &str, limits: ClaudeLimits) -> Self {
        Self { prompt: prompt.as_bytes().to_vec(), limits, ..Self::default() }
    }

    /// Returns the id of the conversation, once it is known.
    pub fn thread_id(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    /// Returns the end of the run, once it is reported.
    pub const fn reported_end(&self) -> Option<&AgentEnd> {
        self.end.as_ref()
    }

    /// Returns whether the conversation to resume is unknown, so that no work was done.
    pub const fn is_thread_unknown(&self) -> bool {
        self.unknown_thread
    }

    /// Returns the usage, as far as it is known.
    pub const fn convert_tokens(&self) -> Usage {
        self.used
    }

    /// Handles a line and adds its activities to `activities`. A line that cannot be parsed is
    /// ignored.
    pub fn handle_line(&mut self, line: &[u8], activities: &mut impl Extend<Activity>) {
        let Ok(line) = serde_json::from_slice::<ClaudeLine<'_>>(line) else { return };
        if self.cut.is_some() {
            // The window of the account that is used up may be reported after the announcement.
            if line.kind == "rate_limit_event" {
                self.handle_rate_limit(&line);
                self.cut_short();
            }
            return;
        }
        match (&*line.kind, line.subtype.as_deref()) {
            ("system", Some("init")) => activities.extend(self.handle_init(line.session_id)),
            ("system", Some("api_retry")) => self.handle_retry(line),
            ("assistant", _) => self.handle_assistant(line, activities),
            ("user", _) => activities.extend(self.handle_tool_results(line.message)),
            ("rate_limit_event", _) => self.handle_rate_limit(&line),
            ("result", _) => activities.extend(self.handle_result(&line)),
            _ => {}
        }
    }

    /// Handles the announcement of a retry. The time of a retry is decided for the whole account,
    /// so the run ends here, with the service's response and the time at which it may be called
    /// again.
    fn handle_retry(&mut self, line: ClaudeLine<'_>) {
        let delay = line.retry_delay_ms.and_then(round_to_integer).map(Span::from_millis);
        self.facts.error = line.error;
        self.cut = Some((line.error_status, delay));
        self.cut_short();
    }

    fn cut_short(&mut self) {
        let fault = self.cut.map(|(status, delay)| self.facts.retry_fault(status, delay));
        self.end = fault.map(|fault| AgentEnd::Failed(Box::new(fault)));
    }

    fn handle_init(&mut self, thread: Option<String>) -> Option<Activity> {
        let thread = thread?;
        self.thread = Some(thread.clone());
        Some(Activity::Began { thread })
    }

    fn handle_assistant(&mut self, line: ClaudeLine<'_>, activities: &mut impl Extend<Activity>) {
        if line.error.is_some() {
            // The message comes from the program and not from the model: it describes a failure.
            self.facts.error = line.error;
            self.facts.request = line.request_id;
            return;
        }
        self.facts.error = None;
        let Some(message) = line.message else { return };
        let own = line.parent_tool_use_id.is_none();
        activities.extend(self.count_usage(&message, own));
        if let Some(ClaudeContent::Blocks(blocks)) = message.content {
            activities.extend(blocks.into_iter().filter_map(|block| self.handle_block(block, own)));
        }
    }

    /// Counts the usage of a message once: it arrives in several lines, one for each block. The
    /// number of output tokens is only known at the end, and the difference is reported there.
    fn count_usage(
        &mut self,
        message: &ClaudeMessage<'_>,
        own: bool,
    ) -> impl Iterator<Item = Activity> + use<> {
        let new = message.id.is_some() && message.id != self.message;
        let usage = message.usage.filter(|_| new).map(usage);
        if new {
            self.message.clone_from(&message.id);
        }
        self.used = self.used.plus(usage.unwrap_or_default());
        let thinking = (new && own).then_some(Activity::Thinking);
        thinking.into_iter().chain(usage.map(|usage| Activity::Used { usage }))
    }

    fn handle_block(&mut self, block: ClaudeBlock<'_>, own: bool) -> Option<Activity> {
        match &*block.kind {
            "text" if own => Some(Activity::Said { text: shorten_middle(&block.text?) }),
            "tool_use" => {
                let call = block.id?;
                let name = block.name?;
                self.calls.mark_started(&call);
                let input =
                    clip_text(block.input.map_or("{}", |input| input.get()), INPUT_BYTES_MAX);
                Some(Activity::Called { call, tool: tool_kind(&name), name, input })
            }
            _ => None,
        }
    }

    fn handle_tool_results(&mut self, message: Option<ClaudeMessage<'_>>) -> Vec<Activity> {
        let Some(ClaudeContent::Blocks(blocks)) = message.and_then(|message| message.content)
        else {
            return Vec::new();
        };
        blocks.into_iter().filter_map(|block| self.handle_tool_result(block)).collect()
    }

    fn handle_tool_result(&mut self, block: ClaudeBlock<'_>) -> Option<Activity> {
        if block.kind != "tool_result" {
            return None;
        }
        let call = block.tool_use_id?;
        self.calls.mark_returned(&call);
        let failed = block.is_error.unwrap_or(false);
        let outcome = if failed { ActionOutcome::Failed } else { ActionOutcome::Succeeded };
        let output =
            block.content.map(|content| shorten_middle(&content.to_text())).unwrap_or_default();
        Some(Activity::Returned { call, outcome, output })
    }

    fn handle_rate_limit(&mut self, line: &ClaudeLine<'_>) {
        let Some(info) = &line.rate_limit_info else { return };
        self.facts.window = (info.status.as_deref() == Some("rejected"))
            .then(|| (info.rate_limit_type.clone(), info.resets_at.and_then(time_from_seconds)));
    }

    fn handle_result(&mut self, line: &ClaudeLine<'_>) -> Option<Activity> {
        self.unknown_thread = self.limits.resumes && failure::has_begun_nothing(line);
        if self.thread.is_none() && !self.unknown_thread {
            self.thread.clone_from(&line.session_id);
        }
        self.end = Some(match self.facts.result_fault(line, self.limits) {
            Some(fault) => AgentEnd::Failed(Box::new(fault)),
            None => AgentEnd::Finished {
                said: shorten_middle(line.result.as_deref().unwrap_or_default()),
                denials: line
                    .permission_denials
                    .iter()
                    .take(DENIALS_MAX)
                    .map(build_denial)
                    .collect(),
            },
        });
        self.count_total_usage(line)
    }

    /// Reads the total usage from the result, and returns the part that was not reported yet.
    fn count_total_usage(&mut self, line: &ClaudeLine<'_>) -> Option<Activity> {
        let by_model = line.model_usage.iter().flat_map(|models| models.values());
        let by_model = by_model.copied().map(usage).reduce(Usage::plus);
        let total = by_model.or(line.usage.map(usage))?;
        let rest = Usage {
            money_micros: line.total_cost_usd.and_then(|dollars| round_to_integer(dollars * 1e6)),
            ..subtract_usage(total, self.used)
        };
        self.used = Usage { money_micros: rest.money_micros, ..self.used.plus(rest) };
        let anything = rest.total_tokens() > 0 || rest.money_micros.is_some_and(|money| money > 0);
        anything.then_some(Activity::Used { usage: rest })
    }
}

impl ProgramDialog for ClaudeStream {
    fn first_input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.prompt)
    }

    fn on_line(&mut self, line: &[u8], heard: &mut LineEffects) {
        self.handle_line(line, &mut heard.activities);
    }

    fn has_more_input(&self) -> bool {
        false
    }

    fn is_tool_running(&self) -> bool {
        self.calls.has_running()
    }

    fn is_over(&self) -> bool {
        self.end.is_some()
    }

    fn linger_time(&self) -> Duration {
        if self.cut.is_some() { LINGER_CUT } else { LINGER }
    }
}

fn build_denial(denial: &PermissionDenial<'_>) -> Denial {
    let tool = tool_kind(&denial.tool_name);
    let input = clip_text(denial.tool_input.map_or("{}", |input| input.get()), INPUT_BYTES_MAX);
    let observation = Observation::from_output(ActionOutcome::Failed, "", "");
    let action = AgentAction { tool, input, observation };
    let what = action.command_line().or_else(|| action.file_path(""));
    clip_denial(tool, &what.unwrap_or_else(|| denial.tool_name.to_string()))
}

const fn usage(tokens: ClaudeTokens) -> Usage {
    Usage {
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cached_tokens: tokens.cached,
        cache_written_tokens: tokens.cache_written,
        money_micros: None,
        unmeasured_calls: 0,
    }
}

fn time_from_seconds(seconds: f64) -> Option<Time> {
    round_to_integer(seconds * 1e3).map(Time::from_millis)
}

/// Rounds a finite number that is not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range was looked at, and a cast of a float saturates"
)]
fn round_to_integer(number: f64) -> Option<u64> {
    (number.is_finite() && number >= 0.0).then(|| number.round() as u64)
}

/// Returns the kind of a tool by its name. An unknown tool may do anything.
fn tool_kind(name: &str) -> ToolKind {
    if mcp::claude_name("narrate") == name {
        return ToolKind::Narrate;
    }
    match name {
        "Read" | "NotebookRead" | "WebFetch" => ToolKind::Read,
        "Grep" | "WebSearch" | "ToolSearch" => ToolKind::Search,
        "Glob" | "LS" | "TaskList" | "TaskGet" => ToolKind::List,
        "Write" => ToolKind::Write,
        "Edit" | "MultiEdit" | "NotebookEdit" => ToolKind::Edit,
        "Bash" => ToolKind::Command,
        "TodoWrite" | "TaskCreate" | "TaskUpdate" => ToolKind::Narrate,
        _ => ToolKind::Other,
    }
}
