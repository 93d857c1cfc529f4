//! Step 2: HTTP statuses, error numbers and names, SQL states and exception classes.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::hit::RuleHit;
use super::phrases::build_automaton;
use crate::code::Code;
use crate::signature::{Diagnosis, Fact, LineRole, find_part};

const STATUS: &str = "status";
const ERRNO: &str = "errno";
const NAME: &str = "name";
const SQL_STATE: &str = "sqlstate";
const CLASS: &str = "class";
pub(super) const EXIT: &str = "exit";
const SIGNAL: &str = "signal";
const TRANSFER: &str = "transfer";
const STATUS_CREDIT: &str = "status.credit";
const STATUS_REGISTRY: &str = "status.registry";

pub(super) const RULES: &[&str] = &[
    STATUS, ERRNO, NAME, SQL_STATE, CLASS, EXIT, SIGNAL, TRANSFER, STATUS_CREDIT, STATUS_REGISTRY,
];

/// Words with which a service says, beside a status 429, that no waiting helps: the credit is used up.
const CREDIT_WORDS: [&[u8]; 3] =
    [b"insufficient_quota", b"credit balance is too low", b"billing_hard_limit_reached"];

/// Offers every structured fact that indicates the cause of the failure.
pub(super) fn offer_facts(diagnosis: &Diagnosis<'_>, best: &mut RuleHit) {
    for fact in diagnosis.facts() {
        match *fact {
            Fact::Status(429) if tells_used_up_credit(diagnosis) => {
                best.offer_first(Code::ToolQuota, STATUS_CREDIT);
            }
            Fact::Status(429) => best.offer_first(Code::ToolRateLimit, STATUS),
            // Servers that hide inaccessible resources add a word about permissions to a 404.
            Fact::Status(404) => best.offer_narrow(Code::ToolConfig, STATUS),
            Fact::Numbered(35) if tells_cut_handshake(diagnosis) => {
                best.offer(Code::EnvConnection, TRANSFER);
            }
            Fact::Numbered(number) => offer_code(best, classify_transfer(number), TRANSFER),
            Fact::Status(status) => offer_code(best, classify_status(status), STATUS),
            Fact::Errno(number) => offer_code(best, classify_errno(number), ERRNO),
            Fact::Name(name) => offer_name(name, best),
            Fact::SqlState(state) => offer_code(best, classify_sql_state(state), SQL_STATE),
            Fact::Class(class) => offer_code(best, classify_class(class), CLASS),
            Fact::Exit(status) => offer_code(best, classify_exit(status), EXIT),
            Fact::Signal(_) => offer_code(best, Some(Code::ToolCrash), SIGNAL),
        }
    }
    reclassify_registry(diagnosis, best);
}

/// Returns whether a TLS handshake that failed was cut off, and not refused because of a setting.
fn tells_cut_handshake(diagnosis: &Diagnosis<'_>) -> bool {
    const CUT: [&[u8]; 4] =
        [b"SSL_ERROR_SYSCALL", b"onnection reset", b"unexpected eof", b"timed out"];
    CUT.iter().any(|words| find_part(diagnosis.text(), words).is_some())
}

fn tells_used_up_credit(diagnosis: &Diagnosis<'_>) -> bool {
    CREDIT_WORDS.iter().any(|words| find_part(diagnosis.text(), words).is_some())
}

/// Reclassifies an unavailable server as a registry, if the lines mention packages or a registry.
pub(super) fn reclassify_registry(diagnosis: &Diagnosis<'_>, best: &mut RuleHit) {
    if best.has_code(Code::EnvUnavailable) && !best.is_lock() && mentions_registry(diagnosis) {
        best.offer(Code::EnvRegistry, STATUS_REGISTRY);
    }
}

fn offer_code(best: &mut RuleHit, code: Option<Code>, rule: &'static str) {
    if let Some(code) = code {
        best.offer(code, rule);
    }
}

const fn classify_status(status: u32) -> Option<Code> {
    Some(match status {
        401 | 407 | 511 => Code::AuthInvalid,
        402 => Code::ToolQuota,
        403 | 451 => Code::ToolAccessDenied,
        408 => Code::EnvTimeout,
        500..=599 => Code::EnvUnavailable,
        400 | 404 | 405 | 406 | 409 | 410 | 411 | 412 | 413 | 414 | 415 | 416 | 422 => {
            Code::ToolConfig
        }
        _ => return None,
    })
}

/// Classifies libcurl's error numbers, which many tools pass on.
const fn classify_transfer(number: u32) -> Option<Code> {
    Some(match number {
        5 | 6 => Code::EnvDns,
        7 | 18 | 52 | 55 | 56 | 92 | 95 | 96 => Code::EnvConnection,
        9 => Code::ToolAccessDenied,
        23 => Code::EnvDiskFull,
        28 => Code::EnvTimeout,
        67 => Code::AuthInvalid,
        1..=4 | 26 | 27 | 35 | 37 | 43 | 47 | 48 | 51 | 53 | 54 | 58..=60 | 66 | 77 | 80..=83 => {
            Code::ToolConfig
        }
        _ => return None,
    })
}

/// Classifies error numbers of Linux and macOS; negative ones are those of name lookup.
const fn classify_errno(number: i32) -> Option<Code> {
    Some(match number {
        1 | 13 | 30 => Code::ToolAccessDenied,
        28 | 122 => Code::EnvDiskFull,
        60 | 110 => Code::EnvTimeout,
        32 | 54 | 61 | 100..=104 | 107 | 111..=113 => Code::EnvConnection,
        -2 | -3 | -5 | 8 => Code::EnvDns,
        48 | 98 => Code::ToolConfig,
        12 | 23 | 24 => Code::ToolCrash,
        11 | 35 => Code::EnvUnavailable,
        _ => return None,
    })
}

fn offer_name(name: &[u8], best: &mut RuleHit) {
    let code = match name {
        b"E429" | b"TOO_MANY_REQUESTS" => {
            best.offer_first(Code::ToolRateLimit, NAME);
            return;
        }
        b"E401" | b"EAUTH" | b"EOTP" | b"EAUTHIP" | b"EAUTHUNKNOWN" | b"UNAUTHENTICATED"
        | b"INVALID_API_KEY" => Code::AuthInvalid,
        b"ENEEDAUTH" => Code::AuthMissing,
        b"EACCES" | b"EPERM" | b"EROFS" | b"E403" | b"PERMISSION_DENIED" | b"ACCESS_DENIED" => {
            Code::ToolAccessDenied
        }
        b"ENOSPC" | b"EDQUOT" => Code::EnvDiskFull,
        b"ETIMEDOUT"
        | b"ESOCKETTIMEDOUT"
        | b"ECONNTIMEDOUT"
        | b"DEADLINE_EXCEEDED"
        | b"UND_ERR_CONNECT_TIMEOUT"
        | b"UND_ERR_HEADERS_TIMEOUT"
        | b"UND_ERR_BODY_TIMEOUT"
        | b"ERR_SOCKET_TIMEOUT"
        | b"ERR_TIMED_OUT"
        | b"ERR_CONNECTION_TIMED_OUT" => Code::EnvTimeout,
        b"ENOTFOUND"
        | b"EAI_AGAIN"
        | b"EAI_FAIL"
        | b"EAI_NONAME"
        | b"NXDOMAIN"
        | b"SERVFAIL"
        | b"ERR_NAME_NOT_RESOLVED"
        | b"ERR_NAME_RESOLUTION_FAILED" => Code::EnvDns,
        b"ECONNREFUSED"
        | b"ECONNRESET"
        | b"ECONNABORTED"
        | b"EHOSTUNREACH"
        | b"ENETUNREACH"
        | b"EPIPE"
        | b"EHOSTDOWN"
        | b"ENETDOWN"
        | b"ENOTCONN"
        | b"UND_ERR_SOCKET"
        | b"EPROTO"
        | b"ERR_CONNECTION_REFUSED"
        | b"ERR_CONNECTION_RESET"
        | b"ERR_CONNECTION_CLOSED"
        | b"ERR_CONNECTION_ABORTED"
        | b"ERR_CONNECTION_FAILED"
        | b"ERR_PROXY_CONNECTION_FAILED"
        | b"ERR_TUNNEL_CONNECTION_FAILED"
        | b"ERR_ADDRESS_UNREACHABLE"
        | b"ERR_EMPTY_RESPONSE"
        | b"ERR_NETWORK_CHANGED"
        | b"ERR_INTERNET_DISCONNECTED" => Code::EnvConnection,
        b"UNAVAILABLE" | b"EAGAIN" | b"EBUSY" | b"RESOURCE_EXHAUSTED" => Code::EnvUnavailable,
        b"ENOMEM" | b"EMFILE" | b"ENFILE" | b"SIGSEGV" | b"SIGABRT" | b"SIGKILL" | b"SIGBUS"
        | b"SIGILL" | b"SIGFPE" | b"SIGTRAP" | b"SIGSYS" => Code::ToolCrash,
        b"E404"
        | b"EADDRINUSE"
        | b"EUSAGE"
        | b"ERESOLVE"
        | b"EJSONPARSE"
        | b"ETARGET"
        | b"EBADENGINE"
        | b"EBADPLATFORM"
        | b"EINVALIDPACKAGENAME"
        | b"EINVALIDTAGNAME"
        | b"ENOLOCK"
        | b"EADDRNOTAVAIL"
        | b"ENOVERSIONS"
        | b"EUNSUPPORTEDPROTOCOL"
        | b"ENOWORKSPACES"
        | b"EINTEGRITY"
        | b"E400" => {
            best.offer_narrow(Code::ToolConfig, NAME);
            return;
        }
        // E501 and E502 are left out: they are codes of a style checker.
        b"ENOTCACHED" | b"E500" | b"E503" | b"E504" => Code::EnvRegistry,
        _ => return offer_worded_name(name, best),
    };
    best.offer(code, NAME);
}

/// Classifies a name such as `STATUS_LOGON_FAILURE` by its words.
fn offer_worded_name(name: &[u8], best: &mut RuleHit) {
    // `MANIFEST_UNKNOWN`, `NAME_INVALID`: the requested resource does not exist.
    const ENDINGS: [&[u8]; 4] = [b"_UNKNOWN", b"NOT_FOUND", b"_INVALID", b"ALREADY_EXISTS"];
    let words = class_words(name);
    if words & CERTIFICATE != 0 && words & NEGATIVE != 0 {
        best.offer_narrow(Code::ToolConfig, NAME);
    } else if words & NEGATIVE != 0 && name.contains(&b'_') {
        offer_code(best, classify_class(name), NAME);
    }
    if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        best.offer(Code::ToolConfig, NAME);
    }
    // `DEVICE_BUSY`, `USB_ERROR_ACCESS`: the last word is the result of the call.
    let last = memchr::memrchr(b'_', name).map_or(name, |at| &name[at..]);
    let fails = memchr::memmem::find(name, b"ERR").is_some();
    match last {
        b"_BUSY" | b"_LOCKED" => best.offer(Code::EnvUnavailable, NAME),
        b"_ACCESS" if fails => best.offer(Code::ToolAccessDenied, NAME),
        b"_TIMEOUT" if fails => best.offer(Code::EnvTimeout, NAME),
        _ => {}
    }
    offer_numbered_name(name, best);
}

/// Classifies `ERR_FETCH_404` by the HTTP status at the end of the name.
fn offer_numbered_name(name: &[u8], best: &mut RuleHit) {
    let Some(at) = memchr::memrchr(b'_', name) else { return };
    match &name[at + 1..] {
        b"429" => best.offer_first(Code::ToolRateLimit, NAME),
        b"404" => best.offer_narrow(Code::ToolConfig, NAME),
        digits if digits.len() == 3 => {
            let status =
                digits.iter().fold(0, |value, b| value * 10 + u32::from(b.wrapping_sub(b'0')));
            offer_code(best, classify_status(status), NAME);
        }
        _ => {}
    }
}

fn classify_sql_state(state: &[u8]) -> Option<Code> {
    Some(match state {
        b"28P01" | b"28000" => Code::AuthInvalid,
        b"42501" => Code::ToolAccessDenied,
        b"53100" => Code::EnvDiskFull,
        b"53200" | b"XX000" => Code::ToolCrash,
        b"57014" => Code::EnvTimeout,
        b"3D000" => Code::ToolConfig,
        [b'0', b'8', ..] => Code::EnvConnection,
        [b'5', b'3', ..] | [b'5', b'7' | b'5', b'P', ..] | [b'4', b'0', ..] => Code::EnvUnavailable,
        [b'2', b'2' | b'3', ..] | [b'4', b'2', ..] => Code::LogicError,
        _ => return None,
    })
}

/// Classifies an exit code. A shell adds 128 to the signal that ended a program.
const fn classify_exit(status: u32) -> Option<Code> {
    match status {
        132 | 134..=139 => Some(Code::ToolCrash),
        124 => Some(Code::EnvTimeout),
        127 => Some(Code::ToolMissing),
        _ => None,
    }
}

/// Classifies the exit code of the program itself: the codes of shells, and those of `sysexits.h` that say why.
pub(super) const fn classify_own_exit(status: i32) -> Option<Code> {
    match status {
        // EX_UNAVAILABLE and EX_TEMPFAIL.
        69 | 75 => Some(Code::EnvUnavailable),
        // EX_NOPERM; and a file that the shell may not execute.
        77 | 126 => Some(Code::ToolAccessDenied),
        // EX_CONFIG.
        78 => Some(Code::ToolConfig),
        1..=255 => classify_exit(status.unsigned_abs()),
        _ => None,
    }
}

/// Classifies an exception class by the words of its name: `ReadTimeoutError`, `rate_limit_error`.
fn classify_class(class: &[u8]) -> Option<Code> {
    let words = class_words(class);
    let all = |wanted: u64| words & wanted == wanted;
    let any = |wanted: u64| words & wanted != 0;
    Some(match () {
        () if words == 0 => return None,
        () if all(EXPIRED) && any(TOKEN | CREDENTIALS | SESSION | SIGNATURE) => Code::AuthExpired,
        () if any(NO | MISSING) && any(CREDENTIALS | TOKEN | AUTHENTICATION) => Code::AuthMissing,
        () if class.ends_with(b"UnauthorizedOperation")
            || class.ends_with(b"UnauthorizedAccessException") =>
        {
            Code::ToolAccessDenied
        }
        // A job that reached its maximum number of failures.
        () if class.ends_with(b"BackoffLimitExceeded") => Code::LogicError,
        () if any(UNAUTHORIZED | AUTHENTICATION | CREDENTIALS) => Code::AuthInvalid,
        () if all(INVALID) && any(TOKEN | KEY | PASSWORD | SIGNATURE | GRANT) => Code::AuthInvalid,
        () if any(MEMORY) && any(LIMIT | EXCEEDED) => Code::ToolCrash,
        () if all(INSUFFICIENT | QUOTA) || any(PAYMENT) => Code::ToolQuota,
        () if any(DENIED) => Code::ToolAccessDenied,
        () if any(THROTTLED) || all(RATE | LIMIT) || all(MANY | REQUESTS) || all(SLOW | DOWN) => {
            Code::ToolRateLimit
        }
        () if any(QUOTA) || all(LIMIT | EXCEEDED) || all(MAX | LIMIT) => Code::ToolQuota,
        () if any(TIMEOUT) || all(TIMED | OUT) => Code::EnvTimeout,
        () if any(LOOKUP)
            || all(NAME_WORD | RESOLUTION)
            || all(HOST | RESOLUTION)
            || all(UNKNOWN | HOST)
            || all(HOST | NOT | FOUND) =>
        {
            Code::EnvDns
        }
        () if any(CONNECTION) || all(MAX | RETRY) || all(BROKEN | PIPE) => Code::EnvConnection,
        () if any(UNAVAILABLE) || all(INTERNAL | SERVER) || all(BAD | GATEWAY) => {
            Code::EnvUnavailable
        }
        // Matches the whole name: services use it for failures that are not the caller's.
        () if words == INTERNAL && class.ends_with(b"InternalError") => Code::EnvUnavailable,
        () if any(LOCK) && !any(MISSING | NO) => Code::EnvUnavailable,
        () if any(SPACE) && any(INSUFFICIENT | NO | FULL) => Code::EnvDiskFull,
        () if any(MEMORY) => Code::ToolCrash,
        () if any(CERTIFICATE | CONFIG) => Code::ToolConfig,
        () => return None,
    })
}

/// Declares the words of class names that mean something, one bit each.
macro_rules! class_words {
    ($($name:ident = $bit:literal: $($word:literal)|+,)+) => {
        $(const $name: u64 = 1 << $bit;)+

        fn bit_of(word: &[u8]) -> u64 {
            match word { $($($word)|+ => $name,)+ _ => 0 }
        }
    };
}

class_words! {
    EXPIRED = 0: b"expired",
    TOKEN = 1: b"token",
    CREDENTIALS = 2: b"credentials" | b"credential",
    SESSION = 3: b"session",
    SIGNATURE = 4: b"signature",
    NO = 5: b"no",
    MISSING = 6: b"missing",
    AUTHENTICATION = 7: b"authentication" | b"auth" | b"login" | b"logon",
    UNAUTHORIZED = 8: b"unauthorized" | b"unauthenticated",
    INVALID = 9: b"invalid",
    KEY = 10: b"key",
    PASSWORD = 11: b"password",
    GRANT = 12: b"grant",
    INSUFFICIENT = 13: b"insufficient",
    QUOTA = 14: b"quota",
    PAYMENT = 15: b"payment" | b"billing" | b"subscription",
    DENIED = 16: b"permission" | b"forbidden" | b"denied" | b"authorization",
    THROTTLED = 17: b"throttling" | b"throttled" | b"throttle",
    RATE = 18: b"rate",
    LIMIT = 19: b"limit" | b"limited",
    MANY = 20: b"many",
    REQUESTS = 21: b"requests",
    SLOW = 22: b"slow",
    DOWN = 23: b"down",
    EXCEEDED = 24: b"exceeded",
    TIMEOUT = 25: b"timeout" | b"deadline",
    TIMED = 26: b"timed",
    OUT = 27: b"out",
    LOOKUP = 28: b"gaierror" | b"dns",
    RESOLUTION = 49: b"resolution" | b"resolve",
    NAME_WORD = 50: b"name",
    UNKNOWN = 29: b"unknown",
    HOST = 30: b"host",
    NOT = 31: b"not",
    FOUND = 32: b"found",
    CONNECTION = 33: b"connection" | b"connect" | b"network" | b"socket" | b"handshake",
    MAX = 34: b"max",
    RETRY = 35: b"retry",
    BROKEN = 36: b"broken",
    PIPE = 37: b"pipe",
    UNAVAILABLE = 38: b"unavailable" | b"overloaded",
    INTERNAL = 39: b"internal",
    SERVER = 40: b"server",
    BAD = 41: b"bad",
    GATEWAY = 42: b"gateway",
    MEMORY = 43: b"memory",
    CERTIFICATE = 44: b"ssl" | b"certificate" | b"cert",
    SPACE = 46: b"space" | b"storage" | b"disk",
    FULL = 47: b"full",
    FAILED = 48: b"failed" | b"failure" | b"refused" | b"reset" | b"unreachable",
    LOCK = 51: b"lock" | b"locked" | b"busy" | b"deadlock",
    CONFIG = 45: b"config" | b"configuration" | b"configured" | b"usage" | b"settings" | b"option",
}

/// Words by which a name in capitals is a failure and not a setting.
const NEGATIVE: u64 = EXPIRED
    | NO
    | MISSING
    | UNAUTHORIZED
    | INVALID
    | INSUFFICIENT
    | DENIED
    | EXCEEDED
    | TIMED
    | NOT
    | BROKEN
    | UNAVAILABLE
    | FAILED;

/// Returns the known words of a name, split at capitals, underscores and dashes, ignoring case.
fn class_words(name: &[u8]) -> u64 {
    const WORD_BYTES_MAX: usize = 16;
    let last = name.rsplit(|b| matches!(b, b'.' | b'\\' | b'/')).next().unwrap_or(name);
    let mut found = 0;
    let mut word = [0; WORD_BYTES_MAX];
    let mut len = 0;
    for (at, byte) in last.iter().enumerate() {
        let after_capital = at > 0 && last[at - 1].is_ascii_uppercase();
        let before_small = last.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        if byte.is_ascii_uppercase() && (!after_capital || before_small)
            || !byte.is_ascii_alphanumeric()
        {
            found |= bit_of(&word[..len]);
            len = 0;
        }
        if byte.is_ascii_alphanumeric() && len < WORD_BYTES_MAX {
            word[len] = byte.to_ascii_lowercase();
            len += 1;
        }
    }
    found | bit_of(&word[..len])
}

/// Words for what is fetched from a package registry and for how it is found there.
const PACKAGE_WORDS: &[&[u8]] = &[
    b"package", b"packages", b"gem", b"gems", b"crate", b"crates", b"artifact", b"artifacts",
    b"dependency", b"dependencies", b"mirror", b"mirrors", b"index", b"plugin", b"chart",
    b"latest", b"repo", b"repodata", b"metadata", b"blob", b"layer", b"manifest", b"image",
    b"tarball", b"wheel", b"formula", b"bottle", b"toolchain",
];

/// Names of registries, and typical parts of their download addresses.
const REGISTRY_MARKS: &[&str] = &[
    "registry", "pypi", "pythonhosted", "galaxy", "InRelease", "/v2/", "/blobs/", "specs.4.8",
    "Bundler::", "Gem::", "E: Failed to fetch ", "/distributions/", "plugins.gradle",
    "/index.yaml", "NU1301", "/simple/", "crates.io", "rubygems", "packagist", "maven",
    "golang.org", "debian.org", "ubuntu.com", "nuget", "hackage", "artifactory", "hex.pm",
    "tarball", "/@v/", "/pkgs/", "/packages/", "/repo/", "repodata", "/dists/", "/download/",
    "/downloads/", "/archive/", "://cache.", "://repo.", "://repo1.", "://packages.", "://pkg.",
    "://pkgs.", "://mirror.", "://mirrors.", "://download.", "://downloads.", "://dl.",
    "://releases.", ".tar.gz", ".tar.xz", ".tgz", ".whl", ".narinfo",
];

static REGISTRIES: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| build_automaton(REGISTRY_MARKS.iter()));

/// Returns whether the lines mention a package or a package registry.
fn mentions_registry(diagnosis: &Diagnosis<'_>) -> bool {
    let Some(registries) = REGISTRIES.as_ref() else { return false };
    let speaks_of_package = !diagnosis.is_raised_in_code()
        && diagnosis.prose().split(|b| *b == b' ').any(|word| PACKAGE_WORDS.contains(&word));
    speaks_of_package
        || diagnosis.lines().iter().any(|line| {
            matches!(
                line.role,
                LineRole::Said
                    | LineRole::Acute
                    | LineRole::Exception
                    | LineRole::Finding
                    | LineRole::Weak
                    | LineRole::Warning
            ) && registries.is_match(line.text)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_says_what_happened_in_its_words() {
        // T0.6
        assert_eq!(classify_class(b"PermissionError"), Some(Code::ToolAccessDenied));
        assert_eq!(classify_class(b"urllib3.exceptions.ReadTimeoutError"), Some(Code::EnvTimeout));
        assert_eq!(classify_class(b"rate_limit_error"), Some(Code::ToolRateLimit));
        assert_eq!(classify_class(b"java.net.UnknownHostException"), Some(Code::EnvDns));
        assert_eq!(classify_class(b"ValueError"), None);
    }
}
