//! Programs behind a wall, under the real guard: they end as they would without it, and get nowhere
//! that is not theirs. What holds is compared with what the guard says about it, with all layers and
//! with each of them left out.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use unstuck_core::fault::Code;
use unstuck_world::process::{
    Connections, EnforcementLevel, ExceededLimit, Launch, PrivateFolder, ProcessEnd, ProcessInput,
    ProcessResult, ResourceLimits, StartFailure, Wall, WallEnforcement, derive_fault,
};

use crate::support::guard;

/// Set in the process that plays the attacks with some layers left out.
const WITHOUT: &str = "UNSTUCK_WITHOUT_LAYERS";

struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let stage = Self { folder: tempfile::tempdir().unwrap() };
        for name in ["work", "outside", "hidden", "temporary"] {
            fs::create_dir(stage.path(name)).unwrap();
        }
        fs::write(stage.path("hidden/key"), "canary").unwrap();
        fs::write(stage.path("outside/file"), "as it was").unwrap();
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Writes to the work folder only, with everything else closed.
    fn wall(&self) -> Wall {
        Wall {
            writable: Some(vec![self.path("work")]),
            hidden: vec![self.path("hidden")],
            network: Connections::Closed(Vec::new()),
            ..Wall::default()
        }
    }

    fn launch(&self, program: &str, wall: Wall) -> Launch {
        let mut launch = Launch::new(guard(), self.path("lock"), self.path("work"), program);
        launch.wall = wall;
        launch
    }

    fn script(&self, script: &str) -> Launch {
        let mut launch = self.launch("sh", self.wall());
        launch.arguments = vec!["-c".into(), script.into()];
        launch
    }

    fn run(&self, script: &str) -> (ProcessResult, WallEnforcement) {
        run(self.script(script))
    }
}

fn run(launch: Launch) -> (ProcessResult, WallEnforcement) {
    Runtime::new().unwrap().block_on(async {
        let process = launch.start().await.unwrap();
        let held = process.wall_enforcement();
        (process.wait().await, held)
    })
}

#[test]
fn files_move_between_folders_behind_it() {
    let stage = Stage::new();
    // A link cannot be copied in its place, as `mv` would.
    let (ended, _) = stage.run("mkdir a b && echo x > a/f && ln a/f b/f");
    assert_eq!(ended.how, ProcessEnd::Exited(0), "{}", output(&ended));
}

fn output(ended: &ProcessResult) -> String {
    String::from_utf8_lossy(&ended.output.to_bytes()).into_owned()
}

#[test]
fn a_program_ends_as_it_would_without_a_wall() {
    let stage = Stage::new();
    let (well, held) = stage.run("cat; echo $PWD");
    assert_eq!((well.how, held.files), (ProcessEnd::Exited(0), stage.wall().try_out().files));
    assert_eq!(output(&well), format!("{}\n", stage.path("work").display()));
    assert_eq!(stage.run("exit 137").0.how, ProcessEnd::Exited(137), "a status is no signal");
    assert_eq!(stage.run("kill -TERM $$").0.how, ProcessEnd::Signalled(15));
    assert_eq!(stage.run("kill -SEGV $$").0.how, ProcessEnd::Signalled(11));
    let missing = run(stage.launch("no-such-program", stage.wall())).0;
    assert_eq!(missing.how, ProcessEnd::NotStarted(StartFailure::NotFound));
    fs::write(stage.path("work/plain"), "x").unwrap();
    let denied = run(stage.launch("./plain", stage.wall())).0;
    assert_eq!(denied.how, ProcessEnd::NotStarted(StartFailure::AccessDenied));
    let mut reads = stage.script("read line; echo got $line");
    reads.input = ProcessInput::Bytes(b"word\n".to_vec());
    assert_eq!(output(&run(reads).0), "got word\n");
}

#[test]
fn what_a_program_leaves_behind_is_ended_and_counted() {
    let stage = Stage::new();
    let (ended, _) = stage.run("(setsid sleep 1000 &) ; setsid sleep 1000 & exit 3");
    assert_eq!((ended.how, ended.leftovers_ended), (ProcessEnd::Exited(3), 2));
    let (none, _) = stage.run("true");
    assert_eq!(none.leftovers_ended, 0);
}

#[test]
fn a_program_that_is_stopped_has_its_time() {
    let stage = Stage::new();
    let script = "trap 'echo asked >asked; exit 0' TERM; echo up; while :; do sleep 0.05; done";
    let mut launch = stage.script(script);
    launch.grace = Duration::from_mins(1);
    let ended = Runtime::new().unwrap().block_on(async {
        let mut process = launch.start().await.unwrap();
        let stop = process.stopper();
        let mut up = process.take_stdout().unwrap();
        let mut byte = [0];
        tokio::io::AsyncReadExt::read_exact(&mut up, &mut byte).await.unwrap();
        stop.stop();
        process.wait().await
    });
    assert_eq!(ended.how, ProcessEnd::Stopped);
    assert_eq!(fs::read_to_string(stage.path("work/asked")).unwrap(), "asked\n");
}

#[test]
fn a_private_folder_takes_the_place_of_another_and_lasts() {
    let stage = Stage::new();
    let private =
        vec![PrivateFolder { at: stage.path("outside"), folder: stage.path("temporary/own") }];
    let again = |script: &str| {
        let mut launch = stage.script(script);
        launch.wall.private.clone_from(&private);
        run(launch)
    };
    let (made, held) = again(&format!("echo x >{}/made", stage.path("outside").display()));
    if !held.namespaces {
        return assert_ne!(
            made.how,
            ProcessEnd::Exited(0),
            "without namespaces it is not writable"
        );
    }
    assert_eq!(made.how, ProcessEnd::Exited(0), "{}", output(&made));
    let (seen, _) = again(&format!("ls {0}; cat {0}/made", stage.path("outside").display()));
    assert_eq!(output(&seen), "made\nx\n", "the files of others are not there");
    assert!(!stage.path("outside/made").exists());
}

#[test]
fn what_is_readable_below_something_hidden_can_be_read() {
    let stage = Stage::new();
    fs::create_dir(stage.path("hidden/tools")).unwrap();
    fs::write(stage.path("hidden/tools/tool"), "a tool").unwrap();
    let mut launch =
        stage.script(&format!("cat {0}/tools/tool {0}/key", stage.path("hidden").display()));
    launch.wall.readable.push(stage.path("hidden/tools"));
    let (ended, held) = run(launch);
    let shown = output(&ended);
    assert!(shown.contains("a tool"), "{shown}");
    assert_eq!(shown.contains("canary"), held.reading == EnforcementLevel::NotPossible, "{shown}");
}

#[test]
fn more_processes_than_are_allowed_do_not_live() {
    let stage = Stage::new();
    let begin = |script: &str| {
        let mut launch = stage.script(script);
        launch.wall.limits = ResourceLimits { processes: Some(64), ..ResourceLimits::default() };
        run(launch)
    };
    let (few, held) = begin("for i in $(seq 20); do sleep 0 & done; wait");
    assert_eq!(few.how, ProcessEnd::Exited(0), "{}", output(&few));
    let (many, _) = begin("for i in $(seq 200); do sleep 1000 & done; echo all; wait");
    match held.limits {
        // The system starts no more of them, and the shell gives up.
        EnforcementLevel::Fully => assert!(!output(&many).contains("all"), "{}", output(&many)),
        EnforcementLevel::Partly => {
            assert_eq!(many.how, ProcessEnd::BeyondLimit(ExceededLimit::Processes(64)));
        }
        EnforcementLevel::NotPossible | EnforcementLevel::NotWanted => assert!(!held.namespaces),
    }
}

#[test]
fn threads_count_as_processes_do() {
    let stage = Stage::new();
    let mut launch = stage.launch("python3", stage.wall());
    let script = "import threading, time\nfor _ in range(200):\n    \
                  threading.Thread(target=time.sleep, args=(1000,)).start()";
    launch.arguments = vec!["-c".into(), script.into()];
    launch.wall.limits = ResourceLimits { processes: Some(64), ..ResourceLimits::default() };
    launch.deadlines.total = Some(Duration::from_mins(1));
    let (ended, held) = run(launch);
    if held.limits == EnforcementLevel::Partly {
        assert_eq!(ended.how, ProcessEnd::BeyondLimit(ExceededLimit::Processes(64)));
    }
}

#[test]
fn more_memory_than_is_allowed_ends_a_program() {
    let stage = Stage::new();
    let begin = |megabytes: u64| {
        let mut launch = stage.launch("python3", stage.wall());
        let script = format!("import time\nx = b'x' * {megabytes} * 2**20\ntime.sleep(1.5)");
        launch.arguments = vec!["-c".into(), script.into()];
        launch.wall.limits.memory_bytes = Some(100 << 20);
        run(launch)
    };
    assert_eq!(begin(10).0.how, ProcessEnd::Exited(0));
    let (ended, held) = begin(400);
    assert!(matches!(held.memory, EnforcementLevel::Partly | EnforcementLevel::Fully), "{held:?}");
    assert_eq!(ended.how, ProcessEnd::BeyondLimit(ExceededLimit::Memory(100 << 20)));
    assert_eq!(ended.leftovers_ended, 0, "nothing was left behind");
}

#[test]
fn memory_counts_for_all_processes_together_and_once_where_they_share_it() {
    let stage = Stage::new();
    let begin = |each: u64, shared: u64| {
        let mut launch = stage.launch("python3", stage.wall());
        let script = format!(
            "import os, time\nx = b'x' * {shared} * 2**20\nfor _ in range(4):\n    \
             if os.fork() == 0:\n        y = b'y' * {each} * 2**20\n        time.sleep(2)\n        \
             os._exit(0)\nfor _ in range(4): os.wait()"
        );
        launch.arguments = vec!["-c".into(), script.into()];
        launch.wall.limits.memory_bytes = Some(200 << 20);
        run(launch).0.how
    };
    assert_eq!(begin(1, 100), ProcessEnd::Exited(0));
    assert_eq!(begin(100, 1), ProcessEnd::BeyondLimit(ExceededLimit::Memory(200 << 20)));
}

#[test]
fn a_file_does_not_grow_beyond_what_is_allowed_and_the_output_says_so() {
    let stage = Stage::new();
    let begin = |script: &str| {
        let mut launch = stage.script(script);
        launch.wall.limits.file_bytes = Some(1 << 20);
        run(launch)
    };
    let (ended, held) = begin("ulimit -f unlimited 2>&1; head -c 3000000 /dev/zero >large");
    assert_eq!(held.file_size, EnforcementLevel::Fully);
    assert!(matches!(ended.how, ProcessEnd::Exited(1..)), "{:?}", ended.how);
    let said = output(&ended);
    assert!(said.contains("File too large"), "{said}");
    assert!(
        said.ends_with("[no file may be larger than 1 MB here; `wall.file_mb` sets how large]\n")
    );
    assert_eq!(fs::metadata(stage.path("work/large")).unwrap().len(), 1 << 20);
    let restored = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); \
                    open('larger', 'wb').write(b'x' * 3000000)";
    let mut launch = stage.launch("python3", stage.wall());
    launch.arguments = vec!["-c".into(), restored.into()];
    launch.wall.limits.file_bytes = Some(1 << 20);
    assert_eq!(run(launch).0.how, ProcessEnd::BeyondLimit(ExceededLimit::FileSize(1 << 20)));
}

#[test]
fn a_program_ends_before_it_has_filled_the_disk() {
    let stage = Stage::new();
    let mut launch = stage.script("sleep 1000");
    launch.wall.limits.disk_free_bytes_min = Some(u64::MAX);
    let (ended, _) = run(launch);
    assert_eq!(ended.how, ProcessEnd::BeyondLimit(ExceededLimit::FreeDisk(u64::MAX)));
    let fault = derive_fault(&ended, "check", "make test").unwrap();
    assert_eq!(fault.code(), Code::EnvDiskFull, "a person is asked for room");
    assert!(fault.message.contains("run.disk_free_mb"), "{}", fault.message);
}

#[test]
fn a_socket_of_others_that_can_be_seen_cannot_be_reached() {
    let stage = Stage::new();
    let at = stage.path("outside/socket").display().to_string();
    let _listens = UnixListener::bind(&at).unwrap();
    let connect = format!("import socket; socket.socket(1).connect('{at}'); print('reached')");
    let (said, namespaces) = (python(&stage, &connect), stage.run("true").1.namespaces);
    assert_eq!(said.contains("reached"), !namespaces, "{said}");
    // What the wall names can be reached.
    let mut launch = stage.launch("python3", stage.wall());
    launch.wall.readable.push(at.into());
    launch.arguments = vec!["-c".into(), connect.into()];
    let ended = run(launch).0;
    assert_eq!(output(&ended), "reached\n");
}

/// What an attack gets through to, as the process outside sees it.
fn attack(stage: &Stage, script: &str) -> String {
    let (ended, _) = stage.run(script);
    output(&ended)
}

fn python(stage: &Stage, script: &str) -> String {
    let mut launch = stage.launch("python3", stage.wall());
    launch.arguments = vec!["-c".into(), script.into()];
    output(&run(launch).0)
}

/// Plays every attack with the layers that this process has, and compares with what is said to hold.
#[test]
fn nothing_gets_through_that_is_said_to_hold() {
    let stage = Stage::new();
    let held = stage.run("true").1;
    let at = |name: &str| stage.path(name).display().to_string();

    attack(&stage, &format!("echo x >{0}/new; echo x >{0}/file; rm {0}/file", at("outside")));
    let written = stage.path("outside/new").exists()
        || fs::read_to_string(stage.path("outside/file")).ok().as_deref() != Some("as it was");
    assert_eq!(written, held.files == EnforcementLevel::NotPossible, "{held:?}");
    fs::write(stage.path("outside/file"), "as it was").unwrap();

    fs::hard_link(stage.path("hidden/key"), stage.path("outside/link")).unwrap();
    fs::remove_file(stage.path("outside/link")).unwrap();
    std::os::unix::fs::symlink(stage.path("hidden/key"), stage.path("work/link")).unwrap();
    let read = attack(&stage, &format!("cat {}/key link", at("hidden")));
    assert_eq!(
        read.contains("canary"),
        held.reading == EnforcementLevel::NotPossible,
        "{held:?}: {read}"
    );

    let own = std::process::id();
    let environ = python(&stage, &format!("print(open('/proc/{own}/environ').read())"));
    let signal = attack(&stage, &format!("kill -0 {own} && echo reached"));
    let traced = python(
        &stage,
        &format!("import ctypes; print('traced', ctypes.CDLL(None).ptrace(16, {own}, 0, 0))"),
    );
    match held.processes {
        EnforcementLevel::Fully => assert!(!signal.contains("reached"), "{signal}"),
        EnforcementLevel::Partly | EnforcementLevel::NotPossible | EnforcementLevel::NotWanted => {}
    }
    if held.processes != EnforcementLevel::NotPossible {
        assert!(!environ.contains("PATH="), "{environ}");
    }
    let cannot_trace = held.calls.is_full() || held.processes != EnforcementLevel::NotPossible;
    assert_eq!(traced.contains("traced -1"), cannot_trace, "{held:?}: {traced}");
    if !cannot_trace {
        return;
    }

    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let port = tcp.local_addr().unwrap().port();
    python(&stage, &format!("import socket; socket.create_connection(('127.0.0.1', {port}))"));
    let datagram = format!(
        "import socket; socket.socket(2, 2).sendto(b'x', ('127.0.0.1', {}))",
        udp.local_addr().unwrap().port()
    );
    python(&stage, &datagram);
    assert_eq!(tcp.accept().is_ok(), held.network == EnforcementLevel::NotPossible, "{held:?}");
    let datagrams_pass = !held.namespaces && !held.calls.is_full();
    assert_eq!(udp.recv(&mut [0]).is_ok(), datagrams_pass, "{held:?}");

    let _abstract = UnixListener::bind(stage.path("hidden/socket")).unwrap();
    let local = python(
        &stage,
        &format!(
            "import socket; socket.socket(1).connect('{}/socket'); print('reached')",
            at("hidden")
        ),
    );
    assert_eq!(local.contains("reached"), !held.namespaces, "{local}");

    for call in
        ["unshare(0x10000000)", "mount(b'none', b'/tmp', b'tmpfs', 0, 0)", "syscall(425, 8, 0)"]
    {
        let said = python(&stage, &format!("import ctypes; print(ctypes.CDLL(None).{call})"));
        if held.calls.is_full() {
            assert_eq!(said.trim(), "-1", "{call}");
        }
    }
    let raw = python(&stage, "import socket; socket.socket(2, 3, 1); print('raw')");
    assert!(!(held.calls.is_full() && raw.contains("raw")), "{raw}");
    let packet = python(&stage, "import socket; socket.socket(17, 3, 0); print('packet')");
    assert!(!(held.calls.is_full() && packet.contains("packet")), "{packet}");
}

#[test]
fn each_layer_that_is_left_out_is_said_to_be_missing() {
    if std::env::var_os(WITHOUT).is_some() {
        return;
    }
    for without in
        ["bubblewrap", "landlock", "seccomp", "bubblewrap,seccomp", "bubblewrap,landlock"]
    {
        let test = "wall::nothing_gets_through_that_is_said_to_hold";
        let mut command = Command::new(std::env::current_exe().unwrap());
        let ran = command.args(["--exact", test]).env(WITHOUT, without).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.contains("1 passed"), "{without}: {said}");
    }
}

#[test]
fn memory_files_and_the_disk_are_limited_without_namespaces_too() {
    let tests = [
        "wall::more_memory_than_is_allowed_ends_a_program",
        "wall::a_file_does_not_grow_beyond_what_is_allowed_and_the_output_says_so",
        "wall::a_program_ends_before_it_has_filled_the_disk",
    ];
    let mut command = Command::new(std::env::current_exe().unwrap());
    let ran = command.arg("--exact").args(tests).env(WITHOUT, "bubblewrap").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("3 passed"), "{said}");
}

#[test]
fn the_usual_wall_hides_the_home_folder_and_shows_the_system() {
    let wall = Wall::with_usual_paths(std::env::var_os("PATH").as_deref());
    let home = std::env::home_dir().unwrap();
    assert!(wall.hidden.contains(&home) && wall.hidden.contains(&home.join(".ssh")));
    assert!(wall.readable.iter().any(|path| path == Path::new("/usr/bin")));
    let stage = Stage::new();
    let mut launch = stage.script("ls -A \"$HOME\"; test -r /etc/passwd && git --version");
    launch.wall = wall;
    launch.wall.writable = Some(vec![stage.path("work")]);
    let (ended, _) = run(launch);
    assert_eq!(ended.how, ProcessEnd::Exited(0), "{}", output(&ended));
    assert!(!output(&ended).contains(".ssh"), "{}", output(&ended));
}
