//! Derives the fault of a Codex error, from typed fields alone.
//!
//! Without the rate limits of the account, which a self-hosted service does not send, only Codex's
//! message has the reset time of a plan's window: "try again at 1:35 AM." on the same day, and "try
//! again at Nov 17th, 2026 1:35 AM." on another day.

use jiff::Timestamp;
use jiff::civil::{Date, Time as Clock};
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;
use unstuck_core::fault::{
    Auth, Crash, Fault, Http, Kind, Limit, LimitKind, Permission, Provider, RateLimit,
};
use unstuck_core::text::parse_requested_wait;
use unstuck_core::time::{Span, Time};

use super::NAME;
use super::wire::{CodexLimitWindow, CodexRateLimits, CodexTurnError};
use crate::provider::http::ProblemClass;
use crate::provider::program::clip_message;

/// Maximum delay that Codex chooses by itself before its first retry.
const OWN_DELAY_MAX: Span = Span::from_millis(700);
/// Codex's own words for `serverOverloaded`. The announcement of a retry has them in place of the
/// name.
const AT_CAPACITY: &str = "Selected model is at capacity";
/// The reason of a response that was truncated at its maximum length.
const OUTPUT_LIMIT: &str = "reason: max_output_tokens";
/// Percentage of use at which a window has no room left.
const USED_UP_PERCENT: i64 = 100;

/// Returns the fault of a turn's error, with the known state of the account.
pub(super) fn turn_error_fault(error: &CodexTurnError, limits: &CodexRateLimits) -> Fault {
    let (name, http_status) = parse_error_info(&error.codex_error_info);
    let http = Http { status: http_status, error_type: Some(name.to_owned()), request_id: None };
    let rate = RateLimit { status: http_status, limited: None };
    let kind = match name {
        // The error's name is that of any broken stream; the reason is the service's own text.
        _ if error.contains_text(OUTPUT_LIMIT) => Kind::ProviderOutputLimit(http),
        "contextWindowExceeded" => Kind::ProviderContextTooLong(http),
        "usageLimitExceeded" => return usage_limit_fault(error, limits),
        "sessionBudgetExceeded" => Kind::ProviderQuota(http),
        "rateLimitExceeded" => Kind::ProviderRateLimit(rate),
        "serverOverloaded" | "flexUnavailable" | "policyCapacityUnavailable" => {
            Kind::ProviderOverloaded(rate)
        }
        "modelNotFound" => Kind::ProviderNotAvailable(codex_provider()),
        "cyberPolicy" | "misalignmentPolicyViolation" | "invalidPrompt" => {
            Kind::ProviderRefused(http)
        }
        "tooManyDenials" => Kind::PermissionCommandBlocked(Permission {
            what: "too many commands".to_owned(),
            ..Permission::default()
        }),
        "unauthorized" => Kind::AuthInvalid(Auth { account: NAME.to_owned(), ..Auth::default() }),
        "badRequest" => Kind::ProviderRejected(http),
        "internalServerError" => Kind::ProviderApiError(http),
        "httpConnectionFailed"
        | "responseStreamConnectionFailed"
        | "responseStreamDisconnected"
        | "responseTooManyFailedAttempts" => {
            let class = if is_rate_limit(error) {
                ProblemClass::RateLimit
            } else if error.contains_text(AT_CAPACITY) {
                ProblemClass::Overloaded
            } else {
                ProblemClass::from_status(http_status)
            };
            class.to_fault_kind(http, None, &codex_provider(), None)
        }
        "other" => classify_unnamed(&error.message, http),
        // A name that this version does not know, or none.
        _ => Kind::ProviderCrash(Crash::default()),
    };
    let asked = if matches!(kind, Kind::ProviderRateLimit(_)) {
        let details = error.additional_details.as_deref();
        parse_requested_wait(&error.message).or_else(|| parse_requested_wait(details?))
    } else {
        None
    };
    let fault = Fault::new(kind, NAME, error_message(error));
    match asked {
        Some(wait) => fault.with_retry_after(wait),
        None => fault,
    }
}

/// Returns whether an error that Codex would retry is a limit of the service.
pub(super) fn is_rate_limit(error: &CodexTurnError) -> bool {
    let (name, status) = parse_error_info(&error.codex_error_info);
    let details = error.additional_details.as_deref().unwrap_or_default();
    // In the middle of a stream there is no status, and the text begins with the name of the error.
    name == "rateLimitExceeded" || status == Some(429) || details.starts_with("rate limit exceeded")
}

/// Returns the fault with the wait that Codex has announced or kept. A wait longer than its own
/// maximum is the one that the service asked for.
pub(super) fn add_requested_wait(fault: Fault, wait: Option<Span>) -> Fault {
    match wait.filter(|wait| is_requested_wait(*wait)) {
        Some(wait) if fault.retry_after.is_none() => fault.with_retry_after(wait),
        _ => fault,
    }
}

/// Returns whether a wait is longer than any that Codex chooses by itself.
pub(super) fn is_requested_wait(wait: Span) -> bool {
    wait > OWN_DELAY_MAX
}

/// Parses the delay before a retry from a line of the log: "retrying sampling request (1/1 in
/// 7.99s)...". A requested delay is in whole seconds, and the line shows the rest of it, so it is
/// rounded up.
pub(super) fn parse_retry_delay(line: &str) -> Option<Span> {
    let (_, rest) = line.split_once("retrying sampling request (")?;
    let (said, _) = rest.split_once(')')?;
    let (_, delay) = said.split_once(" in ")?;
    let (number, factor) = match delay.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => (delay.strip_suffix('s')?, 1_000),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if !part.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let whole = Span::from_millis(whole.parse::<u64>().ok()?.checked_mul(factor)?);
    if !is_requested_wait(whole) {
        return Some(whole);
    }
    let is_more = part.bytes().any(|digit| digit != b'0');
    let millis = whole.as_millis().saturating_add(u64::from(is_more));
    Some(Span::from_secs(millis.div_ceil(1_000)))
}

/// Returns the fault of a completed turn without text: the model declined, and Codex drops its
/// refusal.
pub(super) fn refusal_fault() -> Fault {
    Fault::provider_refused(NAME, "it ended its turn without an answer", Http::default())
}

/// Returns the fault of a turn that ended in an invalid state.
pub(super) fn broken_turn_fault() -> Fault {
    Fault::provider_crash(NAME, "it broke its turn off", Crash::default())
}

pub(super) fn rejected_request_fault(said: &str) -> Fault {
    Fault::provider_not_available(NAME, clip_message(said), codex_provider())
}

pub(super) fn turn_limit_fault(limit: u32) -> Fault {
    let message = format!("it was not done after {limit} turns");
    Fault::logic_limit(NAME, message, Limit { kind: LimitKind::Turns, limit })
}

/// Returns the name of an error, and the status that it carries.
fn parse_error_info(info: &Value) -> (&str, Option<u16>) {
    match info {
        Value::String(name) => (name, None),
        Value::Object(fields) => fields.iter().next().map_or(("", None), |(name, facts)| {
            let status = facts.get("httpStatusCode").and_then(Value::as_u64);
            (name, status.and_then(|status| u16::try_from(status).ok()))
        }),
        _ => ("", None),
    }
}

/// Classifies an error without a name in Codex. A response of the service is passed on unchanged,
/// as a JSON body; all other messages are about the connection.
fn classify_unnamed(message: &str, http: Http) -> Kind {
    #[derive(Deserialize)]
    struct CodexErrorBody {
        error: CodexErrorCode,
    }
    #[derive(Deserialize)]
    struct CodexErrorCode {
        code: Option<String>,
    }
    let code = serde_json::from_str::<CodexErrorBody>(message).map(|body| body.error.code);
    match code {
        Err(_) => Kind::ProviderApiError(http),
        Ok(Some(code)) if code == "context_length_exceeded" => Kind::ProviderContextTooLong(http),
        Ok(error_type) => Kind::ProviderRejected(Http { error_type, ..http }),
    }
}

/// Returns the fault of a usage limit. A plan's window, an account's credit and a spending cap
/// share one name; the rate limits of the account distinguish them.
fn usage_limit_fault(error: &CodexTurnError, limits: &CodexRateLimits) -> Fault {
    let reached = limits.rate_limit_reached_type.as_deref();
    let depleted = matches!(
        reached,
        Some("workspace_owner_credits_depleted" | "workspace_member_credits_depleted")
    );
    let resets = if depleted { None } else { find_reset_time(limits) };
    let no_credit =
        limits.credits.is_some_and(|credits| !credits.has_credits && !credits.unlimited);
    let capped = limits.spend_control_reached == Some(true);
    if depleted || (resets.is_none() && (no_credit || capped || is_about_money(error))) {
        return Fault::provider_quota(NAME, error_message(error), Http::default());
    }
    let rate = RateLimit { status: None, limited: reached.map(str::to_owned) };
    let fault = Fault::provider_usage_limit(NAME, error_message(error), rate);
    match resets {
        Some(time) => fault.with_resets_at(time),
        None => fault,
    }
}

/// Returns whether Codex's own message for a usage limit says that there is no credit or no plan:
/// it uses one name for those and for a window, and an account with a key reports no rate limits.
fn is_about_money(error: &CodexTurnError) -> bool {
    const WORDS: [&str; 3] = [
        "Quota exceeded",
        "To use Codex with your ChatGPT plan",
        "Your workspace is out of credits",
    ];
    WORDS.iter().any(|words| error.message.starts_with(words))
}

/// Returns the time at which there is room again: the last reset of the windows that are used up;
/// if none is reported as used up, that of the fullest one.
fn find_reset_time(limits: &CodexRateLimits) -> Option<Time> {
    let windows = [limits.primary, limits.secondary].into_iter().flatten();
    let known = |window: CodexLimitWindow| Some((window.used_percent, window.resets_at?));
    let known: Vec<(i64, u64)> = windows.filter_map(known).collect();
    let used_up = known.iter().filter(|(percent, _)| *percent >= USED_UP_PERCENT);
    let seconds = used_up
        .map(|(_, resets)| *resets)
        .max()
        .or_else(|| known.iter().max().map(|(_, resets)| *resets))
        .or_else(|| limits.individual_limit.and_then(|limit| limit.resets_at))?;
    Some(Time::from_millis(seconds.saturating_mul(1_000)))
}

fn codex_provider() -> Provider {
    Provider { name: NAME.to_owned(), model: None }
}

fn error_message(error: &CodexTurnError) -> String {
    match &error.additional_details {
        Some(details) => clip_message(&format!("{} ({details})", error.message)),
        None => clip_message(&error.message),
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Parses the time in `message`, written at `now` in the operator's time zone.
pub(super) fn parse_reset_time(message: &str, now: Time, zone: &TimeZone) -> Option<Time> {
    let (_, words) = message.rsplit_once("ry again at ")?;
    let words: Vec<&str> = words.trim_end_matches('.').split_whitespace().collect();
    let (day, clock) = words.split_last_chunk::<2>()?;
    let now = Timestamp::from_millisecond(i64::try_from(now.as_millis()).ok()?).ok()?;
    let date = match day {
        [] => now.to_zoned(zone.clone()).date(),
        [month, day, year] => parse_date(month, day, year)?,
        _ => return None,
    };
    let at = date.to_datetime(parse_clock(*clock)?).to_zoned(zone.clone()).ok()?;
    let millis = at.timestamp().as_millisecond();
    u64::try_from(millis).ok().map(Time::from_millis)
}

fn parse_date(month: &str, day: &str, year: &str) -> Option<Date> {
    let month = MONTHS.iter().position(|name| *name == month)?;
    let day = day.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
    Date::new(year.parse().ok()?, i8::try_from(month).ok()? + 1, day).ok()
}

fn parse_clock([clock, half]: [&str; 2]) -> Option<Clock> {
    let (hour, minute) = clock.split_once(':')?;
    let hour: i8 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    let after_noon = match half {
        "AM" => 0,
        "PM" => 12,
        _ => return None,
    };
    Clock::new(hour % 12 + after_noon, minute.parse().ok()?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use unstuck_core::fault::Code;

    use super::*;

    fn turn_error(info: Value) -> CodexTurnError {
        CodexTurnError { codex_error_info: info, ..CodexTurnError::default() }
    }

    #[test]
    fn the_wait_is_read_from_its_log() {
        let line = |delay: &str| {
            let said = format!("retrying sampling request (1/1 in {delay})... turn_id=7");
            parse_retry_delay(&format!("WARN codex_core: stream disconnected - {said}"))
        };
        for (delay, millis) in [
            ("86399.993879957s", Some(86_400_000)),
            ("8s", Some(8_000)),
            ("7.998s", Some(8_000)),
            ("1.000000001s", Some(2_000)),
            ("999.9ms", Some(1_000)),
            ("203.18ms", Some(203)),
            ("12.5µs", None),
            ("soon", None),
        ] {
            assert_eq!(line(delay).map(Span::as_millis), millis, "{delay}");
        }
        assert_eq!(parse_retry_delay("ERROR codex_core: stream disconnected in 8s"), None);
    }

    // T4.20, T4.33: an unknown name is a crash.
    #[test]
    fn every_name_has_its_code() {
        let status = |name: &str, status: Option<u16>| json!({name: {"httpStatusCode": status}});
        let cases = [
            (json!("contextWindowExceeded"), Code::ProviderContextTooLong),
            (json!("sessionBudgetExceeded"), Code::ProviderQuota),
            (json!("usageLimitExceeded"), Code::ProviderUsageLimit),
            (json!("rateLimitExceeded"), Code::ProviderRateLimit),
            (json!("serverOverloaded"), Code::ProviderOverloaded),
            (json!("flexUnavailable"), Code::ProviderOverloaded),
            (json!("modelNotFound"), Code::ProviderNotAvailable),
            (json!("cyberPolicy"), Code::ProviderRefused),
            (json!("invalidPrompt"), Code::ProviderRefused),
            (json!("tooManyDenials"), Code::PermissionCommandBlocked),
            (json!("unauthorized"), Code::AuthInvalid),
            (json!("badRequest"), Code::ProviderRejected),
            (json!("internalServerError"), Code::ProviderApiError),
            (json!("other"), Code::ProviderApiError),
            (status("httpConnectionFailed", Some(401)), Code::AuthInvalid),
            (status("httpConnectionFailed", Some(402)), Code::ProviderQuota),
            (status("httpConnectionFailed", Some(503)), Code::ProviderApiError),
            (status("responseStreamDisconnected", None), Code::ProviderApiError),
            (status("responseTooManyFailedAttempts", Some(429)), Code::ProviderRateLimit),
            (json!("sandboxError"), Code::ProviderCrash),
            (json!("inventedTomorrow"), Code::ProviderCrash),
            (json!({"inventedTomorrow": {"httpStatusCode": 200}}), Code::ProviderCrash),
            (json!(null), Code::ProviderCrash),
            (json!({}), Code::ProviderCrash),
            (json!([1]), Code::ProviderCrash),
        ];
        for (info, code) in cases {
            let found =
                turn_error_fault(&turn_error(info.clone()), &CodexRateLimits::default()).code();
            assert_eq!(found, code, "{info}");
        }
    }

    #[test]
    fn an_answer_of_the_service_without_a_name_is_read_as_json() {
        let body = |code| json!({"error": {"message": "m", "code": code}}).to_string();
        let cases = [
            (body(Some("context_length_exceeded")), Code::ProviderContextTooLong),
            (body(Some("invalid_value")), Code::ProviderRejected),
            (body(None), Code::ProviderRejected),
            ("stream disconnected: context_length_exceeded".to_owned(), Code::ProviderApiError),
        ];
        for (message, code) in cases {
            let error = CodexTurnError { message: message.clone(), ..turn_error(json!("other")) };
            assert_eq!(
                turn_error_fault(&error, &CodexRateLimits::default()).code(),
                code,
                "{message}"
            );
        }
    }

    #[test]
    fn the_standing_of_the_account_tells_a_window_from_a_credit() {
        let window =
            |used_percent, resets_at| json!({"usedPercent": used_percent, "resetsAt": resets_at});
        let cases = [
            (json!({}), Code::ProviderUsageLimit, None),
            (json!({"primary": window(100, Some(50))}), Code::ProviderUsageLimit, Some(50)),
            (
                json!({"primary": window(100, Some(50)), "secondary": window(40, Some(90))}),
                Code::ProviderUsageLimit,
                Some(50),
            ),
            (
                json!({"primary": window(100, Some(50)), "secondary": window(100, Some(90))}),
                Code::ProviderUsageLimit,
                Some(90),
            ),
            (json!({"primary": window(99, Some(50))}), Code::ProviderUsageLimit, Some(50)),
            (
                json!({"credits": {"hasCredits": false, "unlimited": false}}),
                Code::ProviderQuota,
                None,
            ),
            (
                json!({"primary": window(100, Some(50)), "credits": {"hasCredits": false, "unlimited": false}}),
                Code::ProviderUsageLimit,
                Some(50),
            ),
            (
                json!({"primary": window(100, Some(50)), "rateLimitReachedType": "workspace_member_credits_depleted"}),
                Code::ProviderQuota,
                None,
            ),
            (json!({"spendControlReached": true}), Code::ProviderQuota, None),
            (
                json!({"spendControlReached": true, "individualLimit": {"resetsAt": 70}}),
                Code::ProviderUsageLimit,
                Some(70),
            ),
        ];
        for (limits, code, resets_secs) in cases {
            let read: CodexRateLimits = serde_json::from_value(limits.clone()).unwrap();
            let fault = turn_error_fault(&turn_error(json!("usageLimitExceeded")), &read);
            let resets = fault.resets_at.map(|time| time.as_millis() / 1_000);
            assert_eq!((fault.code(), resets), (code, resets_secs), "{limits}");
        }
    }

    // T4.9, B41: a wait is taken from the message, and only for an error whose type is a limit.
    #[test]
    fn the_wait_that_a_limit_names_is_taken() {
        let cases = [
            ("Rate limit reached for m. Please try again in 2s.", Some(2_000)),
            ("Please try again in 1m20.5s. Visit x", Some(80_500)),
            ("Please try again in 350ms.", Some(350)),
            ("try again in 2h", Some(7_200_000)),
            ("try again in a while", None),
            ("try again in 1.2.3s", None),
            ("try again in ", None),
            ("slow down", None),
        ];
        for (message, expected) in cases {
            let of = |info| {
                let error = CodexTurnError { message: message.to_owned(), ..turn_error(info) };
                turn_error_fault(&error, &CodexRateLimits::default())
                    .retry_after
                    .map(Span::as_millis)
            };
            assert_eq!(of(json!("rateLimitExceeded")), expected, "{message}");
            assert_eq!(of(json!("internalServerError")), None, "{message}");
        }
    }

    // B42
    #[test]
    fn no_money_is_no_window() {
        let cases = [
            ("Quota exceeded. Check your plan and billing details.", Code::ProviderQuota),
            ("To use Codex with your ChatGPT plan, upgrade to Plus: x", Code::ProviderQuota),
            ("You\u{2019}ve hit your usage limit. Try again at 1:35 AM.", Code::ProviderUsageLimit),
        ];
        for (message, code) in cases {
            let error = CodexTurnError {
                message: message.to_owned(),
                ..turn_error(json!("usageLimitExceeded"))
            };
            assert_eq!(
                turn_error_fault(&error, &CodexRateLimits::default()).code(),
                code,
                "{message}"
            );
        }
    }

    // B41
    #[test]
    fn the_end_of_a_window_is_read_in_both_forms() {
        // 2026-11-15 00:35:39 UTC
        let now = Time::from_millis(1_794_702_939_028);
        let cases = [
            ("or try again at 1:35 AM.", Some("2026-11-15T01:35:00Z")),
            ("Try again at 12:00 PM.", Some("2026-11-15T12:00:00Z")),
            ("Try again at 12:05 AM.", Some("2026-11-15T00:05:00Z")),
            ("Try again at Nov 17th, 2026 1:35 PM.", Some("2026-11-17T13:35:00Z")),
            ("Try again at Feb 30th, 2026 1:35 PM.", None),
            ("Try again at 13:35 PM.", None),
            ("Try again at noon.", None),
            ("Try again later.", None),
        ];
        for (message, expected) in cases {
            let said = parse_reset_time(message, now, &TimeZone::UTC).map(|time| {
                let millis = i64::try_from(time.as_millis()).unwrap();
                Timestamp::from_millisecond(millis).unwrap().to_string()
            });
            assert_eq!(said.as_deref(), expected, "{message}");
        }
    }
}
