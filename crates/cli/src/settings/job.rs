//! The `[[job]]` section: scripts that Unstuck keeps running, and their schedules.
//!
//! The front matter of a file in `jobs/` has the same keys; the text of the file is then the goal.

use std::fmt;

use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use unstuck_core::plan::WorkPhase;
use unstuck_core::policy::{Amount, RetryLimits};
use unstuck_runner::jobs::Schedule;

use super::values::{self, Length, Money, SpendingCap};

/// Maximum length of a name.
const NAME_CHARS_MAX: usize = 100;
/// The hint for a name.
const NAME: &str = "write letters, digits, `-`, `_` or `.`, such as mail-sync";
/// The hint for a command.
const COMMAND: &str = "write a line for the shell, or a program and its arguments as a list";

/// A script that is kept alive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct JobSettings {
    /// The name of the job.
    pub(crate) name: JobName,
    /// The command: a shell command line, or a program and its arguments as a list.
    pub(crate) run: CommandLine,
    /// The schedule: `every 5 minutes`, `2h`, or a cron line such as `0 3 * * 1-5`. Without it, the job runs
    /// only on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schedule: Option<JobSchedule>,
    /// The time zone of a cron line, such as `Europe/Berlin`. Without it, the time zone of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time_zone: Option<JobTimeZone>,
    /// The maximum run time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout: Option<Length>,
    /// When you hear of it while it fails for a passing reason. Without it, as for every job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alert_after: Option<AlertAfter>,
    /// The phase of the job: `read`, `decide` or `act`. With one of the first two, `unstuck mutate` in it is
    /// refused with `LOGIC_PHASE_VIOLATION`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phase: Option<ScriptPhase>,
    /// The budget of one firing: `"$2.50"`, or money, tokens and time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) budget: Option<FiringBudget>,
    /// Commands that have to pass before a repair is used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) validate: Vec<String>,
    /// A command that tests a repair without effects outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dry_run: Option<String>,
    /// A command that verifies that a login or a permission works again, after you said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) check: Option<CommandLine>,
    /// The purpose of the job; the agent that repairs it reads this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) goal: Option<String>,
    /// The working directory, relative to the root of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) directory: Option<String>,
    /// How an agent may repair it.
    pub(crate) repair: JobRepairSettings,
}

/// When you hear of a scheduled job that fails for a passing reason: whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AlertAfter {
    /// Number of failed firings in a row.
    pub(crate) firings: u32,
    /// Time for which it has been failing.
    pub(crate) time: Length,
}

impl Default for AlertAfter {
    fn default() -> Self {
        let RetryLimits { alert_firings, alert_after_ms, .. } = RetryLimits::default();
        Self { firings: alert_firings, time: Length(alert_after_ms) }
    }
}

/// What a script is there for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Phase")]
pub(crate) enum ScriptPhase {
    /// It only reads.
    Read,
    /// It decides what is to be done.
    Decide,
    /// It may perform irreversible actions.
    Act,
}

impl From<ScriptPhase> for WorkPhase {
    fn from(phase: ScriptPhase) -> Self {
        match phase {
            ScriptPhase::Read => Self::Read,
            ScriptPhase::Decide => Self::Decide,
            ScriptPhase::Act => Self::Act,
        }
    }
}

/// The `repair` table of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct JobRepairSettings {
    /// The files that a repair may change, as globs relative to the root of the project.
    #[serde(deserialize_with = "values::globs")]
    pub(crate) scope: Vec<String>,
    /// Number of repairs before you are asked.
    pub(crate) attempts: u32,
    /// What to do with a repair that passes.
    pub(crate) mode: RepairMode,
    /// Use a repair even after an irreversible action in the same firing.
    pub(crate) after_mutation: bool,
}

impl Default for JobRepairSettings {
    fn default() -> Self {
        Self { scope: Vec::new(), attempts: 3, mode: RepairMode::default(), after_mutation: false }
    }
}

/// The `repair.mode` setting: the treatment of a repair that passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RepairMode {
    /// It is committed and used.
    #[default]
    Commit,
    /// It stays on a branch until you merge it.
    Propose,
    /// Nothing is repaired; you are asked.
    Off,
}

/// Returns what a job lacks or has twice, each as a message and a hint. `before` holds the names of the
/// jobs above it.
pub(super) fn find_job_problems(
    at: usize,
    name: Option<&str>,
    before: &[String],
    has: impl Fn(&str) -> bool,
) -> Vec<(String, String)> {
    let called = name.map_or_else(|| format!("job {}", at + 1), |name| format!("job {name}"));
    let mut lacks = Vec::new();
    if !has("name") {
        let hint = "add a line such as name = \"mail-sync\"".to_owned();
        lacks.push((format!("{called} has no name"), hint));
    }
    if !has("run") {
        let hint = "add a line such as run = \"./sync.sh\"".to_owned();
        lacks.push((format!("{called} has nothing to run"), hint));
    }
    if let Some(name) = name
        && before.iter().any(|known| known == name)
    {
        lacks.push(duplicate_name_problem(name));
    }
    lacks
}

/// Returns the message and the hint for two jobs with the same name.
pub(super) fn duplicate_name_problem(name: &str) -> (String, String) {
    (format!("there are two jobs called {name}"), "give one of them another name".to_owned())
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct JobName(String);

impl JobName {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let whole = text.starts_with(char::is_alphanumeric)
            && text.chars().all(fits)
            && text.chars().count() <= NAME_CHARS_MAX;
        whole.then(|| Self(text.to_owned())).ok_or_else(|| format!("{text:?} is no name; {NAME}"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for JobName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// A command as it is written: a line for the shell, or a program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum CommandLine {
    /// A line for the shell.
    Line(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

impl Default for CommandLine {
    fn default() -> Self {
        Self::Words(Vec::new())
    }
}

impl CommandLine {
    /// Returns the program and its arguments; a shell line becomes `sh -c LINE`.
    pub(crate) fn to_words(&self) -> Vec<String> {
        match self {
            Self::Line(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
            Self::Words(words) => words.clone(),
        }
    }

    fn require_valid(self) -> Result<Self, String> {
        let program = match &self {
            Self::Line(line) => line,
            Self::Words(words) => words.first().map_or("", String::as_str),
        };
        let text = match &self {
            Self::Line(line) => line.contains('\0'),
            Self::Words(words) => words.iter().any(|word| word.contains('\0')),
        };
        if program.trim().is_empty() {
            return Err(format!("the command is empty; {COMMAND}"));
        }
        if text {
            return Err("a command cannot hold a null character".to_owned());
        }
        Ok(self)
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Words(words) => f.write_str(&words.join(" ")),
        }
    }
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum CommandLineInput {
            Line(String),
            Words(Vec<String>),
        }
        let line = match CommandLineInput::deserialize(deserializer) {
            Ok(CommandLineInput::Line(line)) => Self::Line(line),
            Ok(CommandLineInput::Words(words)) => Self::Words(words),
            Err(_) => return Err(D::Error::custom(COMMAND)),
        };
        line.require_valid().map_err(D::Error::custom)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobSchedule(pub(crate) Schedule);

impl JobSchedule {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            |error: unstuck_runner::jobs::ScheduleError| format!("{error}; {}", error.hint());
        Schedule::parse(text).map(Self).map_err(wrong)
    }
}

impl Serialize for JobSchedule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_written())
    }
}

impl<'de> Deserialize<'de> for JobSchedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// A time zone and its name as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobTimeZone(pub(crate) TimeZone, String);

impl JobTimeZone {
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let zone = TimeZone::get(name.trim());
        zone.map(|zone| Self(zone, name.trim().to_owned())).map_err(|_| {
            format!(
                "{name:?} is no time zone that this machine knows; write one such as Europe/Berlin"
            )
        })
    }
}

impl Serialize for JobTimeZone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.1)
    }
}

impl<'de> Deserialize<'de> for JobTimeZone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The amount that one firing may spend.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct FiringBudget(SpendingCap);

impl FiringBudget {
    pub(crate) fn to_amount(self) -> Amount {
        self.0.to_amount()
    }
}

impl<'de> Deserialize<'de> for FiringBudget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum FiringBudgetInput {
            Money(Money),
            Parts(SpendingCap),
        }
        let cap = match FiringBudgetInput::deserialize(deserializer) {
            Ok(FiringBudgetInput::Money(money)) => {
                SpendingCap { money: Some(money), ..SpendingCap::default() }
            }
            Ok(FiringBudgetInput::Parts(cap)) => cap,
            Err(_) => return Err(D::Error::custom("write \"$2.50\", or money, tokens and time")),
        };
        // A budget of zero would stop the job before it starts.
        if cap.find_zeros().next().is_some() {
            Err(D::Error::custom("nothing can be spent like this"))
        } else {
            Ok(Self(cap))
        }
    }
}

/// Implements `JsonSchema` for a type that is written as text.
macro_rules! text {
    ($type:ty, $name:literal, $description:literal, $examples:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "description": $description,
                    "examples": $examples,
                })
            }
        }
    };
}

text!(JobSchedule, "When", "When it runs.", ["every 5 minutes", "2h", "0 3 * * 1-5"]);
text!(JobTimeZone, "Zone", "A place in the time zone database.", ["Europe/Berlin"]);

impl JsonSchema for FiringBudget {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Allowed".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let money = Money::json_schema(generator);
        let parts = SpendingCap::json_schema(generator);
        schemars::json_schema!({
            "description": "What may be spent.",
            "anyOf": [money, parts],
        })
    }
}
