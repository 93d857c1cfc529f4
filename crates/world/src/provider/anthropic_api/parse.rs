//! Parses responses of Anthropic Messages. Does no I/O.

use serde_json::Value;

use super::super::http::{Head, Problem, Reading, Trouble};
use super::wire::{Delta, Error, ErrorBody, Event, Used};
use crate::agent::Usage;
use crate::model::Part;

/// The state of a stream.
#[derive(Debug, Default)]
pub(super) struct Reader {
    blocks: Vec<Block>,
    stop_reason: Option<String>,
    used: Option<Usage>,
    ended: bool,
}

/// The received part of a content block.
#[derive(Debug)]
enum Block {
    Text(String),
    Call { id: String, name: String, input: Value, json: String },
    Opaque(Value),
}

impl Reading for Reader {
    fn refused(head: &Head, body: &[u8]) -> Problem {
        let error = serde_json::from_slice::<ErrorBody>(body).map(|body| body.error);
        let mut problem = match error {
            Ok(error) => {
                let trouble = specific(&error).unwrap_or(Trouble::of_status(Some(head.status)));
                named(trouble, error)
            }
            Err(_) => Problem::new(
                Trouble::of_status(Some(head.status)),
                format!("status {}: {}", head.status, String::from_utf8_lossy(body)),
            ),
        };
        limits(head, &mut problem);
        problem
    }

    fn event(&mut self, data: &[u8]) -> Result<bool, Problem> {
        let event: Event<'_> = serde_json::from_slice(data)
            .map_err(|error| Problem::not_understood(&format!("an event is no JSON: {error}")))?;
        match &*event.kind {
            "content_block_delta" => self.delta(event.index, event.delta)?,
            "content_block_start" => self.begin(event.index, event.content_block)?,
            "message_start" => self.count(event.message.and_then(|message| message.usage)),
            "message_delta" => {
                self.count(event.usage);
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                self.stop_reason = reason.or(self.stop_reason.take());
            }
            "message_stop" => self.ended = true,
            "error" => return Err(mid_stream(event.error.unwrap_or_default())),
            // Pings, ends of blocks, and events that this version does not know.
            _ => {}
        }
        Ok(self.ended)
    }

    fn finish(&mut self) -> Result<Vec<Part>, Problem> {
        if !self.ended {
            return Err(Problem::ended_early());
        }
        let reason = self.stop_reason.as_deref();
        let paused = match reason {
            Some("end_turn" | "tool_use" | "stop_sequence") => false,
            Some("pause_turn") => true,
            Some("max_tokens") => return Err(stopped(Trouble::OutputLimit, "max_tokens")),
            Some("refusal") => {
                let said = self.blocks.iter().filter_map(Block::words).collect::<String>();
                return Err(stopped(Trouble::Refused, "refusal").saying(&said));
            }
            Some(reason @ "model_context_window_exceeded") => {
                return Err(stopped(Trouble::ContextTooLong, reason));
            }
            other => return Err(stopped(Trouble::Unknown, other.unwrap_or("none"))),
        };
        let mut parts = Vec::with_capacity(self.blocks.len());
        for block in self.blocks.drain(..) {
            parts.push(block.part()?);
        }
        if paused {
            parts.push(Part::paused());
        }
        Ok(parts)
    }

    fn usage(&self) -> Option<Usage> {
        self.used
    }
}

impl Reader {
    fn begin(&mut self, index: Option<usize>, block: Option<Value>) -> Result<(), Problem> {
        let (Some(index), Some(mut block)) = (index, block) else {
            return Err(Problem::not_understood("a block begins without its content"));
        };
        if index != self.blocks.len() {
            return Err(Problem::not_understood("a block is out of order"));
        }
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
        self.blocks.push(match block["type"].as_str() {
            Some("text") => Block::Text(text(&block["text"]).unwrap_or_default()),
            Some("tool_use") => {
                let (Some(id), Some(name)) = (text(&block["id"]), text(&block["name"])) else {
                    return Err(Problem::not_understood("a call has no name"));
                };
                Block::Call { id, name, input: block["input"].take(), json: String::new() }
            }
            Some(_) => Block::Opaque(block),
            None => return Err(Problem::not_understood("a block has no type")),
        });
        Ok(())
    }

    fn delta(&mut self, index: Option<usize>, delta: Option<Delta<'_>>) -> Result<(), Problem> {
        let block = index.and_then(|index| self.blocks.get_mut(index));
        let (Some(block), Some(delta)) = (block, delta) else {
            return Err(Problem::not_understood("a part belongs to no block"));
        };
        match block {
            Block::Text(text) => text.push_str(delta.text.as_ref().map_or("", |words| &words.0)),
            Block::Call { json, .. } => {
                json.push_str(delta.partial_json.as_ref().map_or("", |words| &words.0));
            }
            Block::Opaque(value) => {
                append(value, "thinking", delta.thinking.as_ref().map(|words| &*words.0));
                append(value, "signature", delta.signature.as_ref().map(|words| &*words.0));
            }
        }
        Ok(())
    }

    /// Updates the usage: each report is cumulative.
    fn count(&mut self, used: Option<Used>) {
        let Some(used) = used else { return };
        let so_far = self.used.unwrap_or_default();
        self.used = Some(Usage {
            input_tokens: used.input_tokens.unwrap_or(so_far.input_tokens),
            output_tokens: used.output_tokens.unwrap_or(so_far.output_tokens),
            cached_tokens: used.cache_read_input_tokens.unwrap_or(so_far.cached_tokens),
            cache_written_tokens: used
                .cache_creation_input_tokens
                .unwrap_or(so_far.cache_written_tokens),
            money_micros: None,
            unmeasured_calls: 0,
        });
    }
}

impl Block {
    /// Returns the text of the block.
    fn words(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Call { .. } | Self::Opaque(_) => None,
        }
    }

    fn part(self) -> Result<Part, Problem> {
        Ok(match self {
            Self::Text(text) => Part::Text { text },
            Self::Opaque(value) => Part::Opaque { value },
            Self::Call { id, name, input, json } if json.is_empty() && input.is_object() => {
                Part::Call { id, name, input }
            }
            Self::Call { id, name, json, .. } => match serde_json::from_str(&json) {
                Ok(input @ Value::Object(_)) => Part::Call { id, name, input },
                _ => return Err(Problem::bad_arguments()),
            },
        })
    }
}

fn append(block: &mut Value, field: &str, more: Option<&str>) {
    let Some(more) = more else { return };
    match block.get_mut(field) {
        Some(Value::String(text)) => text.push_str(more),
        _ => block[field] = more.into(),
    }
}

fn stopped(trouble: Trouble, reason: &str) -> Problem {
    let mut problem = Problem::new(trouble, format!("the model stopped: {reason}"));
    problem.error_type = Some(reason.to_owned());
    problem
}

fn named(trouble: Trouble, error: Error) -> Problem {
    let mut problem = Problem::new(trouble, format!("{}: {}", error.kind, error.message));
    problem.error_type = Some(error.kind);
    problem
}

/// Returns the trouble of an error type that says more than the status does.
fn specific(error: &Error) -> Option<Trouble> {
    match error.kind.as_str() {
        "billing_error" => Some(Trouble::Quota),
        "overloaded_error" => Some(Trouble::Overloaded),
        "request_too_large" => Some(Trouble::ContextTooLong),
        "invalid_request_error" => untyped(&error.message),
        _ => None,
    }
}

/// Recognizes two errors without a type of their own, which only the beginning of the service's
/// message identifies (`docs/adr/0010-two-errors-without-a-type.md`).
fn untyped(message: &str) -> Option<Trouble> {
    const BEGINNINGS: &[(&str, Trouble)] = &[
        ("prompt is too long", Trouble::ContextTooLong),
        ("input length and `max_tokens` exceed context limit", Trouble::ContextTooLong),
        ("Your credit balance is too low", Trouble::Quota),
    ];
    let known = BEGINNINGS.iter().find(|(beginning, _)| message.starts_with(beginning));
    known.map(|(_, trouble)| *trouble)
}

/// Classifies an error inside a stream, where there is no status any more.
fn mid_stream(error: Error) -> Problem {
    let trouble = specific(&error).unwrap_or(match error.kind.as_str() {
        "authentication_error" | "permission_error" => Trouble::Credentials,
        "not_found_error" => Trouble::NotThere,
        "rate_limit_error" => Trouble::RateLimit,
        "api_error" | "timeout_error" => Trouble::Service,
        "invalid_request_error" => Trouble::Rejected,
        _ => Trouble::Unknown,
    });
    named(trouble, error)
}

/// Reads the headers about a limit: a plan's window, or the kind of tokens that are used up.
fn limits(head: &Head, problem: &mut Problem) {
    problem.retry_after = head.retry_after();
    problem.resets_at = head.retry_at();
    if problem.trouble != Trouble::RateLimit {
        return;
    }
    if head.get("anthropic-ratelimit-unified-status") == Some("rejected") {
        problem.trouble = Trouble::UsageLimit;
        let claim = head.get("anthropic-ratelimit-unified-representative-claim");
        problem.limited = claim.map(ToOwned::to_owned);
        let reset = head.epoch_seconds("anthropic-ratelimit-unified-reset");
        problem.resets_at = reset.or(problem.resets_at);
        return;
    }
    let used_up = ["requests", "input-tokens", "output-tokens", "tokens"]
        .into_iter()
        .find(|kind| head.get(&format!("anthropic-ratelimit-{kind}-remaining")) == Some("0"));
    problem.limited = used_up.map(ToOwned::to_owned);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(status: u16, body: &[u8], headers: &[(&'static str, &'static str)]) -> Problem {
        let headers = headers.iter().map(|(name, value)| {
            let name = reqwest::header::HeaderName::from_static(name);
            (name, reqwest::header::HeaderValue::from_static(value))
        });
        Reader::refused(&Head::new(status, headers.collect()), body)
    }

    // B3: text has a meaning in one place only, and there only at the beginning.
    #[test]
    fn words_of_an_error_do_not_decide() {
        let cases = [
            (400, "invalid_request_error", "prompt is too long: 9 > 8", Trouble::ContextTooLong),
            (400, "invalid_request_error", "your text says: prompt is too long", Trouble::Rejected),
            (400, "invalid_request_error", "429 rate limit overloaded 401", Trouble::Rejected),
            (400, "invalid_request_error", "Your credit balance is too low", Trouble::Quota),
            (500, "api_error", "prompt is too long", Trouble::Service),
            (500, "api_error", "rate limit exceeded, 401, timeout", Trouble::Service),
            (400, "billing_error", "", Trouble::Quota),
            (500, "overloaded_error", "", Trouble::Overloaded),
            (401, "something_new", "overloaded", Trouble::Credentials),
        ];
        for (status, kind, message, trouble) in cases {
            let body = json!({"type": "error", "error": {"type": kind, "message": message}});
            let problem = refused(status, body.to_string().as_bytes(), &[]);
            assert_eq!(problem.trouble, trouble, "{status} {kind} {message}");
        }
    }

    #[test]
    fn a_body_that_is_no_error_leaves_the_status() {
        for body in [&b""[..], b"<html>429</html>", b"{}", b"[1]", b"\xff", b"{\"error\": \"x\"}"] {
            assert_eq!(refused(503, body, &[]).trouble, Trouble::Service);
        }
    }

    #[test]
    fn headers_say_what_is_limited() {
        let limited = |headers| {
            let problem = refused(429, b"", headers);
            (problem.trouble, problem.limited)
        };
        let tokens = [
            ("anthropic-ratelimit-requests-remaining", "3"),
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
        ];
        assert_eq!(limited(&tokens), (Trouble::RateLimit, Some("input-tokens".to_owned())));
        let window = [
            ("anthropic-ratelimit-unified-status", "rejected"),
            ("anthropic-ratelimit-unified-representative-claim", "seven_day"),
        ];
        assert_eq!(limited(&window), (Trouble::UsageLimit, Some("seven_day".to_owned())));
        // The window has room left: it is the limit per minute that is reached.
        let allowed = [("anthropic-ratelimit-unified-status", "allowed")];
        assert_eq!(limited(&allowed), (Trouble::RateLimit, None));
        // A window only matters for limits.
        assert_eq!(refused(500, b"", &window).trouble, Trouble::Service);
    }
}
