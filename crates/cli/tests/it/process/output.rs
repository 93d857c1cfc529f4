//! What programs read and write.

use unstuck_world::process::{ProcessEnd, ProcessInput};

use super::launches::{Stage, run, text};

#[test]
fn both_streams_are_kept_in_the_order_they_arrive() {
    let stage = Stage::new();
    let mut launch = stage.script("read a; echo $a; read b; echo $b >&2; cat");
    launch.input = ProcessInput::Bytes(b"one\ntwo\nthree".to_vec());
    let kept = text(&run(launch));
    for line in ["one\n", "two\n", "three"] {
        assert!(kept.contains(line), "{kept:?}");
    }
    assert_eq!(kept.len(), 13);
}

#[test]
fn input_that_is_not_read_does_no_harm() {
    let stage = Stage::new();
    let mut launch = stage.script("exit 3");
    launch.input = ProcessInput::Bytes(vec![b'x'; 1 << 20]);
    assert_eq!(run(launch).how, ProcessEnd::Exited(3));
    assert_eq!(text(&stage.run("cat; echo end")), "end\n");
}

#[test]
fn what_is_not_unicode_is_kept_as_it_is() {
    let stage = Stage::new();
    let ended = stage.run(r"printf '\377\376\000caf\351'");
    assert_eq!(ended.output.to_bytes(), b"\xff\xfe\0caf\xe9");
}

#[test]
fn output_is_capped_with_its_beginning_and_its_end() {
    let stage = Stage::new();
    let mut launch = stage.script("echo first; yes | head -c 100000; echo last");
    launch.output_bytes_max = 400;
    let ended = run(launch);
    let kept = text(&ended);
    assert!(kept.starts_with("first\ny\n") && kept.ends_with("y\nlast\n"), "{kept}");
    assert_eq!(ended.output.dropped_bytes(), 100_011 - 400);
}

#[test]
fn a_hundred_megabytes_stay_bounded_in_memory() {
    let stage = Stage::new();
    let before = memory_peak_kb();
    let mut launch = stage.script("head -c 100000000 /dev/zero");
    launch.output_bytes_max = 64 * 1_024;
    let ended = run(launch);
    assert_eq!(ended.output.dropped_bytes(), 100_000_000 - 64 * 1_024);
    let grown = memory_peak_kb() - before;
    assert!(grown < 32 * 1_024, "{grown} kB more");
}

/// The most memory that this process ever had.
fn memory_peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}
