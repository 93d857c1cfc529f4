//! A connection of one client process to the holder, and the responses to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use unstuck_core::engine::{Command, EffectId};
use unstuck_core::plan::MutationSpec;

use super::acts::Acts;
use super::blame;
use super::lines::{next_line, write_all};
use super::may::may;
use super::peer::Rights;
use super::remote::RemoteWorld;
use super::reply::{done, refused, refused_by, said};
use super::server::Talk;
use super::wire::{Ask, Refusal, Say, What};
use super::words;
use crate::handle::CommandError;
use crate::notice::Notice;
use crate::world::Scope;

/// The refusal for a process that belongs to a check, a setup command or an action.
const LIVES_IN_A_RUN: &str =
    "this process lives in a run of this project, and may not ask for anything";
/// Capacity of the queue of messages to one process.
const SAYINGS_MAX: usize = 1_024;

/// A connection of one client process.
pub(super) struct Connection {
    talk: Arc<Talk>,
    lines: BufReader<OwnedReadHalf>,
    say: mpsc::Sender<Say>,
    /// Set if all requests of the process are refused.
    is_denied: bool,
    /// The effect of the run that the process belongs to: it can only report for that one.
    only: Option<EffectId>,
    /// The workers of the process, by the number of their attachment.
    attached: BTreeMap<u64, Arc<RemoteWorld>>,
    /// Actions that the process performs one by one.
    acts: Acts,
    /// The task that sends notices to the process.
    watches: Option<AbortHandle>,
}

impl Connection {
    pub(super) fn new(talk: Arc<Talk>, stream: UnixStream, rights: Rights) -> Self {
        let (read, write) = stream.into_split();
        let (say, sayings) = mpsc::channel(SAYINGS_MAX);
        tokio::spawn(write_all(write, sayings));
        let only = match rights {
            Rights::Only(effect) => Some(effect),
            Rights::Operator | Rights::Nothing => None,
        };
        Self {
            talk,
            lines: BufReader::new(read),
            acts: Acts::new(say.clone()),
            say,
            is_denied: rights == Rights::Nothing,
            only,
            attached: BTreeMap::new(),
            watches: None,
        }
    }

    pub(super) async fn serve(mut self) {
        while let Some(line) = next_line(&mut self.lines).await {
            let said = match serde_json::from_slice::<Ask>(&line) {
                Ok(Ask { id, .. }) if self.is_denied && !self.talk.handle.is_closing() => {
                    Some(refused(id, Refusal::Denied, &LIVES_IN_A_RUN))
                }
                Ok(Ask { id, what: What::Act { effect, mutation } }) => {
                    // The response follows when the action is settled; other messages come before
                    // it.
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
        if let Some(watches) = self.watches {
            watches.abort();
        }
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
            What::Fail(stated) => {
                let Some(effect) = self.only else {
                    return refused(id, Refusal::Denied, &"only a script can fail like this");
                };
                match blame::fault(&stated) {
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
                    Ok(None) => refused(id, Refusal::Taken, &"another process performs it"),
                    Err(error) => refused_by(id, &error),
                }
            }
            // Handled before, in `serve`.
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
                self.watches.get_or_insert_with(|| {
                    let told = watch(self.talk.handle.watch(), self.say.clone());
                    tokio::spawn(told).abort_handle()
                });
                done(id)
            }
        }
    }

    /// Attaches a worker. One that waits for its turn and disconnects, or sends another request,
    /// waits no longer.
    async fn attach(
        &mut self,
        scope: Scope,
        world: &Arc<RemoteWorld>,
        waits: bool,
    ) -> Result<Option<u64>, CommandError> {
        let handle = &self.talk.handle;
        let world = Arc::clone(world) as _;
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
                Some(effect) if self.only.is_none_or(|only| only == effect) => {
                    self.only = Some(effect);
                }
                Some(_) => {
                    return refused(id, Refusal::Denied, &"the token belongs to another run");
                }
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
        if !may(&command, self.only) {
            return refused(id, Refusal::Denied, &"this is not yours to ask");
        }
        let command = match self.only {
            None => command,
            // The words of an agent may contain secrets, just as its actions may.
            Some(_) => match words::redacted(&self.talk.redactor, command) {
                Ok(command) => command,
                Err(why) => return refused(id, Refusal::Denied, &why),
            },
        };
        said(id, self.talk.handle.command(command).await)
    }

    /// Lets the process at the other end perform an action, through the ledger; responds at once
    /// only to refuse it.
    fn act(&mut self, id: u64, effect: EffectId, mutation: MutationSpec) -> Option<Say> {
        let wanted = Command::Mutate { effect, mutation };
        if !may(&wanted, self.only) {
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
}

async fn watch(mut notices: tokio::sync::broadcast::Receiver<Notice>, say: mpsc::Sender<Say>) {
    loop {
        let said = match notices.recv().await {
            Ok(Notice::Event { recorded, narration }) => Say::Event {
                recorded: Box::new((*recorded).clone()),
                narration: narration.map(|narration| narration.as_ref().to_owned()),
            },
            Ok(Notice::StoreWaiting { .. } | Notice::StoreBack) => continue,
            Ok(Notice::Left) => Say::Left,
            Ok(Notice::Gap) | Err(RecvError::Lagged(_)) => Say::Gap,
            Err(RecvError::Closed) => return,
        };
        if say.send(said).await.is_err() {
            return;
        }
    }
}
