//! The wait that a service asks for, in the words of an output.

use crate::time::Span;

/// Maximum wait that is taken from an output. A longer one is no wait of a rate limit.
pub const REQUESTED_WAIT_MAX: Span = Span::from_hours(24);
/// The header that names the wait, and the fields of JSON that do.
const NAMES: [&str; 3] = ["retry-after", "retry_after", "retryafter"];
/// Words before a wait.
const BEFORE: [&str; 4] = ["try again in ", "try again after ", "retry after ", "retry in "];

/// Returns the wait in the last header `Retry-After: 5` or field `"retry_after": 5` of an output, or else in
/// `try again in 5s`.
pub fn requested_wait(output: &str) -> Option<Span> {
    let lower = output.to_ascii_lowercase();
    let last = |name: &&str| {
        let mut named = lower.rmatch_indices(*name);
        named.find_map(|(at, _)| Some((at, parse_header_value(&lower[at + name.len()..])?)))
    };
    let wait = NAMES.iter().filter_map(last).max_by_key(|(at, _)| *at).map(|(_, wait)| wait);
    let wait = wait.or_else(|| BEFORE.iter().find_map(|before| parse_wait_after(&lower, before)));
    wait.filter(|wait| *wait > Span::ZERO && *wait <= REQUESTED_WAIT_MAX)
}

/// Parses the seconds after the name of a header: `: 5`, `': '5'`, `_seconds": 5`.
fn parse_header_value(rest: &str) -> Option<Span> {
    let rest = rest.strip_prefix("_seconds").unwrap_or(rest);
    let value = rest.trim_start_matches([' ', ':', '=', '\'', '"']);
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value[..end].parse().ok().map(Span::from_secs)
}

/// Parses the wait from the message of a limit: `Please try again in 1m20.5s.`
pub fn parse_requested_wait(message: &str) -> Option<Span> {
    parse_wait_after(message, BEFORE[0])
}

fn parse_wait_after(message: &str, before: &str) -> Option<Span> {
    let (_, mut rest) = message.split_once(before)?;
    let mut wait = Span::ZERO;
    loop {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let after = rest[number..].trim_start_matches(' ');
        let unit = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let Some(factor) = unit_millis(&after[..unit]).filter(|_| number > 0) else { break };
        let (whole, part) = rest[..number].split_once('.').unwrap_or((&rest[..number], ""));
        let thousandths: u64 = format!("{part:0<3}")[..3].parse().ok()?;
        let whole: u64 = whole.parse().ok()?;
        let ms = whole.saturating_mul(factor).saturating_add(thousandths * factor / 1_000);
        wait = wait.saturating_add(Span::from_millis(ms));
        rest = &after[unit..];
    }
    (wait > Span::ZERO).then_some(wait)
}

fn unit_millis(unit: &str) -> Option<u64> {
    Some(match unit {
        "ms" => 1,
        "s" | "sec" | "second" | "seconds" => 1_000,
        "m" | "min" | "minute" | "minutes" => 60_000,
        "h" | "hour" | "hours" => 3_600_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_from_a_header_or_a_sentence() {
        let table = [
            ("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\n\r\n", Some(5_000)),
            ("< retry-after: 7\n< retry-after: 9\n", Some(9_000)),
            ("{'retry-after': '30', 'server': 'nginx'}", Some(30_000)),
            (r#"{"error":{"message":"Too many requests","retry_after":5}}"#, Some(5_000)),
            (r#"{"retryAfter": 8}"#, Some(8_000)),
            (r#"{"retry_after_seconds": 9}"#, Some(9_000)),
            (r#"{"retry_after_ms": 900}"#, None),
            ("Too many requests, please retry after 30 seconds", Some(30_000)),
            ("retry-after-ms: 400", None),
            ("Retry-After: Wed, 21 Oct 2026 07:28:00 GMT", None),
            ("Retry-After: 0", None),
            ("Retry-After: 99999999999999999999", None),
            ("Retry-After: 86401", None),
            ("Rate limited, try again in 12 s", Some(12_000)),
            ("Please try again in 2 minutes.", Some(120_000)),
            ("Rate limit reached for m. Please try again in 2s.", Some(2_000)),
            ("Please try again in 1m20.5s. Visit x", Some(80_500)),
            ("Please try again in 350ms.", Some(350)),
            ("try again in 2h", Some(7_200_000)),
            ("try again in a while", None),
            ("try again in seconds", None),
            ("try again in 1.2.3s", None),
            ("try again in ", None),
            ("nothing", None),
        ];
        for (said, millis) in table {
            assert_eq!(requested_wait(said), millis.map(Span::from_millis), "{said}");
        }
    }
}
