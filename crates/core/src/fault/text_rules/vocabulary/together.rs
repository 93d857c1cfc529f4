//! Word combinations that indicate a cause within a line, by category.
//!
//! The phrases are exact wordings of many tools; the combinations cover the ways in which another tool may
//! say the same.

#[cfg_attr(not(test), expect(clippy::wildcard_imports, reason = "a table over all the kinds"))]
use super::kinds::*;
use crate::code::Code;

/// A rule: kinds of words in their order.
pub(in super::super) struct Together {
    pub(in super::super) id: &'static str,
    pub(in super::super) code: Code,
    /// The kinds; the line must have one word of each, in this order.
    pub(in super::super) words: &'static [u128],
    /// Maximum number of other words between two of them.
    pub(in super::super) gap: usize,
    /// Kinds that must not occur in the same line.
    pub(in super::super) without: u128,
}

/// The rule for a wrong credential, which no request for a login outweighs.
pub(in super::super) const WRONG_SECRET: &str = "words.secret-wrong";
/// The rule for a missing login, which says more than that the login failed.
pub(in super::super) const LOGIN_FIRST: &str = "words.login-first";
/// The rule for locks, which rank between git's own locks and outages.
pub(in super::super) const LOCKED: &str = "words.locked";
/// The rule for a resource that another program uses first, which a timeout beside it explains.
pub(in super::super) const HELD: &str = "words.held";
/// The rule for ports, which no word about other processes outweighs.
pub(in super::super) const PORT_TAKEN: &str = "words.port";
/// The rule for a connection setting, which is not about a connection.
pub(in super::super) const LINK_SETTING: &str = "words.link-setting";

/// The rule for missing programs.
pub(in super::super) const MISSING_TOOL: &str = "words.tool-missing";

/// The rule for programs that refuse to run as root, which does not ask for rights.
pub(in super::super) const NOT_AS_ROOT: &str = "words.not-as-root";
/// The rule for plans and credit, which code that raises an exception may itself be about.
pub(in super::super) const PLAN_USED_UP: &str = "words.quota";
/// The rule for a damaged input file, which is not damage of the tool itself.
pub(in super::super) const DAMAGED: &str = "words.damaged";

macro_rules! together {
    ($($id:expr => $code:ident {
        $([$($word:expr),+] $gap:literal $(without $without:expr)?;)+
    })+) => {
        &[$($(Together {
            id: $id,
            code: Code::$code,
            words: &[$($word),+],
            gap: $gap,
            without: 0 $(| $without)?,
        },)+)+]
    };
}

/// The rule for words of code, which any cause outweighs.
pub(in super::super) const OF_CODE: &str = "words.code";

pub(in super::super) static TOGETHER: &[Together] = together! {
    "words.expired" => AuthExpired {
        [SECRET | LOGIN, EXPIRED] 4;
        [EXPIRED, SECRET | LOGIN] 2;
    }
    LOGIN_FIRST => AuthMissing {
        [ASKS_WHETHER, LOGIN] 4;
        [LOGS_IN] 0 without FAILED | WRONG;
        [NEEDS, ACCOUNT] 4 without WRONG;
        [SECRET, MISSING] 1 without WRONG | RIGHTS | ROOT;
        [MISSING, SECRET] 1 without WRONG | RIGHTS | ROOT;
        [ANONYMOUS, NO | DENIED | REJECTED] 5;
    }
    "words.login-missing" => AuthMissing {
        [NO | NEEDS, SECRET] 3 without RIGHT | SAFE;
        [NO | FAILED | ERROR, GETS, SECRET] 2 without WRONG | REJECTED | SAFE;
        [NO, IDENTITY, THERE] 2;
        [IDENTITY, NO, THERE] 2;
        [SECRET, NO, THERE] 2;
        [SECRET, NEEDS] 2 without WRONG;
        [ASKS, SECRET] 5 without WRONG | RIGHT;
        [NO, LOGIN] 1 without FAILED | RIGHT | PROVEN | WRONG;
        [SETS, SECRET] 1 without FAILED | NO | WRONG;
        [LOGIN, NO, THERE] 2 without PART;
        [NEEDS | ASKS, LOGIN] 3 without FAILED;
        [LOGIN, NEEDS] 1;
        [NO, ACCOUNT] 3;
        [ACCOUNT, NEEDS] 2;
    }
    WRONG_SECRET => AuthInvalid {
        [WRONG, SECRET] 3;
    }
    "words.login-rejected" => AuthInvalid {
        [SECRET, WRONG | REJECTED] 5;
        [SECRET, NO, RIGHT] 3;
        [NO, KEY, SECRET] 4;
        [NO, RIGHT, SECRET] 2;
        [NO, IDENTITY, RIGHT] 2;
        [NO | FAILED, RIGHT, IDENTITY] 2;
        [FAILED, SECRET] 1;
        [OTHER, SECRET] 1;
        [FAILED | NO | ERROR, LOGIN] 2 without PART;
        [LOGIN, FAILED | REJECTED | WRONG | ERROR] 3 without PART;
        [SECRET, FAILED] 2;
        [ACCOUNT, REJECTED | LOCK] 3;
    }
    "words.denied" => ToolAccessDenied {
        [NO, RIGHTS] 1;
        [NO, HAS, RIGHTS] 4;
        [NEEDS | LITTLE, RIGHTS] 3;
        [RIGHTS, DENIED | REJECTED | NEEDS] 6;
        [NEEDS | UNLESS | ASKS, ROOT] 6 without NO;
        [NO, UNLESS, ROOT] 6;
        [UNLESS | NEEDS | NO | LITTLE, ROLE] 4;
        [POLICY, NO, PERMITS] 3;
        [POLICY, REJECTED | DENIED] 3;
        [ACCESS, REJECTED] 2;
        [ROLE, ONLY] 1;
        [DENIED] 0;
        [ROOT_ONLY] 0;
    }
    LOCKED => EnvUnavailable {
        [HOLDS | NO | FAILED, LOCK] 3 without PINNED;
    }
    HELD => EnvUnavailable {
        [LOCK, HOLDS] 4 without PINNED;
        [INSTANCE, LOCK] 3 without PINNED;
        [ANOTHER_ONE, ACTIVE] 3;
        [INSTANCE, IN_PROGRESS] 1;
        [FILES, LOCK] 1 without PINNED;
        [ANOTHER, INSTANCE, ACTIVE | LOCK] 5;
        [INSTANCE, ALREADY, ACTIVE] 3;
        [DISK, ACTIVE] 3;
        [CHANGED, AGAIN] 14;
        [TAKEN] 0;
        [PID_FILE] 0 without NO;
    }
    PORT_TAKEN => ToolConfig {
        [PORT, IN_USE] 7;
    }
    LINK_SETTING => ToolConfig {
        [NAMED_LINK, NO | MISSING | WRONG] 1;
        [NO | MISSING | WRONG, NAMED_LINK] 0;
    }
    "words.disk-full" => EnvDiskFull {
        [LITTLE | NO | MORE, SPACE] 3 without INNER;
        [LITTLE, DISK] 2 without RATE;
        [NEEDS, SIZED, MORE] 2 without MEMORY;
        [UNLESS, SIZED, LEFT] 2 without MEMORY;
        [ALLOCATES, DISK] 4;
        [DISK | SPACE, FULL] 4 without INNER | RATE | CONNECTS;
    }
    "words.memory" => ToolCrash {
        [LITTLE | ALLOCATES, MEMORY] 4;
        [MEMORY, FULL | LITTLE] 5;
        [MEMORY, ALLOCATES, FAILED] 3;
        [MORE, MEMORY] 2;
        [FULL, MEMORY] 4;
        [KEPT, BROKEN] 4;
        [BROKEN, KEPT] 2;
        [IO] 0 without WRONG | THERE;
    }
    MISSING_TOOL => ToolMissing {
        [WRONG | NO, COMMAND] 3 without LINE;
        [COMMAND, NO, FOUND | RIGHT | THERE] 3 without LINE;
        [NO, RIGHT, COMMAND] 6 without LINE;
        [NO, THERE, INSTALLED] 3 without PART;
        [NO | FAILED, FOUND, ON_MACHINE] 4 without PART;
        [NO | FAILED, FOUND, PROGRAM] 3 without PART | FORM;
        [PROGRAM, NO, FOUND | INSTALLED] 9 without PART;
        [NEEDS, PROGRAM] 1 without PART;
        [NO | NEEDS, INSTALLED] 3 without PART | FORM;
        [NO, THERE, INSTALL] 9 without PART | FORM;
        [NO, PROGRAM, FOUND | INSTALLED] 4 without PART;
        [PROGRAM, NEEDS] 2 without PART | SECRET;
        [ASKS_WHETHER, INSTALLED] 8 without PART;
        [ASKS, INSTALL] 2 without PART | FORM;
        [FAILED | NO | ERROR, STARTS, NO_FILE] 6;
        [FAILED | NO | ERROR, RUNS, NOT_FOUND] 1;
    }
    "words.limited" => ToolRateLimit {
        [RATE, OVER] 4 without SIZED | TIME_LIMIT;
        [OVER, RATE] 4 without SIZED | TIME_LIMIT;
        [TOO_MANY] 0 without UNLIMITED;
        [TOO_FAST] 0;
        [LIMIT, OVERRUN] 5 without SIZED | TIME_LIMIT | MEMORY | UNLIMITED | DISK | SPACE | CODE;
        [OVERRUN, LIMIT] 3 without SIZED | TIME_LIMIT | MEMORY | UNLIMITED | DISK | SPACE | CODE;
    }
    PLAN_USED_UP => ToolQuota {
        [OVER, PLAN | UPGRADE] 9 without SIZED;
        [LITTLE | NO | OVER | NEEDS, MONEY] 3;
        [LITTLE, RATE] 2 without SIZED;
        [RATE, NO, PERMITS] 2;
        [MONEY, OVER | OVERDUE_BILL | LITTLE | NO] 3;
        [ASKS, MONEY] 3;
    }
    NOT_AS_ROOT => ToolConfig {
        [NO, AS_ROOT] 3 without UNLESS | NEEDS;
    }
    DAMAGED => ToolConfig {
        [ARCHIVE, BROKEN] 4;
        [BROKEN, ARCHIVE] 2;
    }
    "words.dns" => EnvDns {
        [FAILED | NO | WRONG | ERROR, RESOLVES, HOST] 3;
        [DNS, FAILED | NO | RESOLVES | ERROR] 3;
        [FAILED | NO | ERROR, DNS] 5;
        [HOST, NO, RESOLVES | THERE] 3 without PART;
    }
    "words.connection" => EnvConnection {
        [NO | FAILED, CONNECTS] 3 without NAMED_LINK | TLS | WRONG;
        [ERROR, CONNECTS] 1 without NAMED_LINK | TLS | WRONG;
        [BREAKS, CONNECTS] 1 without NAMED_LINK | TLS;
        [STREAM] 0;
        [ENDED] 0 without READ;
        [CONNECTS, LOST | NO] 4 without NAMED_LINK | TLS;
        [LINK, BREAKS] 2;
        [BREAKS, LINK] 1;
    }
    "words.unavailable" => EnvUnavailable {
        [SERVER, DOWN] 4;
        [NOT_YET] 0;
        [NO, SERVER, ACTIVE] 1;
        [INSTANCE, DEADLOCK] 8;
        [TEMPORARY, FAILED | ERROR] 2 without FILES;
        [NO | LITTLE, LEADER] 2 without KEY;
    }
    "words.timeout" => EnvTimeout {
        [NO | FAILED, WITHIN] 8 without INSIDE;
        [WAITS, TOO_LONG] 6;
        [STOPPED, TOO_LONG] 6;
        [NO | STOPPED | TOO_LONG, AFTER_TIME] 6;
        [OVERDUE] 0;
        [STOPPED, TIME_LIMIT] 4;
        [TIME_LIMIT, STOPPED] 2;
    }
    "words.conflict" => GitConflict {
        [MERGE, CONFLICT] 4;
        [CONFLICT, MERGE] 4;
    }
    "words.statement" => LogicError {
        [SQL, NO, THERE] 4;
        [WRONG, SQL] 2;
        [SYMBOL, NO, FOUND] 2 without NO_CODE | OUTSIDE;
    }
    OF_CODE => LogicError {
        [CODE, FAILED | ERROR | NO | WRONG | UNDEFINED] 4 without NO_CODE;
        [FAILED | ERROR | NO | WRONG | UNDEFINED, CODE] 4 without NO_CODE;
        [FALLEN] 0;
        [FAILED, BUILDS] 1;
        [ERROR, BUILDS] 1 without PART;
        [SEEN, ISSUES] 3;
        [ISSUES, SEEN] 3;
    }
};
