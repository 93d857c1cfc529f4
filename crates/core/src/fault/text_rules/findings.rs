//! Step 1: a finding of a compiler, a linter or a test runner is about the code.

use super::Verdict;
use super::hit::Hit;
use crate::fault::table::Code;
use crate::signature::{Diagnosis, Fact, Role, is_settings};

const COMPILER: &str = "finding.compiler";
const TEST: &str = "finding.test";
const SETTINGS: &str = "finding.settings";
const EXCEPTION: &str = "exception.code";
const VARIABLE: &str = "exception.variable";

pub(super) const RULES: &[&str] = &[COMPILER, TEST, SETTINGS, EXCEPTION, VARIABLE];

/// A finding wins over everything but a full disk and a tool that died.
pub(super) fn find(diagnosis: &Diagnosis<'_>, structured: &Hit) -> Option<Verdict> {
    let verdict = |code, rule| Some(Verdict { code, rule });
    let lines = diagnosis.lines();
    if lines.iter().any(|line| matches!(line.role, Role::Test | Role::TestDetail)) {
        return verdict(Code::LogicError, TEST);
    }
    let placed = diagnosis.place();
    let is_finding = |role| role == Role::Finding || (role == Role::Said && placed.is_some());
    let finding = lines.iter().find(|line| is_finding(line.role))?;
    if structured.is(Code::EnvDiskFull) || structured.is(Code::ToolCrash) {
        return None;
    }
    if finding.file.or(placed).is_some_and(is_settings) {
        return verdict(Code::ToolConfig, SETTINGS);
    }
    verdict(Code::LogicError, COMPILER)
}

/// An exception that only wrong code raises. Words of its message say nothing about the world.
pub(super) fn own_exception(diagnosis: &Diagnosis<'_>) -> Option<Verdict> {
    const CLASSES: &[&[u8]] = &[
        b"SyntaxError",
        b"IndentationError",
        b"TabError",
        b"TypeError",
        b"NameError",
        b"AttributeError",
        b"ImportError",
        b"ModuleNotFoundError",
        b"AssertionError",
        b"IndexError",
        b"KeyError",
        b"ZeroDivisionError",
        b"ReferenceError",
        b"RangeError",
        b"UnboundLocalError",
        b"RecursionError",
        b"NotImplementedError",
        b"NoMethodError",
        b"ArgumentError",
        b"NullPointerException",
        b"ClassCastException",
        b"ArgumentException",
        b"IndexOutOfBoundsException",
        b"ArrayIndexOutOfBoundsException",
        b"ClassNotFoundException",
        b"NoSuchMethodError",
        b"NoClassDefFoundError",
        b"IllegalArgumentException",
        b"NumberFormatException",
        b"ArithmeticException",
        b"StackOverflowError",
        b"NullReferenceException",
        b"InvalidCastException",
        b"ArgumentNullException",
        b"ParseError",
        b"ArgumentCountError",
        b"FrozenError",
        b"LoadError",
        b"FloatDomainError",
    ];
    let mut found = None;
    for fact in diagnosis.facts() {
        let Fact::Class(class) = fact else { continue };
        let last = class.rsplit(|b| matches!(b, b'.' | b':' | b'\\')).next().unwrap_or(class);
        if last == b"KeyError" && names_variable(diagnosis) {
            return Some(Verdict { code: Code::AuthMissing, rule: VARIABLE });
        }
        if CLASSES.contains(&last) {
            found = Some(Verdict { code: Code::LogicError, rule: EXCEPTION });
        }
    }
    found
}

/// `KeyError: 'API_TOKEN'`: a key in capitals with an underscore is an environment variable, and a
/// program that insists on one insists on an account.
fn names_variable(diagnosis: &Diagnosis<'_>) -> bool {
    diagnosis.lines().iter().any(|line| {
        let Some(at) = memchr::memmem::find(line.text, b"KeyError: '") else { return false };
        let key = &line.text[at + 11..];
        let key = key.split(|b| *b == b'\'').next().unwrap_or(key);
        key.contains(&b'_')
            && key.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
    })
}
