//! Short forms of durations, numbers and amounts, for boards, tables and pages.

use super::bounded::strip_escapes;
use crate::policy::Amount;
use crate::time::Span;

/// Formats a duration, rounded down to a coarse unit: `40 s`, `12 min`, `3 h`, `2 days`.
pub fn render_duration(span: Span) -> String {
    let seconds = span.as_millis() / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Formats `1 task`, `3 tasks`.
pub fn render_count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Formats a size, such as `512 MB` or `38.2 GB`.
pub fn render_size(bytes: u64) -> String {
    let tenths = (bytes >> 20).saturating_mul(10) / 1_024;
    match tenths {
        0..10 => format!("{} MB", bytes >> 20),
        _ if tenths.is_multiple_of(10) => format!("{} GB", tenths / 10),
        _ => format!("{}.{} GB", tenths / 10, tenths % 10),
    }
}

/// Returns foreign text on a single line without control characters.
pub fn plain_line(text: &str) -> String {
    let readable = |c: char| if c.is_control() { ' ' } else { c };
    let words: String = strip_escapes(text).chars().map(readable).collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The amount below which a cent is too coarse: parts would not add up to their sum.
const FINE_MICROS_MAX: u64 = 1_000_000;

/// Formats money: `$1.23`, and `$0.0043` if cents would hide it; `None` for zero.
pub fn render_money(amount: Amount) -> Option<String> {
    let micros = amount.money_micros;
    if micros == 0 {
        return None;
    }
    // The rounding unit: hundredths of a cent, or cents.
    let unit = if micros < FINE_MICROS_MAX { 100 } else { 10_000 };
    let rounded = (micros + unit / 2) / unit * unit;
    if rounded == 0 {
        return Some("< $0.0001".to_owned());
    }
    let digits = format!("{:06}", rounded % 1_000_000);
    let (cents, finer) = digits.split_at(2);
    Some(format!("${}.{cents}{}", rounded / 1_000_000, finer.trim_end_matches('0')))
}

/// Formats an amount without its negligible units; empty if all are negligible.
pub fn render_amount(amount: Amount) -> String {
    let mut parts = Vec::new();
    parts.extend(render_money(amount));
    if amount.tokens > 0 {
        parts.push(format!("{} tokens", group_thousands(amount.tokens)));
    }
    if amount.time_ms >= 1_000 {
        let time = render_duration(Span::from_millis(amount.time_ms));
        parts.push(format!("{time} of work"));
    }
    parts.join(", ")
}

/// Formats a number in groups: `118,000`.
pub fn group_thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_megabytes_or_gigabytes() {
        let cases =
            [(1, "1 MB"), (512, "512 MB"), (1_024, "1 GB"), (1_536, "1.5 GB"), (32_768, "32 GB")];
        for (megabytes, said) in cases {
            assert_eq!(render_size(megabytes << 20), said);
        }
    }

    #[test]
    fn lengths_are_rounded_down_to_what_a_person_cares_about() {
        let cases = [
            (Span::from_secs(0), "0 s"),
            (Span::from_secs(59), "59 s"),
            (Span::from_secs(60), "1 min"),
            (Span::from_mins(59), "59 min"),
            (Span::from_mins(119), "1 h"),
            (Span::from_hours(47), "47 h"),
            (Span::from_hours(48), "2 days"),
        ];
        for (span, said) in cases {
            assert_eq!(render_duration(span), said);
        }
    }

    #[test]
    fn what_costs_nothing_is_not_said() {
        let all = Amount { money_micros: 1_234_567, tokens: 20, time_ms: 61_000 };
        assert_eq!(render_amount(all), "$1.23, 20 tokens, 1 min of work");
        assert_eq!(render_amount(Amount { tokens: 20, ..Amount::ZERO }), "20 tokens");
        assert_eq!(render_amount(Amount { tokens: 61_000, ..Amount::ZERO }), "61,000 tokens");
        assert_eq!(render_amount(Amount { time_ms: 999, ..Amount::ZERO }), "");
    }

    // B82
    #[test]
    fn parts_below_a_cent_add_up_to_their_sum() {
        let said = |micros| render_money(Amount { money_micros: micros, ..Amount::ZERO });
        let cases = [
            (0, None),
            (40, Some("< $0.0001")),
            (4_300, Some("$0.0043")),
            (12_900, Some("$0.0129")),
            (310_000, Some("$0.31")),
            (999_990, Some("$1.00")),
            (1_239_999, Some("$1.24")),
            (20_000_000, Some("$20.00")),
        ];
        for (micros, words) in cases {
            assert_eq!(said(micros).as_deref(), words, "{micros}");
        }
    }

    #[test]
    fn a_line_of_others_is_one_line() {
        assert_eq!(plain_line("a\u{1b}[2Jb\n c"), "ab c");
    }

    #[test]
    fn long_numbers_are_in_groups() {
        let grouped = [0, 999, 1_000, 118_000, 12_345_678].map(group_thousands);
        assert_eq!(grouped, ["0", "999", "1,000", "118,000", "12,345,678"]);
    }
}
