//! Any bytes can be looked through for secrets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_world::validate::Secrets;

fuzz_target!(|patch: &[u8]| {
    let findings = Secrets::new(["a secret value"]).scan(patch);
    assert!(findings.len() <= patch.len());
});
