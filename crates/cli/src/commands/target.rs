//! The target of the attacks of `unstuck doctor --wall` and `unstuck drill wall`: files to change and to
//! read, and listeners that must not be reached.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;

use unstuck_world::process::SocketPath;
use unstuck_world::process::attack::{ARGUMENT, Attack, FILE, LEFT, SOCKET, temporary_file};

/// The content of the files outside, which must stay unchanged.
const AS_IT_WAS: &str = "as it was";
/// The mode of the file outside.
const MODE: u32 = 0o644;

/// Files to attack, and listeners.
pub(crate) struct SandboxTestTarget {
    /// A folder that must not be written.
    pub(crate) outside: PathBuf,
    /// A folder that must not be read.
    pub(crate) hidden: PathBuf,
    tcp: TcpListener,
    udp: UdpSocket,
    /// Listeners that accept connections as long as they live.
    _local: [UnixListener; 2],
    socket: String,
}

impl SandboxTestTarget {
    pub(crate) fn create(outside: PathBuf, hidden: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&outside)?;
        fs::create_dir_all(&hidden)?;
        fs::write(hidden.join(FILE), AS_IT_WAS)?;
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        tcp.set_nonblocking(true)?;
        let udp = UdpSocket::bind(("127.0.0.1", tcp.local_addr()?.port()))?;
        udp.set_nonblocking(true)?;
        let socket = format!("unstuck-attack-{}", std::process::id());
        let named = UnixListener::bind(SocketPath::from_path(&hidden.join(SOCKET))?.as_path())?;
        let nameless = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&socket)?)?;
        for listener in [&named, &nameless] {
            listener.set_nonblocking(true)?;
        }
        let target = Self { outside, hidden, tcp, udp, _local: [named, nameless], socket };
        target.restore()?;
        Ok(target)
    }

    pub(crate) fn restore(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.outside)?;
        fs::create_dir(&self.outside)?;
        while self.tcp.accept().is_ok() {}
        while self.udp.recv(&mut [0]).is_ok() {}
        let _ = fs::remove_file(temporary_file(&self.socket));
        let file = self.outside.join(FILE);
        fs::write(&file, AS_IT_WAS)?;
        fs::set_permissions(file, Permissions::from_mode(MODE))
    }

    /// Returns whether no file outside has changed and no listener received anything.
    pub(crate) fn is_untouched(&self) -> bool {
        let file = self.outside.join(FILE);
        let quiet = self.tcp.accept().is_err() && self.udp.recv(&mut [0]).is_err();
        let mode = fs::metadata(&file).map(|file| file.permissions().mode());
        let same_mode = mode.is_ok_and(|mode| mode & 0o777 == MODE);
        let left = self.outside.join(LEFT).exists() || temporary_file(&self.socket).exists();
        let text = fs::read_to_string(file);
        quiet && same_mode && !left && text.is_ok_and(|text| text == AS_IT_WAS)
    }

    /// Returns the arguments with which this executable carries out an attack.
    pub(crate) fn attack_arguments(&self, attack: &Attack) -> io::Result<Vec<OsString>> {
        let port = self.tcp.local_addr()?.port();
        Ok(vec![
            ARGUMENT.into(),
            attack.name.into(),
            self.outside.clone().into_os_string(),
            self.hidden.clone().into_os_string(),
            std::process::id().to_string().into(),
            port.to_string().into(),
            self.socket.clone().into(),
        ])
    }
}

impl Drop for SandboxTestTarget {
    fn drop(&mut self) {
        let _ = fs::remove_file(temporary_file(&self.socket));
    }
}
