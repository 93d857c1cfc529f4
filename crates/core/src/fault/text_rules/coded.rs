//! Step 0: errors that a server or a cloud numbers or names, as its manual lists them.
//!
//! The number says more than the sentence beside it, so no other rule is consulted if it is known.

mod databases;

use databases::{classify_mysql, classify_postgres, classify_redis, classify_sqlite};

use super::RuleVerdict;
use crate::code::Code;
use crate::signature::{Diagnosis, OutputLine, find_part};

const NUMBERED: &str = "coded.number";
const REPLY: &str = "coded.reply";
const STATEMENT: &str = "coded.statement";
const NAMED: &str = "coded.name";
const EXITED: &str = "coded.exit";

pub(super) const RULES: &[&str] = &[NUMBERED, REPLY, STATEMENT, NAMED, EXITED];

/// Returns the verdict for a number or name that only one kind of server uses.
pub(super) fn find_verdict(diagnosis: &Diagnosis<'_>) -> Option<RuleVerdict> {
    diagnosis.lines().iter().find_map(judge_line)
}

fn judge_line(line: &OutputLine<'_>) -> Option<RuleVerdict> {
    let text = line.text;
    let said = |code: Option<Code>, rule| code.map(|code| RuleVerdict { code, rule });
    said(classify_mysql(text), NUMBERED)
        .or_else(|| said(classify_redis(text), REPLY))
        .or_else(|| said(classify_sqlite(text), STATEMENT))
        .or_else(|| said(classify_postgres(text), STATEMENT))
        .or_else(|| said(error_names(text).find_map(classify_cloud), NAMED))
        .or_else(|| said(classify_directory(text), NAMED))
        .or_else(|| said(classify_google(text), NAMED))
        .or_else(|| said(classify_terminal(text), NAMED))
        .or_else(|| said(classify_reason_phrase(text), NAMED))
        .or_else(|| said(classify_machine(text), NAMED))
}

/// Returns the verdict for a reply to a statement or an exit code, for output whose words match no rule.
pub(super) fn find_reply_verdict(diagnosis: &Diagnosis<'_>) -> Option<RuleVerdict> {
    let lines = || diagnosis.lines().iter();
    if let Some(code) = lines().find_map(|line| classify_rsync(line.text)) {
        return Some(RuleVerdict { code, rule: EXITED });
    }
    let replies = |line: &&OutputLine<'_>| line.text.starts_with(b"(error) ERR ");
    if let Some(line) = lines().find(replies) {
        let has = |words: &[u8]| find_part(line.text, words).is_some();
        let code = match () {
            () if has(b"cluster") => Code::ToolConfig,
            () if has(b"not allowed") => Code::ToolAccessDenied,
            () => Code::LogicError,
        };
        return Some(RuleVerdict { code, rule: REPLY });
    }
    // A database writes lower case after its level.
    let stated = |line: &OutputLine<'_>| {
        let at = find_part(line.text, b"ERROR:  ").map(|at| at + b"ERROR:  ".len());
        at.and_then(|at| line.text.get(at)).is_some_and(u8::is_ascii_lowercase)
    };
    if lines().any(stated) {
        return Some(RuleVerdict { code: Code::LogicError, rule: STATEMENT });
    }
    // A bare class name, raised and not caught.
    let raised = |line: &OutputLine<'_>| {
        line.text.strip_prefix(b"Exception: ").is_some_and(|name| !name.contains(&b' '))
    };
    if lines().any(raised) {
        return Some(RuleVerdict { code: Code::LogicError, rule: REPLY });
    }
    // `Try 'tool --help' for help.`: the tool was called with wrong arguments.
    let helps = find_part(diagnosis.text(), b" --help' ").is_some();
    let asked = |line: &OutputLine<'_>| {
        line.text.starts_with(b"GraphQL: ")
            || find_part(line.text, b"An error occurred (").is_some()
            || find_part(line.text, b" arg(s), ").is_some()
    };
    if lines().any(asked) {
        return Some(RuleVerdict { code: Code::ToolConfig, rule: REPLY });
    }
    helps.then_some(RuleVerdict { code: Code::ToolConfig, rule: REPLY })
}

/// Classifies `AADSTS50126: …`: a login that a cloud directory rejected.
fn classify_directory(text: &[u8]) -> Option<Code> {
    const MARK: &[u8] = b"AADSTS";
    let at = find_part(text, MARK)?;
    let (number, _) = parse_number(&text[at + MARK.len()..])?;
    Some(match number {
        65001 | 90094 => Code::ToolAccessDenied,
        _ => Code::AuthInvalid,
    })
}

/// Classifies `can't open /dev/tty: No such device or address`: a secret is prompted for without a terminal.
fn classify_terminal(text: &[u8]) -> Option<Code> {
    let asks =
        find_part(text, b"/dev/tty").is_some() && find_part(text, b"No such device").is_some();
    asks.then_some(Code::AuthMissing)
}

/// Classifies messages of the operating system, which are the same for every program, anywhere in the line.
fn classify_machine(text: &[u8]) -> Option<Code> {
    const MISSING: [&[u8]; 2] =
        [b"executable file not found in $PATH", b"problem occurred starting process 'command '"];
    const DIED: [&[u8]; 2] = [b"[BUG] Segmentation fault", b"Input/output error"];
    let has = |words: &[&[u8]]| words.iter().any(|word| find_part(text, word).is_some());
    match () {
        () if has(&MISSING) => Some(Code::ToolMissing),
        () if has(&[b"fork/exec "]) && text.ends_with(b"no such file or directory") => {
            Some(Code::ToolMissing)
        }
        // An I/O error of a medium that is read or written, unless a service manager passes the number on.
        () if has(&DIED) && !text.starts_with(b"Load failed") => Some(Code::ToolCrash),
        () => None,
    }
}

/// Classifies `invalid status 'Bad Gateway'`: an HTTP status given by its reason phrase alone.
fn classify_reason_phrase(text: &[u8]) -> Option<Code> {
    const MARK: &[u8] = b"status '";
    let reason = &text[find_part(text, MARK)? + MARK.len()..];
    Some(match &reason[..memchr::memchr(b'\'', reason)?] {
        b"Bad Gateway" | b"Service Unavailable" | b"Internal Server Error" | b"Gateway Timeout" => {
            Code::EnvUnavailable
        }
        b"Too Many Requests" => Code::ToolRateLimit,
        b"Unauthorized" => Code::AuthInvalid,
        b"Forbidden" => Code::ToolAccessDenied,
        b"Bad Request" | b"Not Found" | b"Conflict" => Code::ToolConfig,
        _ => return None,
    })
}

/// Classifies `ERROR: (gcloud.run.deploy) ABORTED: …`: the state in which a Google API call ended.
fn classify_google(text: &[u8]) -> Option<Code> {
    let said = text.strip_prefix(b"ERROR: (gcloud.")?;
    let said = said[memchr::memchr(b')', said)? + 1..].trim_ascii_start();
    let state = said.split(|b| !(b.is_ascii_uppercase() || *b == b'_')).next()?;
    Some(match state {
        b"ABORTED" | b"INTERNAL" | b"DATA_LOSS" | b"ZONE_RESOURCE_POOL_EXHAUSTED" => {
            Code::EnvUnavailable
        }
        b"SERVICE_DISABLED" => Code::ToolAccessDenied,
        b"OUT_OF_RANGE" | b"UNIMPLEMENTED" | b"ALREADY_EXISTS" | b"NOT_FOUND" => Code::ToolConfig,
        _ => return None,
    })
}

/// Classifies `rsync error: … (code 12) at io.c(231)` by its exit code.
fn classify_rsync(text: &[u8]) -> Option<Code> {
    const MARK: &[u8] = b"(code ";
    let text = text.strip_prefix(b"rsync error: ")?;
    let at = find_part(text, MARK)?;
    let (status, _) = parse_number(&text[at + MARK.len()..])?;
    Some(match status {
        10 | 12 => Code::EnvConnection,
        13 | 14 | 15 | 16 | 20 | 22 => Code::ToolCrash,
        24 => Code::EnvUnavailable,
        30 | 35 => Code::EnvTimeout,
        127 => Code::ToolMissing,
        _ => return None,
    })
}

/// Returns the names that clouds give to errors, in the forms in which their tools print them.
fn error_names(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    const MARKS: [&[u8]; 6] = [
        b"An error occurred (", b"ErrorCode:", b"\"code\": \"", b"\"code\":\"", b"api error ",
        b"Code: ",
    ];
    let marked = MARKS.iter().filter_map(|mark| {
        let at = find_part(text, mark)?;
        // `Code:` is at the start of its own line.
        (*mark != b"Code: " || at == 0).then(|| &text[at + mark.len()..])
    });
    let bracket = text.strip_prefix(b"ERROR: ").unwrap_or(text).strip_prefix(b"(");
    marked.chain(bracket).filter_map(leading_name)
}

/// Returns the mixed-case name that a text begins with: `NoSuchBucket`.
fn leading_name(text: &[u8]) -> Option<&[u8]> {
    let len = text.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'.').count();
    let name = &text[..len];
    let capitals = name.iter().filter(|b| b.is_ascii_uppercase()).count();
    let small = name.iter().any(u8::is_ascii_lowercase);
    (capitals > 1 && small && name[0].is_ascii_uppercase()).then_some(name)
}

/// Classifies an error name by its suffix or by the words it contains.
fn classify_cloud(name: &[u8]) -> Option<Code> {
    let name = name.strip_suffix(b"Exception").or(name.strip_suffix(b"Fault")).unwrap_or(name);
    let ends = |words: &[&[u8]]| words.iter().any(|word| name.ends_with(word));
    let has = |words: &[&[u8]]| words.iter().any(|word| find_part(name, word).is_some());
    Some(match () {
        () if ends(&[
            b"ScopeLocked", b"NotPermitted", b"AccessDisabled", b"PermissionMismatch",
        ]) || has(&[b"DisallowedBy", b"BlockedBy", b"DeniedBy", b"ForbiddenBy"]) =>
        {
            Code::ToolAccessDenied
        }
        () if ends(&[b"IncompleteSignature", b"RequestExpired", b"TimeTooSkewed"])
            || has(&[b"InvalidIdentityToken", b"InvalidSignature", b"PasswordReset"]) =>
        {
            Code::AuthInvalid
        }
        () if has(&[b"InProgress", b"Concurrent", b"Retryable", b"AllocationFailed"])
            || has(&[b"AllocationRequest", b"OperationAborted", b"TransactionConflict"])
            || (has(&[b"Insufficient"]) && ends(&[b"Capacity"]))
            || ends(&[b"InternalFailure", b"NotReady", b"LeaseIdMissing", b"ServiceFailure"])
            || matches!(name, b"Server" | b"Service" | b"DependencyFailure") =>
        {
            Code::EnvUnavailable
        }
        () if ends(&[
            b"LimitReached", b"TooManyBuckets", b"QuotaExceeded", b"ThroughputExceeded",
        ]) =>
        {
            Code::ToolQuota
        }
        () if ends(&[b"TimedOut", b"ProvisioningTimeout"]) => Code::EnvTimeout,
        () if ends(&[
            b"NotFound", b"DoesNotExist", b"AlreadyExists", b"AlreadyTaken", b"InUse",
        ]) || ends(&[
            b"NotEmpty", b"OwnedByYou", b"Registration", b"ProviderFound", b"Duplicate",
        ]) || ends(&[
            b"DependencyViolation", b"DeleteConflict", b"Overlap", b"NotSupported",
        ]) || ends(&[
            b"InstanceState", b"ForResourceType", b"CapabilitiesNotMet", b"NameInvalid",
        ]) || ends(&[
            b"InsufficientCapabilities", b"ChangeNotAllowed", b"Disabled", b"PolicyDocument",
        ]) || name.starts_with(b"NoSuch")
            || has(&[b"CannotBeDeleted", b"NotFound.", b"Unsupported", b"InvalidTemplate"]) =>
        {
            if ends(&[b"ResourceInUse"]) {
                return None;
            }
            Code::ToolConfig
        }
        () => return None,
    })
}

/// Parses the number that a text begins with; returns it with the rest.
fn parse_number(text: &[u8]) -> Option<(u32, &[u8])> {
    const DIGITS_MAX: usize = 9;
    let len = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if len == 0 || len > DIGITS_MAX {
        return None;
    }
    let value = text[..len].iter().fold(0, |value, b| value * 10 + u32::from(b - b'0'));
    Some((value, &text[len..]))
}

#[cfg(test)]
mod tests {
    use super::super::classify_output;
    use crate::code::Code;

    #[test]
    fn a_number_or_a_name_says_more_than_the_sentence_beside_it() {
        let cases = [
            ("ERROR 1370 (42000): execute command denied to user 'a'@'%'", Code::ToolAccessDenied),
            ("ERROR 1153 (08S01) at line 912: Got a packet that is too big", Code::ToolConfig),
            ("ERROR 2003 (HY000): Can't connect to MySQL server on 'db' (110)", Code::EnvTimeout),
            ("ERROR 1093 (HY000): You can't specify target table 'a'", Code::LogicError),
            ("(error) TRYAGAIN Multiple keys request during rehashing", Code::EnvUnavailable),
            ("(error) NOSCRIPT No matching script.", Code::LogicError),
            ("(error) ERR frobnication is not possible here", Code::LogicError),
            ("Error: stepping, malformed JSON", Code::LogicError),
            ("Runtime error near line 3: database is locked (5)", Code::EnvUnavailable),
            ("ERROR: AADSTS50034: The user account does not exist.", Code::AuthInvalid),
            ("(ScopeLocked) The scope cannot perform delete operation.", Code::ToolAccessDenied),
            (
                "An error occurred (InsufficientHostCapacity) when calling the RunInstances \
                 operation: There is no capacity",
                Code::EnvUnavailable,
            ),
            (
                "rsync error: received SIGINT, SIGTERM, or SIGHUP (code 20) at rsync.c(713)",
                Code::ToolCrash,
            ),
        ];
        for (output, code) in cases {
            let reading = classify_output(output.as_bytes());
            assert_eq!(reading.code, code, "{output}: {}", reading.rule);
        }
    }
}
