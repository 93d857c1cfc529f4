//! A command that works: the supervision cannot be noticed.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use crate::program::OutputText as _;
use crate::project::Project;

#[test]
fn output_passes_through_byte_by_byte() {
    let stage = Project::new();
    let bytes: Vec<u8> =
        (0..10_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(stage.path("out"), &bytes).unwrap();
    fs::write(stage.path("err"), b"\xff\xfe\0 no newline at the end").unwrap();
    let ran = stage.run_exec(&[], "cat out; cat err >&2").exits(0);
    assert!(ran.stdout == bytes, "{} bytes came through", ran.stdout.len());
    assert_eq!(ran.stderr, b"\xff\xfe\0 no newline at the end");
}

#[test]
fn it_reads_what_it_would_read_without_us() {
    let stage = Project::new();
    let mut child = stage.exec(&[], "cat").stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"from outside").unwrap();
    let ran = child.wait_with_output().unwrap();
    assert_eq!((ran.status.code(), ran.out()), (Some(0), "from outside".to_owned()));
}

/// Reads lines, and fails for want of a service at the second one, once.
const IMPORTS: &str = "while read -r line; do \
    if [ $line = two ] && ! [ -e up ]; then touch up; \
        echo 'curl: (7) Failed to connect to shop.example port 443: Connection refused' >&2; exit 7; \
    fi; echo $line >> imported; done";

// B90
#[test]
fn another_try_reads_its_input_from_the_beginning() {
    for through_a_pipe in [true, false] {
        let stage = Project::new();
        fs::write(stage.path("lines"), "zero\none\ntwo\nthree\n").unwrap();
        let mut exec = stage.exec(&["--max-wait", "0"], IMPORTS);
        let ran = if through_a_pipe {
            let mut child = exec.stdin(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(b"one\ntwo\nthree\n").unwrap();
            child.wait_with_output().unwrap()
        } else {
            // A program before us has read the first line.
            let mut lines = fs::File::open(stage.path("lines")).unwrap();
            lines.read_exact(&mut [0; 5]).unwrap();
            exec.stdin(lines).output().unwrap()
        };
        assert_eq!(ran.status.code(), Some(0), "{}", ran.err());
        let imported = fs::read_to_string(stage.path("imported")).unwrap();
        assert_eq!(imported, "one\none\ntwo\nthree\n", "{through_a_pipe}");
    }
}

// B90
#[test]
fn a_command_whose_reader_has_seen_enough_is_not_run_again() {
    let stage = Project::new();
    let list = "echo run >> runs; while :; do echo a line; done";
    let mut exec = stage.exec(&["--max-wait", "0"], list).spawn().unwrap();
    exec.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();
    exec.wait_with_output().unwrap().exits(0);
    assert_eq!(fs::read_to_string(stage.path("runs")).unwrap(), "run\n");
}

#[test]
fn it_runs_where_it_is_told_to() {
    let stage = Project::new();
    fs::create_dir(stage.path("below")).unwrap();
    let ran = stage.unstuck(&["-C", "below", "exec", "--", "pwd"]).output().unwrap();
    assert_eq!(ran.out().trim(), stage.path("below").display().to_string());
    // What is kept lies at the root of the project, for its user's eyes only.
    assert!(stage.database().is_file() && !stage.path("below/.unstuck").exists());
    let mode = std::os::unix::fs::PermissionsExt::mode;
    assert_eq!(mode(&fs::metadata(stage.path(".unstuck")).unwrap().permissions()) & 0o777, 0o700);
}

#[test]
fn each_time_it_is_run_once_more() {
    let stage = Project::new();
    for _ in 0..3 {
        assert!(stage.run_exec(&["--name", "job"], "echo ran >>runs").status.success());
    }
    assert_eq!(stage.wrote("runs"), "ran\nran\nran\n");
    assert_eq!(stage.job("job").moved.firing, 3);
    assert_eq!(stage.run_locks(), [""; 0], "it leaves nothing lying about");
}
