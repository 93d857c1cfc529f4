//! The layer of bubblewrap: namespaces for processes, mounts, users, IPC and the network.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, PipeReader, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use command_fds::CommandFdExt as _;
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};

use super::places::{PathCover, nearest_cover};
use super::{Connections, Wall, WallLayers};

const PROGRAM: &str = "bwrap";

/// Options for new namespaces, no capabilities in them, and an end together with the guard.
const USUAL: [&str; 11] = [
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL",
    // For a forwarded port below 1024; the init process drops it before it starts the program.
    "--cap-add", "CAP_NET_BIND_SERVICE",
];
/// Maximum number of attempts to create namespaces.
const TRIES_MAX: u32 = 3;
/// Options for minimal devices, and for a `/proc` of the namespace.
const SYSTEM: [&str; 4] = ["--dev", "/dev", "--proc", "/proc"];

/// Returns the path of bubblewrap, if it is installed and works.
pub(super) fn find_working_program() -> Option<PathBuf> {
    let search = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&search).filter(|place| place.is_absolute());
    let program = places.find_map(|place| {
        let program = place.join(PROGRAM);
        program.is_file().then_some(program)
    })?;
    let mut command = Command::new(&program);
    command.args(USUAL).args(["--unshare-net", "--ro-bind", "/", "/"]).args(SYSTEM);
    command.args(["--", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A machine that is short of processes for a moment is not one without namespaces.
    let works = |_| command.status().is_ok_and(|status| status.success());
    (0..TRIES_MAX).any(works).then_some(program)
}

/// A program to be started inside namespaces.
pub(in crate::process) struct EnclosedProgram {
    program: PathBuf,
    arguments: Vec<OsString>,
    handed_over: Vec<OwnedFd>,
    said: PipeReader,
}

impl EnclosedProgram {
    /// Prepares to start `program` in `directory` inside namespaces, below this executable as their
    /// init process, which `stage_arguments` make it. Returns `None` if there are no namespaces, or
    /// no wall is wanted.
    pub(in crate::process) fn prepare(
        wall: &Wall,
        layers: &WallLayers,
        directory: &Path,
        program: &OsStr,
        arguments: &[OsString],
        stage_arguments: [&str; 2],
    ) -> io::Result<Option<Self>> {
        let Some(bubblewrap) = layers.bubblewrap.clone().filter(|_| !wall.is_open()) else {
            return Ok(None);
        };
        let stage = OwnedFd::from(File::open("/proc/self/exe")?);
        let order = layers.clone().into_words().chain(wall.clone().into_words());
        let order = write_memory_file(order)?;
        let (said, say) = io::pipe()?;
        fcntl_setfl(&said, OFlags::NONBLOCK)?;
        let handed_over = vec![stage, order, OwnedFd::from(say)];
        let mut words: Vec<OsString> = USUAL.iter().map(OsString::from).collect();
        if wall.network != Connections::Open {
            words.push("--unshare-net".into());
        }
        words.extend(mount_options(wall, directory)?);
        words.extend(["--chdir".into(), directory.into(), "--".into()]);
        let [stage, order, say] = [0, 1, 2].map(|n: usize| handed_over[n].as_raw_fd().to_string());
        words.push(format!("/proc/self/fd/{stage}").into());
        words.extend(stage_arguments.map(OsString::from));
        words.extend([stage, order, say].map(OsString::from));
        words.push(program.to_owned());
        words.extend(arguments.iter().cloned());
        Ok(Some(Self { program: bubblewrap, arguments: words, handed_over, said }))
    }

    /// Returns the command that starts the program, and the pipe with the init process's messages,
    /// one JSON object per line.
    pub(in crate::process) fn into_command(self) -> (Command, PipeReader) {
        let mut command = Command::new(self.program);
        command.args(self.arguments).preserved_fds(self.handed_over);
        (command, self.said)
    }
}

/// Returns the mount options, in order.
fn mount_options(wall: &Wall, directory: &Path) -> io::Result<Vec<OsString>> {
    let mut words: Vec<OsString> = Vec::new();
    let root = if wall.writable.is_some() { "--ro-bind" } else { "--bind" };
    words.extend([root, "/", "/"].map(OsString::from));
    words.extend(SYSTEM.map(OsString::from));
    let mut wall = wall.clone();
    wall.readable.push(directory.to_owned());
    if let Connections::Closed(forwards) = &wall.network {
        wall.readable.extend(forwards.iter().map(|forward| forward.socket.clone()));
    }
    let mut closed = Vec::new();
    let covers = wall.compute_covers();
    for (path, cover) in covers.clone() {
        // Mounts of bubblewrap itself.
        if path.starts_with("/dev") || path.starts_with("/proc") {
            continue;
        }
        let mut bind = |how: &str, from: &Path| {
            words.extend([how.into(), from.into(), path.clone().into_os_string()]);
        };
        match cover {
            PathCover::Hidden if path.is_dir() => {
                words.extend(["--tmpfs".into(), path.clone().into_os_string()]);
                closed.push(path);
            }
            // It is no device there, and opening it is refused.
            PathCover::Hidden => bind("--ro-bind", Path::new("/dev/null")),
            PathCover::Readable => bind("--ro-bind-try", &path),
            PathCover::Writable => bind("--bind-try", &path),
            PathCover::Private(folder) => {
                fs::create_dir_all(&folder)?;
                bind("--bind", &folder);
            }
        }
    }
    for socket in find_visible_sockets(&wall, &covers) {
        words.extend(["--ro-bind".into(), "/dev/null".into(), socket.into_os_string()]);
    }
    // At the end, because until then bubblewrap creates mount points in them.
    for path in closed {
        words.extend(["--remount-ro".into(), path.into_os_string()]);
    }
    Ok(words)
}

/// Returns the local sockets of other processes at readable paths: a read-only mount does not
/// prevent connecting to them.
fn find_visible_sockets(wall: &Wall, covers: &BTreeMap<PathBuf, PathCover>) -> Vec<PathBuf> {
    let listed = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let named =
        listed.lines().filter_map(|line| Some(Path::new(line.get(line.find(" /")? + 1..)?)));
    let sockets = named
        .filter(|path| path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket()));
    let sockets: BTreeSet<PathBuf> = sockets.filter_map(|path| path.canonicalize().ok()).collect();
    let allowed: Vec<PathBuf> =
        wall.readable.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let in_sight = |path: &PathBuf| {
        let own = path.starts_with("/dev") || path.starts_with("/proc") || allowed.contains(path);
        let seen = matches!(nearest_cover(covers, path), None | Some(PathCover::Readable));
        !own && seen && !covers.contains_key(path)
    };
    sockets.into_iter().filter(in_sight).collect()
}

/// Creates a file in memory with these words.
fn write_memory_file(words: impl Iterator<Item = OsString>) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("unstuck-wall", MemfdFlags::CLOEXEC)?);
    for word in words {
        file.write_all(word.as_bytes())?;
        file.write_all(&[0])?;
    }
    file.rewind()?;
    Ok(file.into())
}
