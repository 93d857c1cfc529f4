//! A command that works: nobody notices that it is looked after.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use super::stage::{Stage, text};

#[test]
fn output_passes_through_byte_by_byte() {
    let stage = Stage::new();
    let bytes: Vec<u8> =
        (0..10_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(stage.path("out"), &bytes).unwrap();
    fs::write(stage.path("err"), b"\xff\xfe\0 no newline at the end").unwrap();
    let ran = stage.run(&[], "cat out; cat err >&2");
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(ran.stdout == bytes, "{} bytes came through", ran.stdout.len());
    assert_eq!(ran.stderr, b"\xff\xfe\0 no newline at the end");
}

#[test]
fn it_reads_what_it_would_read_without_us() {
    let stage = Stage::new();
    let mut child = stage.exec(&[], "cat").stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"from outside").unwrap();
    let ran = child.wait_with_output().unwrap();
    assert_eq!((ran.status.code(), text(&ran.stdout)), (Some(0), "from outside".to_owned()));
}

#[test]
fn it_runs_where_it_is_told_to() {
    let stage = Stage::new();
    fs::create_dir(stage.path("below")).unwrap();
    let ran = stage.unstuck(&["-C", "below", "exec", "--", "pwd"]).output().unwrap();
    assert_eq!(text(&ran.stdout).trim(), stage.path("below").display().to_string());
    // What is kept lies at the root of the project, for its user's eyes only.
    assert!(stage.database().is_file() && !stage.path("below/.unstuck").exists());
    let mode = std::os::unix::fs::PermissionsExt::mode;
    assert_eq!(mode(&fs::metadata(stage.path(".unstuck")).unwrap().permissions()) & 0o777, 0o700);
}

#[test]
fn each_time_it_is_run_once_more() {
    let stage = Stage::new();
    for _ in 0..3 {
        assert!(stage.run(&["--name", "job"], "echo ran >>runs").status.success());
    }
    assert_eq!(stage.wrote("runs"), "ran\nran\nran\n");
    assert_eq!(stage.job("job").moved.firing, 3);
    assert_eq!(stage.run_locks(), [""; 0], "it leaves nothing lying about");
}
