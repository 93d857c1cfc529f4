//! Any text can be written where a host is meant: it is read in one way or not at all, it reads the
//! same again, and what is not listed is not matched.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_world::egress::{EgressHost, EgressTarget, HostPattern, ReachEntry};

fuzz_target!(|input: (&str, &str)| {
    let (asked, listed) = input;
    if let Ok(target) = EgressTarget::parse(asked) {
        assert_eq!(EgressTarget::parse(&target.to_string()).as_ref(), Ok(&target));
        assert!(HostPattern::from_target(&target).matches(&target));
        if let Ok(pattern) = HostPattern::parse(listed) {
            assert_eq!(HostPattern::parse(&pattern.to_string()).as_ref(), Ok(&pattern));
            if let (true, EgressHost::Name(name)) = (pattern.matches(&target), &target.host) {
                let written = listed.to_ascii_lowercase();
                let end = name.rsplit('.').next().unwrap_or(name);
                assert!(written.contains(end), "{listed} matches {asked}");
            }
        }
    }
    let _ = HostPattern::from_url(asked);
    let _ = ReachEntry::parse(listed);
});
