//! The result of a program, and the fault of a script or a command of an agent that ended badly.
//!
//! Facts come first: a deadline, a signal, an error number. Only a program that exited by itself
//! with a status of its own choosing is judged by its output.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use unstuck_core::fault::text_rules::{self, OutputClassification, OutputNames};
use unstuck_core::fault::{
    Code, CommandEnd, Crash, Fault, Internal, Kind, Logic, Missing, Timeout, Tool,
};
use unstuck_core::signature::Signature;
use unstuck_core::text::brief::render_size;
use unstuck_core::text::{REQUESTED_WAIT_MAX, requested_wait};
use unstuck_core::time::Span;

use super::deadlines::Deadline;
use super::output::{OutputExcerpt, last_lines};

/// The result of a program that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessResult {
    /// The way in which it ended.
    pub how: ProcessEnd,
    /// The part of its output that was kept.
    pub output: OutputExcerpt,
    /// Time from its start until its last process was gone.
    pub duration: Duration,
    /// Number of processes that it left behind and that were killed.
    pub leftovers_ended: u32,
    /// Why its output could not be passed on, if that is no reader that went away.
    pub lost_output: Option<String>,
}

/// The way in which a program ended. Unless stated otherwise, no process of its tree is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// The program exited with this exit code.
    Exited(i32),
    /// The program was ended by this signal, which the guard did not send.
    Signalled(i32),
    /// The program was ended because a deadline passed.
    TimedOut {
        /// The deadline that passed.
        which: Deadline,
        /// The limit of that deadline.
        limit: Duration,
    },
    /// The program was ended because the caller asked for it.
    Stopped,
    /// The program was ended because it exceeded a limit of its wall.
    BeyondLimit(ExceededLimit),
    /// The program was not started.
    NotStarted(StartFailure),
    /// The guard was killed, so the result is unknown.
    Lost {
        /// `true` if every process of the tree that could be found is gone.
        tree_gone: bool,
    },
}

/// A limit of its wall that a program exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExceededLimit {
    /// Maximum number of processes and threads at a time.
    Processes(u64),
    /// Maximum memory in bytes.
    Memory(u64),
    /// Maximum size of a file in bytes.
    FileSize(u64),
    /// Minimum free disk space in bytes.
    FreeDisk(u64),
}

impl ExceededLimit {
    /// Describes what the program did, to be put after its name, with the setting.
    pub fn describe(self) -> String {
        match self {
            Self::Processes(allowed) => format!(
                "had more than {allowed} processes and threads at a time and was ended; \
                 `wall.processes` sets how many there may be"
            ),
            Self::Memory(allowed) => format!(
                "used more than {} of memory and was ended; `wall.memory_mb` sets how much it may use",
                render_size(allowed)
            ),
            Self::FileSize(allowed) => format!(
                "wrote a file larger than {} and was ended; `wall.file_mb` sets how large a file may be",
                render_size(allowed)
            ),
            Self::FreeDisk(wanted) => format!(
                "was ended because less than {} of the disk was free, half of what `run.disk_free_mb` \
                 asks for",
                render_size(wanted)
            ),
        }
    }

    /// Builds the fault of an agent with this name, all of whose processes were ended. The same work
    /// would end in the same way, so the next attempt reads the message.
    pub(crate) fn to_agent_fault(self, name: &str) -> Fault {
        let message = format!("the agent {}", self.describe());
        match self {
            Self::FreeDisk(_) => Fault::env_disk_full(name, message, Tool::default()),
            Self::Processes(_) | Self::Memory(_) | Self::FileSize(_) => {
                Fault::logic_error(name, message, Logic::default())
            }
        }
    }

    /// Builds the fault of `command`, raised at `source`.
    fn to_fault(self, source: &str, command: &str) -> Fault {
        let message = format!("{command} {}", self.describe());
        match self {
            Self::FreeDisk(_) => Fault::env_disk_full(source, message, Tool::default()),
            Self::Processes(_) | Self::Memory(_) | Self::FileSize(_) => {
                Fault::tool_crash(source, message, Crash::default())
            }
        }
    }
}

/// Messages of the system and of shells about a file that became larger than allowed, in lower case.
const FILE_TOO_LARGE: [&[u8]; 2] = [b"file too large", b"file size limit exceeded"];

/// Returns the note to add to the output of a program that was not allowed to write a larger file.
pub(super) fn file_size_note(output: &[u8], allowed: u64) -> Option<String> {
    let output = output.to_ascii_lowercase();
    let says = |words: &&[u8]| memchr::memmem::find(&output, words).is_some();
    FILE_TOO_LARGE.iter().any(says).then(|| {
        format!(
            "\n[no file may be larger than {} here; `wall.file_mb` sets how large]\n",
            render_size(allowed)
        )
    })
}

/// The reason for which a program was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartFailure {
    /// The program does not exist.
    NotFound,
    /// The program may not be executed.
    AccessDenied,
    /// The working directory does not exist.
    DirectoryMissing,
    /// The machine cannot create another process at the moment.
    NoRoom,
    /// The wall for the program could not be set up.
    NoWall,
    /// Any other reason, as the system's error number.
    Other(i32),
}

impl StartFailure {
    /// Returns the reason for which the system did not start `program`, which was looked up along
    /// `search`.
    pub(super) fn from_io_error(error: &io::Error, program: &OsStr, search: &OsStr) -> Self {
        let number = error.raw_os_error().unwrap_or_default();
        match Errno::from_raw_os_error(number) {
            Errno::NOENT => Self::NotFound,
            Errno::ACCESS if !is_in_search_path(program, search) => Self::NotFound,
            Errno::ACCESS | Errno::PERM => Self::AccessDenied,
            Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE => Self::NoRoom,
            _ => Self::Other(number),
        }
    }
}

/// Returns whether a program exists in a directory of the search path that can be read. An
/// unreadable directory makes the system report "access denied" for every program that does not
/// exist.
fn is_in_search_path(program: &OsStr, search: &OsStr) -> bool {
    let looked_up = !program.as_bytes().contains(&b'/');
    !looked_up || std::env::split_paths(search).any(|place| place.join(program).is_file())
}

/// Maximum number of bytes of a program's output in a fault.
const MESSAGE_BYTES_MAX: usize = 4 * 1_024;

/// Returns the fault of `command`, raised at `source`; `None` if it succeeded or was asked to stop.
pub fn derive_fault(ended: &ProcessResult, source: &str, command: &str) -> Option<Fault> {
    match ended.how {
        ProcessEnd::Exited(0) | ProcessEnd::Stopped => None,
        ProcessEnd::Exited(status) => Some(exit_fault(ended, status, source, command)),
        ProcessEnd::Signalled(signal) => {
            let crash = Crash { exit: None, signal: Some(signal) };
            let message = format!("{command} was ended by signal {signal}");
            Some(with_command(Fault::tool_crash(source, message, crash), command, None))
        }
        ProcessEnd::TimedOut { which, limit } => {
            let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            let limit = Span::from_millis(limit_ms);
            let message = match which {
                Deadline::FirstByte => format!("{command} wrote nothing for {limit}"),
                Deadline::Idle => format!("{command} wrote nothing more for {limit}"),
                Deadline::Total => format!("{command} took longer than {limit}"),
            };
            let context = Timeout { operation: command.to_owned(), limit_ms };
            let mut fault = Fault::operation_timeout(source, message, context);
            // The last lines are for people, and do not belong to the signature.
            let output = String::from_utf8_lossy(&ended.output.to_bytes()).into_owned();
            let last = last_lines(&output, MESSAGE_BYTES_MAX);
            if !last.is_empty() {
                fault.message = format!("{}\n{last}", fault.message);
            }
            Some(fault)
        }
        ProcessEnd::BeyondLimit(limit) => Some(limit.to_fault(source, command)),
        ProcessEnd::NotStarted(reason) => Some(not_started_fault(reason, source, command)),
        ProcessEnd::Lost { tree_gone: true } => {
            let message = format!("{command} was ended together with its guard");
            Some(Fault::tool_crash(source, message, Crash::default()))
        }
        ProcessEnd::Lost { tree_gone: false } => {
            let message = format!("the guard of {command} was killed, and {command} goes on");
            let component = "process".to_owned();
            Some(Fault::internal_error(source, message, Internal { component }))
        }
    }
}

/// Describes how a command that did not succeed ended: its exit code or the reason of its end, with
/// the last lines of `told`, its standard output, and of its other output; `None` if it succeeded.
pub fn describe_end(
    ended: &ProcessResult,
    told: &[u8],
    source: &str,
    command: &str,
) -> Option<String> {
    let verdict = derive_fault(ended, source, command)?.message;
    let told = String::from_utf8_lossy(told);
    let told = last_lines(&told, MESSAGE_BYTES_MAX);
    let ProcessEnd::Exited(status) = ended.how else {
        return Some(if told.is_empty() { verdict } else { format!("{verdict}\n{told}") });
    };
    let said = [told, verdict.trim_end()].map(|said| said.trim_start_matches('\n'));
    let said = said.into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join("\n");
    Some(match said.as_str() {
        "" => format!("{command} ended with status {status} and wrote nothing"),
        said => format!("{command} ended with status {status}: {said}"),
    })
}

fn not_started_fault(reason: StartFailure, source: &str, command: &str) -> Fault {
    let tool = Tool { command: Some(command.to_owned()), ..Tool::default() };
    match reason {
        StartFailure::NotFound => {
            Fault::tool_missing(source, format!("{command}: there is no such program"), tool)
        }
        StartFailure::AccessDenied => {
            Fault::tool_access_denied(source, format!("{command} may not be executed"), tool)
        }
        StartFailure::DirectoryMissing => {
            let message = format!("the directory that {command} was to start in does not exist");
            let what = "the directory to start in".to_owned();
            Fault::precondition_missing(source, message, Missing { what })
        }
        StartFailure::NoRoom => {
            let message = format!("there is no room for another process to run {command}");
            Fault::env_unavailable(source, message, tool)
        }
        StartFailure::NoWall => {
            let message = format!(
                "the wall around {command} could not be put up, so it was not started; \
                 `unstuck doctor --wall` says why"
            );
            let what = "the wall around programs".to_owned();
            Fault::precondition_missing(source, message, Missing { what })
        }
        StartFailure::Other(number) => {
            let message = format!("{command} could not be started (error {number})");
            let logic = Logic { step: Some(command.to_owned()), ..Logic::default() };
            Fault::logic_error(source, message, logic)
        }
    }
}

/// Notices of `unstuck mutate` that it waits: they are no failure.
const WAITS: &[&[u8]] =
    &[b"\" has been waiting for ", b"\" may have happened or not, and the time to wait is over"];
/// A notice of `unstuck mutate` about the command of an action. Its words are not that command's.
const NOT_DONE: &[&[u8]] = &[b"\" did not happen: "];

/// Removes the lines of `unstuck mutate` that contain one of these words.
fn drop_notices(output: Vec<u8>, words: &[&[u8]]) -> Vec<u8> {
    let is_notice = |line: &[u8]| {
        line.starts_with(b"unstuck: \"")
            && words.iter().any(|words| memchr::memmem::find(line, words).is_some())
    };
    if !output.split(|byte| *byte == b'\n').any(is_notice) {
        return output;
    }
    output
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !is_notice(line))
        .flatten()
        .copied()
        .collect()
}

fn exit_fault(ended: &ProcessResult, status: i32, source: &str, command: &str) -> Fault {
    let said = drop_notices(ended.output.to_bytes(), WAITS);
    let text = String::from_utf8_lossy(&said).into_owned();
    let output = drop_notices(said, NOT_DONE);
    let OutputClassification { code, rule, .. } = text_rules::classify_ended(&output, status);
    let place = source.split('#').next().unwrap_or_default();
    let signature = Signature::from_output(code, place, &text, Some(status));
    let kind = add_names(add_facts(Kind::bare(code), status, command), &output, command);
    let fault = Fault::new(kind, source, last_lines(&text, MESSAGE_BYTES_MAX));
    let fault = with_command(fault.with_rule(rule, signature), command, Some(status));
    let is_told = matches!(code, Code::ToolRateLimit | Code::EnvUnavailable);
    let wait = || requested_wait(&text).or_else(|| wait_until_date(&text, Timestamp::now()));
    match is_told.then(wait).flatten() {
        Some(wait) => fault.with_retry_after(wait),
        None => fault,
    }
}

/// Returns the wait until the date in the last header `Retry-After` of an output.
fn wait_until_date(output: &str, now: Timestamp) -> Option<Span> {
    const HEADER: &str = "retry-after:";
    let date = output.lines().rev().find_map(|line| {
        let at = line.to_ascii_lowercase().find(HEADER)?;
        DateTimeParser::new().parse_timestamp(line[at + HEADER.len()..].trim()).ok()
    })?;
    let ms = u64::try_from(date.duration_since(now).as_millis()).ok()?;
    Some(Span::from_millis(ms)).filter(|wait| *wait > Span::ZERO && *wait <= REQUESTED_WAIT_MAX)
}

/// Adds the command to a fault whose context has no field for it.
fn with_command(fault: Fault, command: &str, exit: Option<i32>) -> Fault {
    let command = Some(command.to_owned());
    fault.with_command_end(CommandEnd { command, exit, output: String::new() })
}

/// Adds the account, the host or the certificate to the fault, as far as the output names it.
fn add_names(mut kind: Kind, output: &[u8], command: &str) -> Kind {
    match &mut kind {
        Kind::AuthInvalid(auth) | Kind::AuthExpired(auth) | Kind::AuthMissing(auth) => {
            let OutputNames { host, variable, login } = text_rules::extract_names(output);
            auth.account = host.unwrap_or_default();
            auth.variable = variable;
            auth.login = login.map(str::to_owned);
        }
        Kind::ToolAccessDenied(tool) | Kind::ToolQuota(tool) | Kind::ToolRateLimit(tool) => {
            tool.host = text_rules::extract_names(output).host;
        }
        Kind::ToolConfig(tool) => {
            if let Some((certificate, host)) = text_rules::find_expired_certificate(output, command)
            {
                tool.expired_certificate = Some(certificate);
                tool.host = host;
            }
        }
        _ => {}
    }
    kind
}

/// Adds the command and the exit code to the contexts that have fields for them.
pub(crate) fn add_facts(mut kind: Kind, status: i32, command: &str) -> Kind {
    match &mut kind {
        Kind::EnvConnection(tool)
        | Kind::EnvTimeout(tool)
        | Kind::EnvDns(tool)
        | Kind::EnvUnavailable(tool)
        | Kind::EnvRegistry(tool)
        | Kind::EnvDiskFull(tool)
        | Kind::ToolRateLimit(tool)
        | Kind::ToolAccessDenied(tool)
        | Kind::ToolQuota(tool)
        | Kind::ToolMissing(tool)
        | Kind::ToolConfig(tool) => {
            tool.command = Some(command.to_owned());
            tool.exit = Some(status);
        }
        Kind::AuthInvalid(auth) | Kind::AuthExpired(auth) | Kind::AuthMissing(auth) => {
            auth.command = Some(command.to_owned());
            auth.exit = Some(status);
        }
        Kind::LogicError(logic) | Kind::LogicBadInput(logic) => {
            logic.step = Some(command.to_owned());
            logic.exit = Some(status);
        }
        Kind::ToolCrash(crash) => crash.exit = Some(status),
        Kind::GitLocked(git) | Kind::GitConflict(git) => git.exit = Some(status),
        _ => {}
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault_of(how: ProcessEnd, said: &str) -> Fault {
        let mut output = OutputExcerpt::with_limit(MESSAGE_BYTES_MAX);
        output.push(said.as_bytes());
        let ended = ProcessResult {
            how,
            output,
            duration: Duration::ZERO,
            leftovers_ended: 0,
            lost_output: None,
        };
        derive_fault(&ended, "job", "sh sync.sh").unwrap()
    }

    #[test]
    fn a_wait_that_an_output_asks_for_belongs_to_a_rate_limit() {
        let limited = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\n\r\n\
            curl: (22) The requested URL returned error: 429";
        let fault = fault_of(ProcessEnd::Exited(22), limited);
        assert_eq!(
            (fault.code(), fault.retry_after),
            (Code::ToolRateLimit, Some(Span::from_secs(5)))
        );
        let wrong = fault_of(ProcessEnd::Exited(1), "wrong password, try again in 5s");
        assert_eq!(wrong.retry_after, None);
        let down =
            fault_of(ProcessEnd::Exited(1), "HTTP/1.1 503 Service Unavailable\nRetry-After: 9\n");
        assert_eq!(
            (down.code(), down.retry_after),
            (Code::EnvUnavailable, Some(Span::from_secs(9)))
        );
    }

    #[test]
    fn a_date_of_a_header_is_a_wait() {
        let now: Timestamp = "2026-10-21T07:27:50Z".parse().unwrap();
        let table = [
            ("< Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n", Some(10)),
            ("Retry-After: Wed, 21 Oct 2026 07:27:00 GMT", None),
            ("Retry-After: Wed, 21 Oct 2027 07:28:00 GMT", None),
            ("Retry-After: soon", None),
            ("Retry-After: 5", None),
        ];
        for (output, wait) in table {
            assert_eq!(wait_until_date(output, now), wait.map(Span::from_secs), "{output}");
        }
    }

    #[test]
    fn an_exit_code_counts_if_the_output_gives_no_cause() {
        let cases = [
            (75, "", Code::EnvUnavailable),
            (75, "not now\n", Code::EnvUnavailable),
            (69, "", Code::EnvUnavailable),
            (77, "", Code::ToolAccessDenied),
            (78, "", Code::ToolConfig),
            (124, "", Code::EnvTimeout),
            (139, "", Code::ToolCrash),
            (1, "", Code::LogicError),
            (3, "", Code::LogicError),
            (75, "Error: wrong password", Code::AuthInvalid),
        ];
        for (status, said, code) in cases {
            assert_eq!(fault_of(ProcessEnd::Exited(status), said).code(), code, "{status} {said}");
        }
    }

    #[test]
    fn an_agent_reads_which_limit_ended_it_and_a_person_is_asked_for_room_on_the_disk() {
        let limits = [
            (ExceededLimit::Processes(9), Code::LogicError, "wall.processes"),
            (ExceededLimit::Memory(200 << 20), Code::LogicError, "200 MB of memory"),
            (ExceededLimit::Memory(200 << 20), Code::LogicError, "wall.memory_mb"),
            (ExceededLimit::FileSize(1 << 30), Code::LogicError, "wall.file_mb"),
            (ExceededLimit::FreeDisk(1 << 30), Code::EnvDiskFull, "run.disk_free_mb"),
        ];
        for (limit, code, words) in limits {
            let fault = limit.to_agent_fault("agent");
            assert_eq!(fault.code(), code, "{limit:?}");
            assert!(fault.message.contains(words), "{}", fault.message);
        }
    }

    #[test]
    fn a_fault_of_any_kind_names_its_command() {
        let rejected = fault_of(ProcessEnd::Exited(1), " ! [rejected] main -> main (fetch first)");
        assert_eq!(rejected.code(), Code::GitConflict);
        let end = rejected.ended.unwrap();
        assert_eq!((end.command.as_deref(), end.exit), (Some("sh sync.sh"), Some(1)));
        let killed = fault_of(ProcessEnd::Signalled(9), "").ended.unwrap();
        assert_eq!((killed.command.as_deref(), killed.exit), (Some("sh sync.sh"), None));
    }
}
