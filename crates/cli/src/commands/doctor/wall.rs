//! `unstuck doctor --wall`: plays the attacker in a throw-away folder, behind the wall that a build
//! would use, and says what held.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use unstuck_world::process::wall::attack::{
    ARGUMENT, ATTACKS, Against, Attack, FILE, LEFT, SOCKET, THREADS,
};
use unstuck_world::process::{
    Connections, Deadlines, Guard, Held, Hold, How, Launch, Limits, Wall,
};

use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::{self, Terminal, style};

/// What lies outside and must stay as it is.
const AS_IT_WAS: &str = "as it was";
/// How long one attack may take.
const ATTACK_MAX: Duration = Duration::from_secs(10);
/// What makes namespaces where they are missing.
const INSTALL: &str = "install bubblewrap (`apt install bubblewrap`, `dnf install bubblewrap`) and allow \
     unprivileged user namespaces";

/// What came of one attack.
#[derive(Debug, Serialize)]
struct Tried {
    attack: &'static str,
    tries: &'static str,
    held: bool,
    /// What kept it in, where anything did.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
}

/// All of it, as `--json` writes it.
#[derive(Serialize)]
struct Report<'a> {
    /// Whether every attack was refused.
    held: bool,
    /// What the guard says about the wall.
    wall: Held,
    attacks: &'a [Tried],
    #[serde(skip_serializing_if = "Option::is_none")]
    todo: Option<&'static str>,
}

/// Carries it out.
pub(super) fn run(project: &Project, json: bool, terminal: &Terminal) -> Result<Exit, Error> {
    let folder = project.folder().join("doctor");
    let in_folder = |source| Error::Folder { place: folder.display().to_string(), source };
    let place = Place::make(&folder).map_err(in_folder)?;
    let guard = project::own_guard()?;
    let tried = project::runtime()?.block_on(try_all(&place, &guard));
    place.remove().map_err(in_folder)?;
    let (wall, attacks) = tried?;
    let held = attacks.iter().all(|tried| tried.held);
    let todo = (!held && !wall.namespaces).then_some(INSTALL);
    if json {
        let mut out = terminal.plain();
        render::json(&mut out, &Report { held, wall, attacks: &attacks, todo })?;
        out.flush()?;
    } else {
        show(&attacks, held, todo, terminal)?;
    }
    Ok(if held { Exit::Done } else { Exit::Config })
}

async fn try_all(place: &Place, guard: &Guard) -> Result<(Held, Vec<Tried>), Error> {
    let mut held = Held::default();
    let mut all = Vec::new();
    for attack in ATTACKS {
        place.put_right().map_err(|source| Error::Folder {
            place: place.folder.display().to_string(),
            source,
        })?;
        let process = place.launch(guard, attack).start().await?;
        held = process.held();
        let ended = process.wait().await;
        let refused = matches!(ended.how, How::Exited(status) if Attack::is_refused_by(status));
        let is_held = refused && place.is_untouched();
        let by = is_held.then(|| keeper(held, attack.against)).flatten();
        all.push(Tried { attack: attack.name, tries: attack.tries, held: is_held, by });
    }
    Ok((held, all))
}

/// The layer that keeps attacks of a kind in.
fn keeper(held: Held, against: Against) -> Option<&'static str> {
    match against {
        Against::Calls if held.calls.is_full() => Some("seccomp"),
        Against::Limits => Some("limits"),
        _ if held.namespaces => Some("namespaces"),
        Against::Files if held.files != Hold::NotPossible => Some("Landlock"),
        Against::Reading if held.reading != Hold::NotPossible => Some("Landlock"),
        Against::Network if held.network != Hold::NotPossible => Some("Landlock and seccomp"),
        Against::Processes if held.processes != Hold::NotPossible => Some("Landlock"),
        _ => None,
    }
}

/// A throw-away place with something to take, and listeners that nothing may reach.
struct Place {
    folder: PathBuf,
    tcp: TcpListener,
    udp: UdpSocket,
    /// They refuse nothing while they live.
    _local: [UnixListener; 2],
    socket: String,
}

impl Place {
    fn make(folder: &Path) -> io::Result<Self> {
        let _ = fs::remove_dir_all(folder);
        for name in ["work", "outside", "hidden"] {
            fs::create_dir_all(folder.join(name))?;
        }
        let folder = folder.canonicalize()?;
        fs::write(folder.join("hidden").join(FILE), AS_IT_WAS)?;
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        tcp.set_nonblocking(true)?;
        let udp = UdpSocket::bind(("127.0.0.1", tcp.local_addr()?.port()))?;
        udp.set_nonblocking(true)?;
        let socket = format!("unstuck-doctor-{}", std::process::id());
        let named = UnixListener::bind(folder.join("hidden").join(SOCKET))?;
        let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&socket)?)?;
        for listener in [&named, &hidden] {
            listener.set_nonblocking(true)?;
        }
        Ok(Self { folder, tcp, udp, _local: [named, hidden], socket })
    }

    fn outside(&self) -> PathBuf {
        self.folder.join("outside")
    }

    /// Makes it as it was before an attack.
    fn put_right(&self) -> io::Result<()> {
        for folder in [self.outside(), self.folder.join("work")] {
            fs::remove_dir_all(&folder)?;
            fs::create_dir(&folder)?;
        }
        while self.tcp.accept().is_ok() {}
        while self.udp.recv(&mut [0]).is_ok() {}
        fs::write(self.outside().join(FILE), AS_IT_WAS)
    }

    /// Whether nothing outside has changed and nothing was heard.
    fn is_untouched(&self) -> bool {
        let file = fs::read_to_string(self.outside().join(FILE));
        let quiet = self.tcp.accept().is_err() && self.udp.recv(&mut [0]).is_err();
        quiet && file.is_ok_and(|text| text == AS_IT_WAS) && !self.outside().join(LEFT).exists()
    }

    fn launch(&self, guard: &Guard, attack: &Attack) -> Launch {
        let (lock, work) = (self.folder.join("lock"), self.folder.join("work"));
        let mut launch = Launch::new(guard.clone(), lock, work, &guard.executable);
        let port = self.tcp.local_addr().map(|address| address.port()).unwrap_or_default();
        launch.arguments = vec![ARGUMENT.into(), attack.name.into()];
        launch.arguments.extend([
            self.outside().into_os_string(),
            self.folder.join("hidden").into_os_string(),
            OsString::from(std::process::id().to_string()),
            OsString::from(port.to_string()),
            OsString::from(&self.socket),
        ]);
        launch.deadlines = Deadlines { total: Some(ATTACK_MAX), ..Deadlines::default() };
        launch.wall = self.wall(guard);
        launch
    }

    /// The wall of a build, around this place.
    fn wall(&self, guard: &Guard) -> Wall {
        let mut wall = Wall::usual(std::env::var_os("PATH").as_deref());
        wall.writable = Some(vec![self.folder.join("work")]);
        wall.hidden.push(self.folder.join("hidden"));
        wall.readable.push(self.folder.clone());
        wall.admit_program(&guard.executable);
        wall.network = Connections::Closed(Vec::new());
        wall.limits = Limits { processes: Some(THREADS / 2), ..Limits::default() };
        wall
    }

    fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.folder)
    }
}

fn show(
    attacks: &[Tried],
    held: bool,
    todo: Option<&str>,
    terminal: &Terminal,
) -> Result<(), Error> {
    let width = attacks.iter().map(|tried| tried.attack.len()).max().unwrap_or_default();
    let mut out = terminal.styled();
    for Tried { attack, tries, held, by } in attacks {
        let (mark, look) = if *held { ("✔", style::HINT) } else { ("✘", style::ERROR) };
        let came = match (held, by) {
            (true, Some(by)) => format!("refused by {by}"),
            (true, None) => "refused by the system".to_owned(),
            (false, _) => "got through".to_owned(),
        };
        writeln!(out, "{look}{mark}{look:#} {attack:width$}  {tries}: {came}")?;
    }
    let through = attacks.iter().filter(|tried| !tried.held).count();
    let verdict = match (held, todo) {
        (true, _) => format!("The wall held against all {} attacks.", attacks.len()),
        (false, None) => format!("{through} of {} attacks got through.", attacks.len()),
        (false, Some(todo)) => {
            format!("{through} of {} attacks got through → {todo}", attacks.len())
        }
    };
    writeln!(out, "\n{}", render::wrapped(&verdict, 0, terminal.line_width()))?;
    out.flush()?;
    Ok(())
}
