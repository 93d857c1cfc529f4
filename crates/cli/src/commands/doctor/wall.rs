//! `unstuck doctor --wall`: carries out attacks in a throw-away folder, behind the sandbox that a build
//! would use, and reports which were refused.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use unstuck_world::egress::EgressPolicy;
use unstuck_world::process::wall::attack::{ATTACKS, Against, Attack, Behind, THREADS};
use unstuck_world::process::{
    Connections, Deadlines, Guard, Held, Hold, How, Launch, Limits, Wall,
};
use unstuck_world::workspace::wall_around;

use crate::commands::target::Target;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::{self, Terminal, style};

/// Timeout of an attack.
const ATTACK_MAX: Duration = Duration::from_secs(10);
/// The remedy for missing namespaces.
const INSTALL: &str = "install bubblewrap (`apt install bubblewrap`, `dnf install bubblewrap`) and allow \
     unprivileged user namespaces";

/// The result of an attack.
#[derive(Debug, Serialize)]
struct Tried {
    attack: &'static str,
    tries: &'static str,
    held: bool,
    /// The layer that refused the attack, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
}

/// The report in its JSON form.
#[derive(Serialize)]
struct Report<'a> {
    /// Set if every attack was refused.
    held: bool,
    /// The state of the sandbox, as the guard reports it.
    wall: Held,
    attacks: &'a [Tried],
    #[serde(skip_serializing_if = "Option::is_none")]
    todo: Option<&'static str>,
}

pub(super) fn run(project: &Project, json: bool, terminal: &Terminal) -> Result<Exit, Error> {
    let folder = project.folder().join("doctor");
    let in_folder = |source| Error::Folder { place: folder.display().to_string(), source };
    let place = Place::make(&folder, project.root()).map_err(in_folder)?;
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
    let in_folder = |source| Error::Folder { place: place.folder.display().to_string(), source };
    let mut held = Held::default();
    let mut all = Vec::new();
    for attack in ATTACKS {
        place.put_right().map_err(in_folder)?;
        let process = place.launch(guard, attack).await.map_err(in_folder)?.start().await?;
        held = process.held();
        let ended = process.wait().await;
        let counted = matches!(ended.how, How::TooMany { .. });
        let refused = matches!(ended.how, How::Exited(status) if Attack::is_refused_by(status));
        let is_held = (refused || counted) && place.target.is_untouched();
        let by = is_held.then(|| keeper(held, attack.against)).flatten();
        all.push(Tried { attack: attack.name, tries: attack.tries, held: is_held, by });
    }
    Ok((held, all))
}

/// Returns the layer that refuses attacks of a kind.
fn keeper(held: Held, against: Against) -> Option<&'static str> {
    match against {
        Against::Calls if held.calls.is_full() => Some("seccomp"),
        Against::Limits if held.limits.is_full() => Some("limits of the system"),
        Against::Limits => Some("counting them, which ended it"),
        _ if held.namespaces => Some("namespaces"),
        Against::Files if held.files != Hold::NotPossible => Some("Landlock"),
        Against::Reading if held.reading != Hold::NotPossible => Some("Landlock"),
        Against::Network if held.network != Hold::NotPossible => Some("Landlock and seccomp"),
        Against::Processes if held.processes != Hold::NotPossible => Some("Landlock"),
        _ => None,
    }
}

/// A throw-away folder around the target.
struct Place {
    folder: PathBuf,
    /// The root of the project.
    root: PathBuf,
    target: Target,
}

impl Place {
    fn make(folder: &Path, root: &Path) -> io::Result<Self> {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder.join("work"))?;
        let folder = folder.canonicalize()?;
        let target = Target::make(folder.join("outside"), folder.join("hidden"))?;
        Ok(Self { folder, root: root.to_owned(), target })
    }

    fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// Restores the state before an attack.
    fn put_right(&self) -> io::Result<()> {
        fs::remove_dir_all(self.work())?;
        fs::create_dir(self.work())?;
        self.target.put_right()
    }

    async fn launch(&self, guard: &Guard, attack: &Attack) -> io::Result<Launch> {
        let lock = self.folder.join("lock");
        let mut launch = Launch::new(guard.clone(), lock, self.work(), &guard.executable);
        launch.arguments = self.target.arguments(attack);
        launch.deadlines = Deadlines { total: Some(ATTACK_MAX), ..Deadlines::default() };
        launch.wall = self.wall(guard);
        match attack.behind {
            Behind::Command => launch.wall.network = Connections::Closed(Vec::new()),
            Behind::Check => {
                let socket = self.folder.join("proxy");
                EgressPolicy::Closed.apply(&socket, &mut launch.wall, &mut Vec::new()).await?;
            }
        }
        Ok(launch)
    }

    /// Returns the sandbox of a build, around this folder.
    fn wall(&self, guard: &Guard) -> Wall {
        let environment: Vec<_> = std::env::vars_os().collect();
        let private = self.folder.join("private");
        let mut wall = wall_around(&self.root, &self.work(), &private, &environment);
        wall.hidden.push(self.target.hidden.clone());
        wall.readable.push(self.folder.clone());
        wall.readable.push(guard.executable.clone());
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
