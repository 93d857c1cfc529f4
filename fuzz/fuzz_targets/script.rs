//! Any text can be read as the script of an agent; what cannot is a fault of the file that names a
//! place in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_core::fault::{Code, Kind};
use unstuck_world::provider::script::AgentScript;

fuzz_target!(|text: &str| {
    let Err(fault) = AgentScript::parse(text, "script.toml") else { return };
    match (fault.code(), &fault.kind) {
        (Code::ConfigParseError, Kind::ConfigParseError(config)) => {
            let lines = text.matches('\n').count() + 1;
            let line = config.line.unwrap_or(1) as usize;
            assert!((1..=lines).contains(&line), "line {line} of {lines}");
        }
        (code, _) => assert_eq!(code, Code::ConfigInvalid),
    }
});
