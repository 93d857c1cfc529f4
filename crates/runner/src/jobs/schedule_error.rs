//! The reasons for which a text is not a schedule.

/// Maximum length of a schedule's text in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 512;

/// The reason for which a text is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The text is neither an interval nor a cron line.
    #[error("{0:?} is no schedule")]
    Unknown(String),
    /// The text is too long to be a schedule.
    #[error("a schedule has at most {TEXT_BYTES_MAX} bytes")]
    TooLong,
    /// The interval is too short or too long.
    #[error("the time between two runs is from a second to a year")]
    Interval,
    /// The number of fields is not five.
    #[error("a cron line has five fields, and this has {0}")]
    Fields(usize),
    /// The name is not that of a known cron line.
    #[error("there is no schedule {0}")]
    Name(String),
    /// A value is not in the range of its field.
    #[error("{part:?} is no {field}: they go from {min} to {max}")]
    Field {
        /// The name of the field.
        field: &'static str,
        /// The text in question.
        part: String,
        /// The lowest value of the field.
        min: u8,
        /// The highest value of the field.
        max: u8,
    },
    /// A range ends before it begins.
    #[error("{part:?} ends before it begins, as {field}")]
    Backwards {
        /// The name of the field.
        field: &'static str,
        /// The text in question.
        part: String,
        /// The correct notation for what was meant.
        instead: String,
    },
    /// No calendar has such a day.
    #[error("this day never comes")]
    Never,
}

impl ScheduleError {
    /// Returns a suggestion for the correct notation.
    pub fn hint(&self) -> String {
        match self {
            Self::Backwards { instead, .. } => format!("write {instead}"),
            Self::Never => "check the day and the month: no month has such a day".to_owned(),
            Self::Interval => "write it as \"every 5 minutes\" or \"2h\"".to_owned(),
            Self::Name(_) => "there are @hourly, @daily, @weekly, @monthly and @yearly".to_owned(),
            Self::Unknown(_) | Self::TooLong | Self::Fields(_) | Self::Field { .. } => {
                "write \"every 5 minutes\", \"2h\", or a cron line: minute, hour, day, month, \
                 weekday, such as \"0 3 * * 1-5\""
                    .to_owned()
            }
        }
    }
}
