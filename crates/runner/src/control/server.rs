//! The holder's end of the socket.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, mpsc};
use unstuck_core::engine::{Command, EffectId, Note, Rejected};
use unstuck_core::plan::MutationSpec;
use unstuck_store::Holder;
use unstuck_world::redact::Redactor;

use super::acts::Acts;
use super::blame;
use super::path::SocketPath;
use super::remote::RemoteWorld;
use super::token::TokenKey;
use super::wire::{Ask, LINE_BYTES_MAX, Refusal, Say, What};
use super::words;
use crate::handle::{CommandError, Decided, Handle};
use crate::notice::Notice;
use crate::world::Scope;

/// Processes that may talk at the same time.
const CONNECTIONS_MAX: usize = 256;
/// How long nobody is let in after somebody could not be.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// What may wait to be said to one process.
const SAYINGS_MAX: usize = 1_024;

/// Listens for other processes until it is dropped.
#[derive(Debug)]
pub struct Server(tokio::task::JoinHandle<()>);

impl Server {
    /// Listens at `path`. Only whoever holds the project may: a socket that lies there is a dead
    /// one. What children of runs say loses what looks like a secret.
    pub fn start(path: &Path, handle: Handle, key: TokenKey, holder: Holder) -> io::Result<Self> {
        Self::start_redacting(path, handle, key, holder, Arc::default())
    }

    /// The same where secrets are known: they are taken out of what children of runs say.
    pub fn start_redacting(
        path: &Path,
        handle: Handle,
        key: TokenKey,
        holder: Holder,
        redactor: Arc<Redactor>,
    ) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let short = SocketPath::of(path)?;
        let listener = UnixListener::bind(short.as_path())?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let talk = Arc::new(Talk { handle, key, holder, redactor });
        Ok(Self(tokio::spawn(listen(listener, talk))))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The file stays: by now it may be that of whoever holds the project after us.
        self.0.abort();
    }
}

struct Talk {
    handle: Handle,
    key: TokenKey,
    holder: Holder,
    redactor: Arc<Redactor>,
}

async fn listen(listener: UnixListener, talk: Arc<Talk>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // There may be no descriptor left for it: that passes.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let talk = Arc::clone(&talk);
        tokio::spawn(async move {
            Connection::new(talk, stream).serve().await;
            drop(place);
        });
    }
}

/// One process that talks to us.
struct Connection {
    talk: Arc<Talk>,
    lines: BufReader<OwnedReadHalf>,
    say: mpsc::Sender<Say>,
    /// The run it belongs to: it can report for that and nothing else.
    only: Option<EffectId>,
    /// What it performs, by the number of its attachment.
    attached: BTreeMap<u64, Arc<RemoteWorld>>,
    /// Actions that it performs one by one.
    acts: Acts,
    /// Whether it is told what happens.
    watches: bool,
}

impl Connection {
    fn new(talk: Arc<Talk>, stream: UnixStream) -> Self {
        let (read, write) = stream.into_split();
        let (say, sayings) = mpsc::channel(SAYINGS_MAX);
        tokio::spawn(write_all(write, sayings));
        let (lines, acts) = (BufReader::new(read), Acts::new(say.clone()));
        Self { talk, lines, say, only: None, attached: BTreeMap::new(), acts, watches: false }
    }

    async fn serve(mut self) {
        while let Some(line) = next_line(&mut self.lines).await {
            let said = match serde_json::from_slice::<Ask>(&line) {
                Ok(Ask { id, what: What::Act { effect, mutation } }) => {
                    // It is answered when it is settled; until then there is more to say.
                    self.act(id, effect, *mutation)
                }
                Ok(ask) => Some(self.answer(ask).await),
                Err(error) => Some(refused(0, Refusal::Malformed, &error)),
            };
            if let Some(said) = said
                && self.say.send(said).await.is_err()
            {
                break;
            }
        }
        self.acts.gone();
        for (number, world) in &self.attached {
            world.gone();
            // The loop may have ended.
            let _ = self.talk.handle.detach(*number).await;
        }
    }

    async fn answer(&mut self, ask: Ask) -> Say {
        let id = ask.id;
        match ask.what {
            What::Hello { token } => self.hello(id, token.as_deref()).await,
            What::Command { command } => self.command(id, *command).await,
            What::Fail { code, message, retry_after_seconds } => {
                let Some(effect) = self.only else {
                    return refused(id, Refusal::Denied, &"only a script can fail like this");
                };
                match blame::fault(code, &message, retry_after_seconds) {
                    Ok(fault) => {
                        self.command(id, Command::Blame { effect, fault: Arc::new(fault) }).await
                    }
                    Err(why) => refused(id, Refusal::Malformed, &why),
                }
            }
            What::Acted { act, outcome } => {
                self.acts.acted(act, outcome);
                done(id)
            }
            _ if self.only.is_some() => {
                refused(id, Refusal::Denied, &"a run can only report for itself")
            }
            What::Checkpoint { effect, report, conversation } => {
                said(id, self.talk.handle.checkpoint(effect, report, conversation).await)
            }
            What::Answers => match self.talk.handle.take_answers().await {
                Ok(()) => done(id),
                Err(error) => refused_by(id, &error),
            },
            What::Attach { scope, performing, waits } => {
                let world = Arc::new(RemoteWorld::new(self.say.clone(), performing));
                match self.attach(scope, &world, waits).await {
                    Ok(Some(number)) => {
                        self.attached.insert(number, world);
                        done(id)
                    }
                    Ok(None) => refused(id, Refusal::Taken, &"somebody else performs it"),
                    Err(error) => refused_by(id, &error),
                }
            }
            // It has a way of its own.
            What::Act { .. } => refused(id, Refusal::Malformed, &"not here"),
            What::Cleared { tasks } => {
                for world in self.attached.values() {
                    world.cleared(&tasks);
                }
                done(id)
            }
            What::Leave => self.leave(id).await,
            What::Ended { effect, report } => {
                for world in self.attached.values() {
                    world.ended(effect, report.clone());
                }
                done(id)
            }
            What::Look { look } => match self.talk.handle.look(move |state| look.at(state)).await {
                Ok(seen) => Say::Seen { id, seen },
                Err(error) => refused_by(id, &error),
            },
            What::Watch => {
                if !std::mem::replace(&mut self.watches, true) {
                    tokio::spawn(watch(self.talk.handle.watch(), self.say.clone()));
                }
                done(id)
            }
        }
    }

    /// One that waits for its turn and hangs up, or says something else, waits no longer.
    async fn attach(
        &mut self,
        scope: Scope,
        world: &Arc<RemoteWorld>,
        waits: bool,
    ) -> Result<Option<u64>, CommandError> {
        let (handle, world) = (&self.talk.handle, Arc::clone(world) as _);
        if !waits {
            return handle.try_attach(scope, world).await;
        }
        tokio::select! {
            attached = handle.attach(scope, world) => attached.map(Some),
            _ = self.lines.fill_buf() => Ok(None),
        }
    }

    async fn leave(&mut self, id: u64) -> Say {
        for number in std::mem::take(&mut self.attached).into_keys() {
            if let Err(error) = self.talk.handle.leave(number).await {
                return refused_by(id, &error);
            }
        }
        done(id)
    }

    async fn hello(&mut self, id: u64, token: Option<&str>) -> Say {
        if self.talk.handle.is_closing() {
            return refused_by(id, &CommandError::Ended);
        }
        if let Some(token) = token {
            match self.talk.key.effect(token) {
                Some(effect) => self.only = Some(effect),
                None => return refused(id, Refusal::Denied, &"the token is not one of ours"),
            }
        }
        let effect = match self.only {
            Some(only) => {
                self.talk.handle.look(move |state| state.effect(only)).await.ok().flatten()
            }
            None => None,
        };
        Say::Done { id, events: Vec::new(), holder: Some(self.talk.holder.clone()), effect }
    }

    async fn command(&mut self, id: u64, command: Command) -> Say {
        if !self.may(&command) {
            return refused(id, Refusal::Denied, &"this is not yours to ask");
        }
        let command = match self.only {
            None => command,
            // What an agent says is as little to be trusted with secrets as what it does.
            Some(_) => match words::redacted(&self.talk.redactor, command) {
                Ok(command) => command,
                Err(why) => return refused(id, Refusal::Denied, &why),
            },
        };
        said(id, self.talk.handle.command(command).await)
    }

    /// Has an action performed by the process at the other end, through the ledger; says something
    /// at once only where it may not be.
    fn act(&mut self, id: u64, effect: EffectId, mutation: MutationSpec) -> Option<Say> {
        let wanted = Command::Mutate { effect, mutation };
        if !self.may(&wanted) {
            return Some(refused(id, Refusal::Denied, &"this is not yours to ask"));
        }
        match words::redacted(&self.talk.redactor, wanted) {
            Ok(Command::Mutate { effect, mutation }) => {
                self.acts.begin(&self.talk.handle, id, effect, mutation);
                None
            }
            Ok(_) => None,
            Err(why) => Some(refused(id, Refusal::Denied, &why)),
        }
    }

    /// Answers come through the store, results from whoever performs, time from the clock.
    fn may(&self, command: &Command) -> bool {
        match command {
            // Nobody but who judges the work tells what its checks said.
            Command::Note { note: Note::Checked { .. }, .. }
            | Command::StartBuild { .. }
            | Command::DefineJob { .. }
            | Command::FireJob { .. }
            | Command::HoldJob { .. }
            | Command::ReleaseJob { .. }
            | Command::CheckAgain { .. }
            | Command::Pause { .. }
            | Command::Resume { .. }
            | Command::Cancel { .. }
            | Command::Abort { .. }
            | Command::Kick { .. }
            | Command::KickGate { .. }
            | Command::Retry { .. }
            | Command::Skip { .. }
            | Command::Forget { .. } => self.only.is_none(),
            Command::Progress { effect, .. }
            | Command::Note { effect, .. }
            | Command::Raise { effect, .. }
            | Command::Observe { effect, .. }
            | Command::Blame { effect, .. }
            | Command::Reserve { effect, .. }
            | Command::Mutate { effect, .. } => self.only.is_none_or(|only| only == *effect),
            Command::Answer { .. }
            | Command::Settle { .. }
            | Command::JobDue { .. }
            | Command::Wake
            | Command::Recover { .. } => false,
        }
    }
}

/// The next line, without reading more of it than may be; none at the end or when it is too long.
pub(super) async fn next_line<R: tokio::io::AsyncRead + Unpin>(
    lines: &mut BufReader<R>,
) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let most = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
    let read = lines.take(most).read_until(b'\n', &mut line).await;
    (read.is_ok() && line.ends_with(b"\n")).then_some(line)
}

/// Writes what is to be said, one line each, until nobody has anything to say.
async fn write_all(mut write: OwnedWriteHalf, mut sayings: mpsc::Receiver<Say>) {
    while let Some(say) = sayings.recv().await {
        let Ok(mut line) = serde_json::to_vec(&say) else { continue };
        line.push(b'\n');
        if write.write_all(&line).await.is_err() {
            return;
        }
    }
}

async fn watch(mut notices: tokio::sync::broadcast::Receiver<Notice>, say: mpsc::Sender<Say>) {
    loop {
        let said = match notices.recv().await {
            Ok(Notice::Event { recorded, narration }) => Say::Event {
                recorded: Box::new((*recorded).clone()),
                narration: narration.map(|narration| narration.as_ref().to_owned()),
            },
            Ok(Notice::StoreWaiting { .. } | Notice::StoreBack) => continue,
            Ok(Notice::Gap) | Err(RecvError::Lagged(_)) => Say::Gap,
            Err(RecvError::Closed) => return,
        };
        if say.send(said).await.is_err() {
            return;
        }
    }
}

/// What is said of a decision.
fn said(id: u64, decided: Result<Decided, CommandError>) -> Say {
    match decided {
        Ok(Decided { events }) => {
            let events = events.iter().map(|recorded| (**recorded).clone()).collect();
            Say::Done { id, events, holder: None, effect: None }
        }
        Err(error) => refused_by(id, &error),
    }
}

const fn done(id: u64) -> Say {
    Say::Done { id, events: Vec::new(), holder: None, effect: None }
}

fn refused(id: u64, why: Refusal, message: &dyn std::fmt::Display) -> Say {
    let (code, message) = (why.code(), message.to_string());
    Say::Refused { id, why, code: Some(code), category: Some(code.row().category), message }
}

pub(super) fn refused_by(id: u64, error: &CommandError) -> Say {
    let why = match error {
        CommandError::Rejected(Rejected::Stale(_)) => Refusal::Stale,
        CommandError::Rejected(Rejected::KeyReused(_)) => Refusal::KeyReused,
        CommandError::Rejected(_) => Refusal::Rejected,
        CommandError::Store(_) => Refusal::Store,
        CommandError::Ended => Refusal::Ended,
    };
    refused(id, why, error)
}
