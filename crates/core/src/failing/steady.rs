//! Lines without the parts that vary from run to run although the same code failed: places, durations, times,
//! addresses, ports, seeds, ids of processes and threads, names of temporary files.

/// Returns the normalized line, equal for the same failure.
pub(super) fn steady_line(line: &str) -> String {
    let mut steady = String::with_capacity(line.len());
    for (at, word) in line.split_whitespace().enumerate() {
        if at > 0 {
            steady.push(' ');
        }
        steady.push_str(&steady_word(word));
    }
    // `in 0.12 s`, `line 14`: the number is a word of its own.
    let steady = without_numbers_after(&without_numbers_before(&steady));
    without_thread_number(&steady)
}

/// Removes the number of a thread: `thread 'tests::a' (4711) panicked at src/a.rs`.
fn without_thread_number(line: &str) -> String {
    let cut = line.strip_prefix("thread '").and_then(|rest| rest.split_once("' ("));
    match cut.and_then(|(name, rest)| Some((name, rest.split_once(") ")?))) {
        Some((name, (number, rest))) if is_decimal(number) => format!("thread '{name}' {rest}"),
        _ => line.to_owned(),
    }
}

/// Units that follow a duration as a word of their own.
const UNITS: &[&str] = &[
    "s", "ms", "us", "ns", "sec", "secs", "second", "seconds", "minutes", "wallclock", "usr",
    "sys", "cusr", "csys", "CPU",
];

/// Words before a number that varies from run to run.
const BEFORE: &[&str] = &[
    "line", "Line", "pid", "PID", "Pid", "seed", "Seed", "--seed", "shuffle", "-test.shuffle",
    "duration_ms", "duration", "elapsed", "goroutine", "port",
];

fn without_numbers_before(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let masked = words.iter().enumerate().map(|(at, word)| {
        let unit = words.get(at + 1).map(|next| next.trim_end_matches([')', ']', ',', '.', ';']));
        let is_number = is_decimal(word.trim_start_matches(['(', '[']));
        if is_number && unit.is_some_and(|unit| UNITS.contains(&unit)) { "#" } else { word }
    });
    masked.collect::<Vec<_>>().join(" ")
}

fn without_numbers_after(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let masked = words.iter().enumerate().map(|(at, word)| {
        let is_marked = at > 0 && BEFORE.contains(&words[at - 1].trim_matches(['(', ':', '=']));
        if is_marked && is_decimal(word.trim_end_matches([',', ':', '.', ')'])) {
            "#"
        } else {
            word
        }
    });
    masked.collect::<Vec<_>>().join(" ")
}

fn is_decimal(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Returns a word without its varying parts.
fn steady_word(word: &str) -> String {
    let bare = word.trim_matches(WRAPPERS);
    if is_duration(bare) || is_clock(bare) || is_address(bare) || is_uuid(bare) || is_epoch(bare) {
        return word.replace(bare, "#");
    }
    if bare.contains("/tmp/") || bare.contains("/var/folders/") {
        return word.replace(bare, "/tmp/#");
    }
    if let Some(masked) = mask_attribute(bare).or_else(|| mask_port(bare)) {
        return word.replace(bare, &masked);
    }
    match place_file(bare).or_else(|| cut_place(bare)) {
        Some(file) => word.replace(bare, file),
        None => word.to_owned(),
    }
}

/// Characters around the parts of a line.
const WRAPPERS: &[char] = &['(', ')', '[', ']', ',', ';', '"', '\'', '<', '>', '{', '}', '.'];

/// Masks `time="0.01"` and other attributes of `JUnit` XML that vary, `seed=4711`, `pid=12`, `ThreadId(3)` and
/// the hash in `Cart@1b2c3d4`.
fn mask_attribute(word: &str) -> Option<String> {
    const VARYING: &[&str] =
        &["time", "timestamp", "hostname", "duration", "duration_ms", "pid", "seed", "line"];
    if let Some((name, _)) = word.split_once('=').filter(|(name, _)| VARYING.contains(name)) {
        return Some(format!("{name}=#"));
    }
    if let Some((before, id)) = word.split_once("ThreadId(") {
        let rest = id.split_once(')').map_or("", |(_, rest)| rest);
        return Some(format!("{before}ThreadId(#){rest}"));
    }
    let (class, hash) = word.rsplit_once('@')?;
    let is_hash = (6..=8).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_hexdigit());
    (!class.is_empty() && is_hash).then(|| format!("{class}@#"))
}

/// Masks the port of an address of this machine, if it is one that the system gives away:
/// `http://localhost:43121/x`.
fn mask_port(word: &str) -> Option<String> {
    let (at, host) = ["localhost:", "127.0.0.1:", "[::1]:", "0.0.0.0:"]
        .iter()
        .find_map(|host| word.find(host).map(|at| (at, host)))?;
    let rest = &word[at + host.len()..];
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let port: u32 = rest[..digits].parse().ok()?;
    (port >= EPHEMERAL).then(|| format!("{}#{}", &word[..at + host.len()], &rest[digits..]))
}

/// The lowest port that a system chooses by itself.
const EPHEMERAL: u32 = 10_000;

/// Cuts the place off a path that has a colon of its own: `file:///w/a.mjs:3:5`.
fn cut_place(word: &str) -> Option<&str> {
    let (before, last) = word.rsplit_once(':')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(last) || !before.contains("://") {
        return None;
    }
    let file = match before.rsplit_once(':') {
        Some((file, line)) if is_number(line) => file,
        _ => before,
    };
    let name = file.rsplit('/').next()?;
    (file.starts_with("file:") && name.contains('.')).then_some(file)
}

/// Returns whether a word is a UUID.
fn is_uuid(word: &str) -> bool {
    let parts: Vec<usize> = word.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && word.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Returns whether a word is a time in seconds or milliseconds since 1970: ten or thirteen digits of a time
/// after 2014.
fn is_epoch(word: &str) -> bool {
    let whole = word.split('.').next().unwrap_or(word);
    is_decimal(word) && matches!(whole.len(), 10 | 13) && ("14".."20").contains(&&whole[..2])
}

/// Returns whether a word is a duration: `0.12s`, `3ms`, `1m2s`.
fn is_duration(word: &str) -> bool {
    let number = word.trim_end_matches(|last: char| last.is_ascii_alphabetic() || last == 'µ');
    let unit = &word[number.len()..];
    is_decimal(number) && matches!(unit, "s" | "ms" | "us" | "µs" | "ns" | "m" | "min")
}

/// Returns whether a word is a time: `12:31:05`, `2026-11-16T12:31:05.001Z`.
fn is_clock(word: &str) -> bool {
    let digits = |byte: u8| byte.is_ascii_digit() || b":-.TZ+,".contains(&byte);
    word.matches(':').count() >= 2 && word.bytes().all(digits)
}

/// Returns whether a word is an address: `0x7f3a…`.
fn is_address(word: &str) -> bool {
    let Some(digits) = word.strip_prefix("0x") else { return false };
    digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the file of a place such as `src/lib.rs:12:5` or `test_a.py:3:`.
pub(crate) fn place_file(word: &str) -> Option<&str> {
    let (file, place) = word.split_once(':')?;
    let is_file = file.contains('.') || file.contains('/');
    let mut numbers = place.trim_end_matches(':').split(':');
    let all = numbers.all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    (is_file && all).then_some(file)
}
