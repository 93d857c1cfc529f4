//! Attempts to break out of a wall, each really executed. The attacker is Unstuck's own executable,
//! started behind the wall with [`ARGUMENT`]; its success is judged from outside where that is
//! possible.

use std::ffi::OsString;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, getpriority_process, getrlimit, prlimit, setpriority_process, test_kill_process,
};

use super::{SocketPath, guard};

/// The argument that makes the executable the attacker.
pub const ARGUMENT: &str = "__attack";

/// Exit code if the attack got through, as far as the attacker can tell.
const THROUGH: u8 = 0;
/// Exit code if the attack was refused.
const REFUSED: u8 = 10;
/// Exit code for an invalid call.
const MISUSED: u8 = 64;

/// An attempt to break out of a wall.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// The name, in one word.
    pub name: &'static str,
    /// A description of the attempt.
    pub tries: &'static str,
    /// The part of the wall that has to stop it.
    pub against: AttackedPart,
    /// The kind of wall that it is tried behind.
    pub behind: AttackerWall,
    try_it: fn(&AttackTarget) -> bool,
}

/// The part of a wall that an attack targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttackedPart {
    /// Protection against writing outside.
    Files,
    /// Protection against reading hidden files.
    Reading,
    /// Protection of other processes.
    Processes,
    /// Protection against connections to the outside.
    Network,
    /// Protection against system calls that break out.
    Calls,
    /// Limit on the number of processes and threads.
    Limits,
    /// Limit on memory.
    Memory,
    /// Limit on the size of a file.
    FileSize,
}

/// The kind of wall that an attack is tried behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttackerWall {
    /// The wall of agents and their commands.
    Command,
    /// The wall of checks and hooks, which have no network except loopback.
    Check,
}

#[derive(Debug)]
struct AttackTarget {
    /// A folder that is not writable, with a file in it.
    outside: PathBuf,
    /// A folder that is hidden, with a file and a socket in it.
    hidden: PathBuf,
    /// The process that set up the wall.
    supervisor: Option<Pid>,
    /// The port on which the supervisor listens, by TCP and UDP.
    port: u16,
    /// The name of the abstract socket that the supervisor listens on.
    socket: String,
}

/// The name of the file in the outside folder and in the hidden folder.
pub const FILE: &str = "file";
/// The name of the socket in the hidden folder.
pub const SOCKET: &str = "socket";
/// The name of the file that attacks leave outside.
pub const LEFT: &str = "left";
/// Number of threads to start: more than any limit that the attacker is put behind.
pub const THREADS: u64 = 96;

/// Bytes of memory to use: more than any limit that the attacker is put behind.
pub const MEMORY_BYTES: u64 = 192 << 20;
/// Size of a file to write in bytes: more than any limit that the attacker is put behind.
pub const FILE_BYTES: u64 = 4 << 20;

/// Time for which these threads and this memory are kept.
const KEPT: Duration = Duration::from_secs(3);
/// Arguments that Unstuck's own processes inside are started with.
const OWN: [&[u8]; 2] = [ARGUMENT.as_bytes(), guard::ARGUMENT.as_bytes()];

/// All attacks.
pub const ATTACKS: &[Attack] = &[
    define_attack("write", "write a new file outside", AttackedPart::Files, |to| {
        fs::write(to.outside.join(LEFT), "x").is_ok()
    }),
    define_attack("change", "change a file outside", AttackedPart::Files, |to| {
        let file = OpenOptions::new().append(true).open(to.outside.join(FILE));
        file.and_then(|mut file| file.write_all(b"x")).is_ok()
    }),
    define_attack("remove", "remove a file outside", AttackedPart::Files, |to| {
        fs::remove_file(to.outside.join(FILE)).is_ok()
    }),
    define_attack("rename", "move a file out of its folder", AttackedPart::Files, |to| {
        fs::rename(to.outside.join(FILE), "taken").is_ok()
    }),
    define_attack(
        "link",
        "write through a hard link to a file outside",
        AttackedPart::Files,
        |to| {
            let linked = fs::hard_link(to.outside.join(FILE), "linked");
            linked.and_then(|()| fs::write("linked", "x")).is_ok()
        },
    ),
    define_attack("symlink", "write through a symbolic link", AttackedPart::Files, |to| {
        let linked = std::os::unix::fs::symlink(to.outside.join(FILE), "pointer");
        linked.and_then(|()| fs::write("pointer", "x")).is_ok()
    }),
    define_attack("root", "write through /proc/self/root", AttackedPart::Files, |to| {
        write_below("/proc/self/root", &to.outside.join(LEFT))
    }),
    define_attack("host-root", "write through /proc/1/root", AttackedPart::Files, |to| {
        write_below("/proc/1/root", &to.outside.join(LEFT))
    }),
    define_attack("mode", "change who may read a file outside", AttackedPart::Files, |to| {
        fs::set_permissions(to.outside.join(FILE), Permissions::from_mode(0o666)).is_ok()
    }),
    define_attack(
        "temporary",
        "leave a file in the folder /tmp of the machine",
        AttackedPart::Files,
        |to| {
            let _ = fs::write(to.temporary_file(), "x");
            // The check for the file happens outside: inside, `/tmp` may be another folder.
            false
        },
    ),
    define_attack("read", "read a hidden file", AttackedPart::Reading, |to| {
        can_read(&to.hidden.join(FILE))
    }),
    define_attack(
        "read-root",
        "read a hidden file through /proc/self/root",
        AttackedPart::Reading,
        |to| {
            path_below("/proc/self/root", &to.hidden.join(FILE)).is_some_and(|path| can_read(&path))
        },
    ),
    define_attack(
        "read-host",
        "read a hidden file through the supervisor's root",
        AttackedPart::Reading,
        |to| {
            let root = to.supervisor.map(|pid| format!("/proc/{pid}/root"));
            root.and_then(|root| path_below(&root, &to.hidden.join(FILE)))
                .is_some_and(|path| can_read(&path))
        },
    ),
    define_attack(
        "list",
        "see the supervisor among the processes",
        AttackedPart::Processes,
        |to| {
            let line = to.supervisor.map(|pid| fs::read(format!("/proc/{pid}/cmdline")));
            // Inside, the pid may belong to one of Unstuck's own processes.
            let is_own =
                |line: &[u8]| line.split(|byte| *byte == 0).any(|word| OWN.contains(&word));
            line.is_some_and(|line| line.is_ok_and(|line| !line.is_empty() && !is_own(&line)))
        },
    ),
    define_attack("priority", "change the supervisor's priority", AttackedPart::Processes, |to| {
        // To its present value: this is allowed or refused like any other.
        to.supervisor.is_some_and(|pid| {
            let priority = getpriority_process(Some(pid));
            priority.is_ok_and(|priority| setpriority_process(Some(pid), priority).is_ok())
        })
    }),
    define_attack("limit", "limit what the supervisor may use", AttackedPart::Processes, |to| {
        // To the present limit of the attacker, which is that of the supervisor as well.
        let own = getrlimit(Resource::Core);
        to.supervisor.is_some_and(|pid| prlimit(Some(pid), Resource::Core, own).is_ok())
    }),
    define_attack("signal", "signal the supervisor", AttackedPart::Processes, |to| {
        to.supervisor.is_some_and(|pid| test_kill_process(pid).is_ok())
    }),
    define_attack("environ", "read the supervisor's environment", AttackedPart::Processes, |to| {
        to.supervisor.is_some_and(|pid| can_read(Path::new(&format!("/proc/{pid}/environ"))))
    }),
    define_attack("memory", "open the supervisor's memory", AttackedPart::Processes, |to| {
        let open = |pid| OpenOptions::new().write(true).open(format!("/proc/{pid}/mem"));
        to.supervisor.is_some_and(|pid| open(pid).is_ok())
    }),
    define_attack("trace", "trace the supervisor", AttackedPart::Processes, |to| {
        to.supervisor.is_some_and(|pid| {
            let pid = usize::try_from(pid.as_raw_nonzero().get()).unwrap_or_default();
            call_succeeds(libc::SYS_ptrace, [libc::PTRACE_SEIZE as usize, pid, 0, 0, 0])
        })
    }),
    define_attack("tcp", "connect to the machine by TCP", AttackedPart::Network, can_connect),
    define_attack("udp", "send a datagram to the machine", AttackedPart::Network, send_datagram),
    define_attack(
        "check-tcp",
        "connect to the machine by TCP from a check",
        AttackedPart::Network,
        can_connect,
    )
    .by_a_check(),
    define_attack(
        "check-udp",
        "send a datagram to the machine from a check",
        AttackedPart::Network,
        send_datagram,
    )
    .by_a_check(),
    define_attack(
        "local-socket",
        "connect to a local socket in a hidden folder",
        AttackedPart::Network,
        |to| {
            let socket = SocketPath::from_path(&to.hidden.join(SOCKET));
            socket.is_ok_and(|socket| UnixStream::connect(socket.as_path()).is_ok())
        },
    ),
    define_attack(
        "abstract-socket",
        "connect to an abstract local socket",
        AttackedPart::Network,
        |to| {
            let address = SocketAddr::from_abstract_name(&to.socket);
            address.is_ok_and(|address| UnixStream::connect_addr(&address).is_ok())
        },
    ),
    define_attack("mount", "mount a file system", AttackedPart::Calls, |_| {
        let kind = c"tmpfs".as_ptr() as usize;
        let at = c".".as_ptr() as usize;
        let mounted = call_succeeds(libc::SYS_mount, [kind, at, kind, 0, 0]);
        mounted && call_succeeds(libc::SYS_umount2, [at, libc::MNT_DETACH as usize, 0, 0, 0])
    }),
    define_attack("namespace", "make a user namespace", AttackedPart::Calls, |_| {
        call_succeeds(libc::SYS_unshare, [libc::CLONE_NEWUSER as usize, 0, 0, 0, 0])
    }),
    define_attack("raw-socket", "open a raw socket", AttackedPart::Calls, |_| {
        let raw =
            [libc::AF_INET as usize, libc::SOCK_RAW as usize, libc::IPPROTO_ICMP as usize, 0, 0];
        call_succeeds(libc::SYS_socket, raw)
    }),
    define_attack("packet-socket", "open a packet socket", AttackedPart::Calls, |_| {
        let packet = [libc::AF_PACKET as usize, libc::SOCK_RAW as usize, 0, 0, 0];
        call_succeeds(libc::SYS_socket, packet)
    }),
    define_attack("keys", "use the kernel's keyring", AttackedPart::Calls, |_| {
        let user = c"user".as_ptr() as usize;
        let word = c"unstuck".as_ptr() as usize;
        // The keyring of this thread, which ends with it.
        call_succeeds(libc::SYS_add_key, [user, word, word, 7, usize::MAX])
    }),
    define_attack("ring", "use io_uring", AttackedPart::Calls, |_| {
        is_answered(libc::SYS_io_uring_setup, [1, 0, 0, 0, 0])
    }),
    define_attack("threads", "start more threads than are allowed", AttackedPart::Limits, |_| {
        start_threads()
    }),
    define_attack("allocate", "use more memory than is allowed", AttackedPart::Memory, |_| {
        use_memory()
    }),
    define_attack(
        "large-file",
        "write a larger file than is allowed",
        AttackedPart::FileSize,
        |_| {
            // A file with a hole takes no room.
            let file = fs::File::create("large");
            file.and_then(|file| file.write_all_at(b"x", FILE_BYTES)).is_ok()
        },
    ),
];

const fn define_attack(
    name: &'static str,
    tries: &'static str,
    against: AttackedPart,
    try_it: fn(&AttackTarget) -> bool,
) -> Attack {
    Attack { name, tries, against, behind: AttackerWall::Command, try_it }
}

/// Runs one attack: its name comes first, the parts of the target follow.
pub fn main(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let name = words.next();
    let attack = ATTACKS.iter().find(|attack| name.as_deref() == Some(attack.name.as_ref()));
    ExitCode::from(match (attack, AttackTarget::from_words(&mut words)) {
        (Some(attack), Some(target)) if (attack.try_it)(&target) => THROUGH,
        (Some(_), Some(_)) => REFUSED,
        _ => MISUSED,
    })
}

impl Attack {
    const fn by_a_check(self) -> Self {
        Self { behind: AttackerWall::Check, ..self }
    }

    /// Returns whether the attacker's exit code says that the attack was refused.
    pub const fn is_refused_by(status: i32) -> bool {
        status == REFUSED as i32
    }
}

impl AttackTarget {
    fn temporary_file(&self) -> PathBuf {
        temporary_file(&self.socket)
    }

    fn from_words(words: &mut impl Iterator<Item = OsString>) -> Option<Self> {
        Some(Self {
            outside: words.next()?.into(),
            hidden: words.next()?.into(),
            supervisor: Pid::from_raw(words.next()?.to_str()?.parse().ok()?),
            port: words.next()?.to_str()?.parse().ok()?,
            socket: words.next()?.into_string().ok()?,
        })
    }
}

/// Returns the path of the file that the attack on `/tmp` leaves there, by the name of the socket.
pub fn temporary_file(socket: &str) -> PathBuf {
    Path::new("/tmp").join(socket)
}

fn can_connect(to: &AttackTarget) -> bool {
    TcpStream::connect(("127.0.0.1", to.port)).is_ok()
}

/// Sends a datagram. Its arrival is checked outside, because inside it may reach the program
/// itself.
fn send_datagram(to: &AttackTarget) -> bool {
    let socket = UdpSocket::bind("127.0.0.1:0");
    let _ = socket.and_then(|socket| socket.send_to(b"x", ("127.0.0.1", to.port)));
    false
}

fn can_read(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| !bytes.is_empty())
}

fn path_below(root: &str, path: &Path) -> Option<PathBuf> {
    path.strip_prefix("/").ok().map(|path| Path::new(root).join(path))
}

fn write_below(root: &str, path: &Path) -> bool {
    path_below(root, path).is_some_and(|path| fs::write(path, "x").is_ok())
}

/// Starts [`THREADS`] threads that wait for each other, and keeps them for a moment: if threads are
/// counted, that ends them.
fn start_threads() -> bool {
    let all = std::sync::Mutex::new(());
    thread::scope(|scope| {
        let Ok(_wait) = all.lock() else { return false };
        let started = (0..THREADS).all(|_| {
            let waits = || drop(all.lock());
            thread::Builder::new().stack_size(32 * 1_024).spawn_scoped(scope, waits).is_ok()
        });
        if started {
            thread::sleep(KEPT);
        }
        started
    })
}

/// Uses [`MEMORY_BYTES`] of memory, and keeps it for a moment: if memory is measured, that ends the
/// attacker.
fn use_memory() -> bool {
    let used = vec![1_u8; usize::try_from(MEMORY_BYTES).unwrap_or_default()];
    thread::sleep(KEPT);
    std::hint::black_box(used).len() as u64 == MEMORY_BYTES
}

/// Returns whether the kernel executes a raw system call.
#[expect(unsafe_code, reason = "what is tried here is what no safe function does")]
fn call_succeeds(call: libc::c_long, given: [usize; 5]) -> bool {
    // SAFETY: pointers among the arguments refer to literals that end with a zero, and the calls
    // that get them only read them; none of the calls changes the memory of this process.
    unsafe { libc::syscall(call, given[0], given[1], given[2], given[3], given[4]) >= 0 }
}

/// Returns whether the kernel examines the arguments of a call, valid or not, instead of refusing
/// it.
fn is_answered(call: libc::c_long, given: [usize; 5]) -> bool {
    let refusals = [Errno::PERM, Errno::NOSYS].map(Errno::raw_os_error);
    call_succeeds(call, given)
        || std::io::Error::last_os_error()
            .raw_os_error()
            .is_some_and(|error| !refusals.contains(&error))
}
