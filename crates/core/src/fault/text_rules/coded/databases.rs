//! Replies of database servers: error numbers, first words, result codes.

use super::parse_number;
use crate::code::Code;
use crate::signature::find_part;

/// Classifies `ERROR 1142 (42000) at line 5: …` by the numbers of the server and its client.
pub(super) fn classify_mysql(text: &[u8]) -> Option<Code> {
    const DUMP: &[u8] = b"Got error: ";
    let (number, rest) = if let Some(rest) = text.strip_prefix(b"ERROR ") {
        parse_number(rest).filter(|(_, rest)| rest.starts_with(b" ("))?
    } else {
        parse_number(&text[find_part(text, DUMP)? + DUMP.len()..])?
    };
    let ends = |end: &[u8]| rest.trim_ascii_end().ends_with(end);
    Some(match number {
        1021 | 1114 => Code::EnvDiskFull,
        1130 | 1698 | 3118 | 3955 => Code::AuthInvalid,
        1820 | 1862 => Code::AuthExpired,
        1044 | 1095 | 1142 | 1143 | 1227 | 1370 | 1410 | 1792 | 1836 | 3159 => {
            Code::ToolAccessDenied
        }
        1226 => Code::ToolQuota,
        1159 | 1161 | 1205 | 3024 => Code::EnvTimeout,
        2003 if ends(b"(110)") || ends(b"(60)") => Code::EnvTimeout,
        2005 => Code::EnvDns,
        1042
        | 1043
        | 1053
        | 1077
        | 1079
        | 1152
        | 1158
        | 1160
        | 1184
        | 1189
        | 1190
        | 2001..=2004
        | 2006
        | 2012
        | 2013
        | 2055 => Code::EnvConnection,
        1015 | 1020 | 1040 | 1203 | 1213 | 1317 | 1412 | 1614 | 3058 | 3100 | 3101 | 3572 => {
            Code::EnvUnavailable
        }
        1016 | 1034 | 1035 | 1037 | 1038 | 1041 | 1135 | 1194 | 1195 | 1712 | 1877 | 2008 => {
            Code::ToolCrash
        }
        1007 | 1008 | 1046 | 1049 | 1102 | 1115 | 1148 | 1153 | 1193 | 1210 | 1231 | 1235
        | 1238 | 1251 | 1273 | 1286 | 1298 | 1396 | 1418 | 1419 | 1449 | 1524 | 1819 | 1840
        | 1872 | 2019 | 2020 | 2026 | 2054 | 2059 | 2061 | 2068 | 3098 | 3161 | 4031 => {
            Code::ToolConfig
        }
        1045 if find_part(text, DUMP).is_some() => Code::AuthInvalid,
        // These depend on whether a password was given, on an option, or on the errno at the end.
        1030 | 1045 | 1290 | 1598 => return None,
        1048..=1999 | 3000..=4999 => Code::LogicError,
        _ => return None,
    })
}

/// Classifies `(error) WRONGTYPE …` by the first word of the Redis reply.
pub(super) fn classify_redis(text: &[u8]) -> Option<Code> {
    let reply = text.strip_prefix(b"(error) ")?;
    let word = reply.split(|b| *b == b' ').next()?;
    Some(match word {
        b"WRONGPASS" => Code::AuthInvalid,
        b"NOPERM" | b"READONLY" | b"DENIED" => Code::ToolAccessDenied,
        b"MISCONF" => Code::EnvDiskFull,
        b"OOM" => Code::ToolCrash,
        b"MOVED" | b"ASK" | b"NOPROTO" => Code::ToolConfig,
        b"LOADING" | b"BUSY" | b"MASTERDOWN" | b"CLUSTERDOWN" | b"TRYAGAIN" | b"NOREPLICAS"
        | b"NOGOODSLAVE" | b"NOMASTERLINK" | b"INPROG" | b"IOERR" => Code::EnvUnavailable,
        b"WRONGTYPE" | b"NOSCRIPT" | b"NOGROUP" | b"BUSYGROUP" | b"BUSYKEY" | b"CROSSSLOT"
        | b"EXECABORT" | b"UNKILLABLE" | b"NOTBUSY" => Code::LogicError,
        _ => return None,
    })
}

/// Classifies `Runtime error near line 4: … (19)`: SQLite's message about a statement with its result code.
pub(super) fn classify_sqlite(text: &[u8]) -> Option<Code> {
    const OPENINGS: [&[u8]; 5] = [
        b"Error: in prepare, ", b"Error: stepping, ", b"Parse error near line ",
        b"Runtime error near line ", b"Error: near line ",
    ];
    const LEFT_TO_WORDS: [&[u8]; 8] = [
        b" locked", b"readonly", b"I/O error", b" disk ", b"memory", b"not a database",
        b"not authorized", b"prohibited",
    ];
    let opening = OPENINGS.iter().find(|opening| text.starts_with(opening))?;
    let said = &text[opening.len()..];
    let has = |words: &[&[u8]]| words.iter().any(|word| find_part(said, word).is_some());
    Some(match result_code(text) {
        Some(5 | 6) => Code::EnvUnavailable,
        Some(3 | 8 | 23) => Code::ToolAccessDenied,
        Some(7 | 10 | 11) => Code::ToolCrash,
        Some(13) => Code::EnvDiskFull,
        Some(14 | 26) => Code::ToolConfig,
        None if has(&[b"in progress"]) => Code::EnvUnavailable,
        None if has(&[b"unable to open"]) => Code::ToolConfig,
        None if has(&LEFT_TO_WORDS) => return None,
        _ => Code::LogicError,
    })
}

/// Classifies `ERROR:  extension "vector" is not available`: the text after the server's level, if it is
/// about the server and not about the statement.
pub(super) fn classify_postgres(text: &[u8]) -> Option<Code> {
    const LEVELS: [&[u8]; 3] = [b"ERROR:  ", b"FATAL:  ", b"PANIC:  "];
    const SETTINGS: [&[u8]; 15] = [
        b"could not open extension control file",
        b"no schema has been selected",
        b"incompatible library ",
        b"could not load library ",
        b"parameter ",
        b"unrecognized configuration parameter ",
        b"invalid value for parameter ",
        b"extension ",
        b"tablespace ",
        b"language ",
        b"replication slot ",
        b"publication ",
        b"server \"",
        b"could not access file ",
        b"prepared transactions are disabled",
    ];
    const DAMAGE: [&[u8]; 7] = [
        b"invalid page in block",
        b"could not read block",
        b"missing chunk number",
        b"contains unexpected zero page",
        b"cache lookup failed",
        b"valid checkpoint record",
        b"shared memory",
    ];
    let level = LEVELS.iter().find_map(|level| Some(find_part(text, level)? + level.len()))?;
    let said = &text[level..];
    let has = |words: &[&[u8]]| words.iter().any(|word| find_part(said, word).is_some());
    Some(match () {
        () if has(&[b"row-level security"]) => Code::ToolAccessDenied,
        () if has(&[b"read-only transaction"]) => Code::ToolAccessDenied,
        () if has(&[b"not permitted to log in", b"pg_hba.conf rejects", b"or user not found"]) => {
            Code::AuthInvalid
        }
        () if has(&[b"requires a valid client certificate"]) => Code::AuthMissing,
        () if has(&[b"conflict with recovery", b"due to user request"]) => Code::EnvUnavailable,
        () if has(&[b"query_wait_timeout", b"idle-session timeout"]) => Code::EnvTimeout,
        () if has(&[b"temp_file_limit"]) => Code::EnvDiskFull,
        () if has(&DAMAGE) => Code::ToolCrash,
        () if has(&[b"wal_level"]) => Code::ToolConfig,
        () if SETTINGS.iter().any(|opening| said.starts_with(opening)) => Code::ToolConfig,
        () if said.starts_with(b"could not open file ") && has(&[b"No such file"]) => {
            Code::ToolConfig
        }
        () => return None,
    })
}

/// Parses the number in parentheses at the end.
fn result_code(text: &[u8]) -> Option<u32> {
    let inner = text.trim_ascii_end().strip_suffix(b")")?;
    let at = memchr::memrchr(b'(', inner)?;
    let (value, rest) = parse_number(&inner[at + 1..])?;
    rest.is_empty().then_some(value)
}
