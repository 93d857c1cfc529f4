//! Charts as inline SVG, which load nothing and run no script.

use unstuck_core::policy::Amount;
use unstuck_core::tell::brief;
use unstuck_core::text::brief::{group_thousands, render_duration, render_money};
use unstuck_core::time::Span;
use unstuck_store::tables::TaskRow;

/// Maximum number of bars; the rest is summed up in a further one.
const BARS_MAX: usize = 12;
/// Distance between two bars, in units of the picture.
const STEP: usize = 38;
/// Maximum length of a name beside a bar, in characters.
const NAME_CHARS_MAX: usize = 32;

pub(super) struct ChartBar {
    pub(super) name: String,
    /// The length relative to the longest bar, in thousandths.
    pub(super) share: u64,
    pub(super) says: String,
    /// The distance from the top, in units of the picture.
    pub(super) y: usize,
}

impl ChartBar {
    /// Returns the width in units of the picture, which is 320 wide.
    pub(super) const fn width(&self) -> u64 {
        self.share * 320 / 1_000
    }
}

pub(super) struct BarChart {
    pub(super) title: &'static str,
    /// The sum of all bars.
    pub(super) total: String,
    /// The text for screen readers.
    pub(super) summary: String,
    pub(super) bars: Vec<ChartBar>,
    pub(super) height: usize,
}

/// Returns the cost of each task, in money if it is known, else in tokens; `None` if there is none.
pub(super) fn cost_chart(tasks: &[TaskRow]) -> Option<BarChart> {
    let in_money = tasks.iter().any(|row| row.moved.spent.money_micros > 0);
    let value = |spent: Amount| if in_money { spent.money_micros } else { spent.tokens };
    let says = |value: u64| {
        if in_money {
            render_money(Amount { money_micros: value, ..Amount::ZERO }).unwrap_or_default()
        } else {
            format!("{} tokens", group_thousands(value))
        }
    };
    let rows = tasks.iter().map(|row| (row, value(row.moved.spent)));
    bar_chart("Cost by task", rows.collect(), says)
}

/// Returns the working time of each task; `None` if it is below a second.
pub(super) fn time_chart(tasks: &[TaskRow]) -> Option<BarChart> {
    let longest = tasks.iter().map(|row| row.moved.spent.time_ms).max()?;
    if Span::from_millis(longest) < Span::from_secs(1) {
        return None;
    }
    let rows = tasks.iter().map(|row| (row, row.moved.spent.time_ms));
    bar_chart("Working time by task", rows.collect(), |ms| render_duration(Span::from_millis(ms)))
}

fn bar_chart(
    title: &'static str,
    mut rows: Vec<(&TaskRow, u64)>,
    says: impl Fn(u64) -> String,
) -> Option<BarChart> {
    rows.retain(|(_, value)| *value > 0);
    rows.sort_by_key(|(_, value)| std::cmp::Reverse(*value));
    let largest = rows.first()?.1.max(1);
    let rest: u64 = rows.iter().skip(BARS_MAX).map(|(_, value)| value).sum();
    let mut named: Vec<(String, u64)> = rows
        .iter()
        .take(BARS_MAX)
        .map(|(row, value)| (shorten_name(&brief::task_name(row.id, &row.spec)), *value))
        .collect();
    if rest > 0 {
        named.push((format!("{} more", rows.len() - BARS_MAX), rest));
    }
    let bar = |(at, (name, value)): (usize, (String, u64))| ChartBar {
        share: (value.saturating_mul(1_000) / largest).clamp(4, 1_000),
        says: says(value),
        y: at * STEP,
        name,
    };
    let total = says(named.iter().map(|(_, value)| value).sum());
    let summary = format!("{title}: {total} in all, the most for {}.", named[0].0);
    let height = named.len() * STEP;
    let bars = named.into_iter().enumerate().map(bar).collect();
    Some(BarChart { title, total, summary, bars, height })
}

/// Shortens a name to the available space.
fn shorten_name(name: &str) -> String {
    if name.chars().count() <= NAME_CHARS_MAX {
        return name.to_owned();
    }
    let kept: String = name.chars().take(NAME_CHARS_MAX - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_their_place() {
        assert_eq!(shorten_name("Short"), "Short");
        let long = shorten_name("A long name that goes on and so on until no reader is left");
        assert_eq!(long, "A long name that goes on and so…");
    }
}
