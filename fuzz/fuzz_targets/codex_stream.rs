//! Any bytes can be read as a session of Codex, whole or in pieces, with the same result; and
//! whatever it is told is JSON, a message per line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_world::agent::{Activity, AgentEnd};
use unstuck_world::provider::LineSplitter;
use unstuck_world::provider::codex_cli::{CodexAccess, CodexSession, CodexSessionParams};

fuzz_target!(|input: (&[u8], u8)| {
    let (bytes, piece) = input;
    let whole = read(bytes, bytes.len().max(1));
    for line in whole.2.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        assert!(serde_json::from_slice::<serde_json::Value>(line).is_ok());
    }
    assert_eq!(whole, read(bytes, usize::from(piece) + 1));
});

fn read(bytes: &[u8], piece: usize) -> (Option<AgentEnd>, Vec<Activity>, Vec<u8>) {
    let mut session = CodexSession::new(CodexSessionParams {
        directory: "/repo".into(),
        prompt: "do it".to_owned(),
        thread: Some("t".to_owned()),
        model: None,
        turns_max: Some(3),
        access: CodexAccess::Workspace,
        allowed_commands: std::collections::BTreeSet::new(),
        zone: unstuck_world::notify::TimeZone::UTC,
    });
    let (mut activities, mut reply, mut lines) =
        (Vec::new(), session.first_message(), LineSplitter::default());
    for chunk in bytes.chunks(piece) {
        lines.push(chunk, |line| session.handle_line(line, &mut activities, &mut reply));
    }
    lines.finish(|line| session.handle_line(line, &mut activities, &mut reply));
    (session.reported_end().cloned(), activities, reply)
}
