//! A field of a cron line: its range of values, and the parsing of a selection of them.

use super::schedule::ScheduleError;

/// The definition of a field: its lowest and highest value, and their names.
#[derive(Debug)]
pub(super) struct CronField {
    /// The field's name in error messages.
    pub(super) name: &'static str,
    min: u8,
    max: u8,
    /// Names of the values, from the lowest on.
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

pub(super) const MINUTE: CronField = CronField { name: "minute", min: 0, max: 59, names: &[] };
pub(super) const HOUR: CronField = CronField { name: "hour", min: 0, max: 23, names: &[] };
pub(super) const DAY: CronField =
    CronField { name: "day of the month", min: 1, max: 31, names: &[] };
pub(super) const MONTH: CronField = CronField { name: "month", min: 1, max: 12, names: &MONTHS };
/// The day of the week; Sunday is both 0 and 7.
pub(super) const WEEKDAY: CronField =
    CronField { name: "day of the week", min: 0, max: 7, names: &WEEKDAYS };

/// A set of a field's values, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CronValues(u64);

impl CronValues {
    pub(super) const fn contains(self, value: u8) -> bool {
        value < 64 && self.0 & (1 << value) != 0
    }

    /// Returns the lowest value at or after `from`.
    pub(super) fn next_from(self, from: u8) -> Option<u8> {
        let left = self.0.checked_shr(u32::from(from)).unwrap_or(0);
        (left != 0).then(|| from + u8::try_from(left.trailing_zeros()).unwrap_or(u8::MAX))
    }

    pub(super) const fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub(super) fn iter(self) -> impl Iterator<Item = u8> {
        (0..64).filter(move |value| self.contains(*value))
    }

    const fn with_value(self, value: u8) -> Self {
        Self(self.0 | 1 << value)
    }
}

impl CronField {
    /// Parses the text of the field.
    pub(super) fn parse_values(&self, text: &str) -> Result<CronValues, ScheduleError> {
        let mut values = CronValues::default();
        for part in text.split(',') {
            values = self.parse_part(part, values)?;
        }
        // Sunday has two numbers.
        if self.max == 7 && values.contains(7) {
            values = CronValues(values.with_value(0).0 & !(1 << 7));
        }
        Ok(values)
    }

    /// Returns the number of distinct values.
    pub(super) const fn value_count(&self) -> u32 {
        if self.max == 7 { 7 } else { (self.max - self.min + 1) as u32 }
    }

    fn parse_part(&self, part: &str, mut values: CronValues) -> Result<CronValues, ScheduleError> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(self.parse_step(part, step)?)),
            None => (part, None),
        };
        let (from, to) = match (range, range.split_once('-')) {
            ("*" | "?", _) => (self.min, if self.max == 7 { 6 } else { self.max }),
            (_, Some((from, to))) => self.parse_range(part, from, to)?,
            // A single value with a step stands for all values from it on.
            (one, None) => {
                let from = self.parse_value(part, one)?;
                (from, if step.is_some() { self.max } else { from })
            }
        };
        for value in (from..=to).step_by(usize::from(step.unwrap_or(1))) {
            values = values.with_value(value);
        }
        Ok(values)
    }

    fn parse_range(&self, part: &str, from: &str, to: &str) -> Result<(u8, u8), ScheduleError> {
        let from = self.parse_value(part, from)?;
        let mut to = self.parse_value(part, to)?;
        // A range such as Friday to Sunday ends with the week.
        if self.max == 7 && to == 0 && from > 0 {
            to = 7;
        }
        if from > to {
            let instead = format!("{from}-{},{}-{to}", self.last_value(), self.min);
            return Err(ScheduleError::Backwards {
                field: self.name,
                part: part.to_owned(),
                instead,
            });
        }
        Ok((from, to))
    }

    const fn last_value(&self) -> u8 {
        if self.max == 7 { 6 } else { self.max }
    }

    fn parse_step(&self, part: &str, step: &str) -> Result<u8, ScheduleError> {
        let step = parse_digits(step).filter(|step| (1..=self.max).contains(step));
        step.ok_or_else(|| self.invalid_part(part))
    }

    fn parse_value(&self, part: &str, text: &str) -> Result<u8, ScheduleError> {
        let named = self.names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let named = named.and_then(|at| u8::try_from(at).ok()).map(|at| at + self.min);
        let value = named.or_else(|| parse_digits(text));
        let value = value.filter(|value| (self.min..=self.max).contains(value));
        value.ok_or_else(|| self.invalid_part(part))
    }

    fn invalid_part(&self, part: &str) -> ScheduleError {
        let field = self.name;
        ScheduleError::Field { field, part: part.to_owned(), min: self.min, max: self.max }
    }
}

/// Parses a text that consists of digits only.
fn parse_digits(text: &str) -> Option<u8> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}
