//! Output of a check: separates failures of the change from failures of the environment.
//!
//! A test may expect any status, limit or refusal, may be named after one, and may log one. So a check is red
//! unless a tool says in its own diagnosis what it could not reach, fetch or write.

mod runners;
mod stop;

use memchr::memmem::find;

use super::{RuleVerdict, judge_diagnosis};
use crate::code::{Class, Code};
use crate::signature::{Diagnosis, Fact, LineRole, OutputLine};
pub(super) use runners::reports_failure;
pub use stop::{
    CheckStop, find_check_stop, find_missing_import, find_missing_of_script, is_failed_assertion,
};

/// Returns the verdict on the environment, if the output of a check has one.
pub(super) fn judge_surroundings(plain: &[u8], diagnosis: &Diagnosis<'_>) -> Option<RuleVerdict> {
    let about = |verdict: &RuleVerdict| verdict.code.row().class == Class::EnvError;
    if !about(&judge_diagnosis(diagnosis)) || reports_failure(plain) {
        return None;
    }
    let own = diagnosis.filter_lines(|line| !compares_values(line.text) && !is_result(line));
    let verdict = judge_diagnosis(&own);
    let told = || {
        is_reported_by_tool(&own, verdict.code)
            || own.aside_diagnosis().is_some_and(|a| is_reported_by_tool(&a, verdict.code))
    };
    (about(&verdict) && told()).then_some(verdict)
}

/// Returns whether a line is the result of a step in the words of the check: `FAILED: the limit is reached`.
fn is_result(line: &OutputLine<'_>) -> bool {
    const RESULTS: &[&[u8]] = &[b"FAIL", b"[FAIL", b"Failed:", b"failed:", b"Failure:", b"not ok"];
    line.role != LineRole::Finding && RESULTS.iter().any(|result| line.text.starts_with(result))
}

/// Returns whether a tool reports it, as far as the code requires one.
fn is_reported_by_tool(own: &Diagnosis<'_>, code: Code) -> bool {
    let lines = own.lines();
    match code {
        // The system's message about a full disk is the same from every program.
        Code::EnvDiskFull => lines.iter().any(is_labelled),
        // A program under test crashes because of the change; a compiler does not.
        Code::ToolCrash => lines.iter().any(|line| reports_compiler_death(line.text)),
        // A server on this machine may be the one under test.
        Code::EnvUnavailable | Code::ToolRateLimit => {
            lines.iter().any(|line| is_client_diagnosis(line) && !names_this_machine(line.text))
        }
        _ => lines.iter().any(is_client_diagnosis) || own.facts().iter().any(is_refusal),
    }
}

/// Returns whether a line is more than prose: it is marked as a failure.
const fn is_labelled(line: &OutputLine<'_>) -> bool {
    matches!(line.role, LineRole::Said | LineRole::Finding | LineRole::Exception)
}

/// Returns whether a line is the diagnosis of a client, a registry or a compiler: it begins with the name of
/// one, or says what was to be reached or fetched.
fn is_client_diagnosis(line: &OutputLine<'_>) -> bool {
    is_client_line(line.text)
        || names_address(line.text)
        || (line.role != LineRole::Exception && mentions_download(line.text))
}

/// Returns whether the fact is an error number or name of the system, or a client's exception. A test that
/// asserts one is recognized by its runner's report.
fn is_refusal(fact: &Fact<'_>) -> bool {
    match fact {
        Fact::Errno(_) => true,
        Fact::Name(name) => {
            name.starts_with(b"EAI_") || (name.starts_with(b"E") && !name.contains(&b'_'))
        }
        Fact::Class(class) => is_client_class(class),
        _ => false,
    }
}

/// Returns whether a line compares an expected value with an actual one.
fn compares_values(text: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"expected", b"expect", b"expects", b"expecting", b"want", b"wanted", b"should", b"actual",
        b"instead", b"mismatch", b"differs", b"!=", b"==", b"!==", b"===",
    ];
    const PHRASES: &[&[u8]] = &[
        b"ssert", b"but was", b"but got", b"but received", b"not equal", b"to equal",
        b"did not raise", b"did not throw", b"didn't raise", b"not raised", b"Expected",
        b"does not match",
    ];
    if PHRASES.iter().any(|phrase| find(text, phrase).is_some()) {
        return true;
    }
    text.split(|b| matches!(b, b' ' | b',' | b':' | b'(' | b')' | b';' | b'\t'))
        .any(|word| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

/// Returns whether a line is the diagnosis of a network client or of a program that a build depends on:
/// `curl: (7) …`, `/usr/bin/ld: …`, `fatal: …` of git, `E: …` of apt.
pub(super) fn is_client_line(text: &[u8]) -> bool {
    const CLIENTS: &[&[u8]] = &[
        b"curl", b"wget", b"git", b"fatal", b"ssh", b"scp", b"sftp", b"rsync", b"psql", b"pg_dump",
        b"pg_restore", b"pg_isready", b"createdb", b"mysql", b"mysqldump", b"mysqladmin",
        b"redis-cli", b"mongosh", b"docker", b"podman", b"buildah", b"skopeo", b"kubectl", b"helm",
        b"terraform", b"ansible", b"aws", b"gcloud", b"gsutil", b"az", b"gh", b"glab", b"pip",
        b"pip3", b"uv", b"poetry", b"conda", b"npm", b"npx", b"pnpm", b"yarn", b"bun", b"deno",
        b"cargo", b"rustup", b"go", b"mvn", b"gradle", b"bundle", b"bundler", b"gem", b"composer",
        b"dotnet", b"nuget", b"apt", b"apt-get", b"dpkg", b"apk", b"dnf", b"yum", b"brew", b"E",
        b"ld", b"ld.lld", b"ld.gold", b"mold", b"collect2", b"cc", b"gcc", b"g++", b"c++",
        b"clang", b"rustc", b"javac", b"tar", b"sqlite3", b"gpg", b"nc", b"ping", b"dig", b"ftp",
        b"rclone",
    ];
    let end = text.iter().position(|b| matches!(b, b':' | b' ')).unwrap_or(0);
    let name = text[..end].rsplit(|b| *b == b'/').next().unwrap_or_default();
    text.get(end) == Some(&b':') && CLIENTS.contains(&name)
}

/// Returns whether a line names an address: `https://registry.example.com/x`, `host 'db'`, `server at "db"`,
/// `10.0.0.7:443`.
fn names_address(text: &[u8]) -> bool {
    const MARKS: &[&[u8]] = &[b"://", b"host ", b"host: ", b"host=", b"hostname ", b"server at "];
    MARKS.iter().any(|mark| find(text, mark).is_some()) || has_port(text)
}

/// Returns whether a line contains a host with a port: `10.0.0.7:443`, `localhost:5432`.
fn has_port(text: &[u8]) -> bool {
    memchr::memchr_iter(b':', text).any(|at| {
        let word = text[..at].rsplit(|b| matches!(b, b' ' | b'(' | b'\'' | b'"')).next();
        let host = word.unwrap_or_default();
        let number = host.contains(&b'.') && host.iter().all(|b| matches!(b, b'0'..=b'9' | b'.'));
        text.get(at + 1).is_some_and(u8::is_ascii_digit) && (number || host == b"localhost")
    })
}

/// Returns whether a line mentions this machine, where the program under test listens.
fn names_this_machine(text: &[u8]) -> bool {
    const NAMES: &[&[u8]] = &[b"localhost", b"127.0.0.1", b"[::1]", b"0.0.0.0"];
    let ends = |at: usize| !text.get(at).is_some_and(u8::is_ascii_digit);
    NAMES.iter().any(|name| find(text, name).is_some_and(|at| ends(at + name.len())))
}

/// Returns whether an exception class belongs to a network client library.
fn is_client_class(class: &[u8]) -> bool {
    const LIBRARIES: &[&[u8]] = &[
        b"java.net.", b"javax.net.", b"pip._vendor.", b"requests.exceptions.", b"urllib3.",
        b"urllib.error.", b"httpx.", b"httpcore.", b"aiohttp.", b"socket.", b"psycopg2.",
        b"psycopg.", b"pymysql.", b"redis.exceptions.", b"botocore.", b"Net::", b"Faraday::",
        b"System.Net.", b"Npgsql.", b"GuzzleHttp\\",
    ];
    LIBRARIES.iter().any(|library| class.starts_with(library))
}

/// Returns whether a line mentions a download.
fn mentions_download(text: &[u8]) -> bool {
    const SIGNS: &[&[u8]] =
        &[b"egistry", b"from daemon", b"ownload", b"rtifact", b"mirror", b"tarball", b"ependenc"];
    SIGNS.iter().any(|sign| find(text, sign).is_some())
}

/// Returns whether a line reports that a compiler or a linker crashed, or that the system killed a program.
fn reports_compiler_death(text: &[u8]) -> bool {
    const SIGNS: &[&[u8]] = &[
        b"ompiler", b"rustc", b"cc1", b"collect2", b"could not compile", b"heap out of memory",
        b"fork", b"Killed", b"SIGKILL",
    ];
    SIGNS.iter().any(|sign| find(text, sign).is_some())
}
