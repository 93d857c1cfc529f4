//! Any bytes can be looked through for secrets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_world::validate::SecretScanner;

fuzz_target!(|patch: &[u8]| {
    let findings = SecretScanner::new(["a secret value"]).scan_patch(patch);
    assert!(findings.len() <= patch.len());
});
