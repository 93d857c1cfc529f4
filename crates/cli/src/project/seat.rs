//! The place of this process in the project: it is the holder and decides, or a guest of the holder and
//! performs its own part.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use unstuck_core::engine::{BuildState, Command, Recorded, Standing, State};
use unstuck_runner::control::{Client, ClientError, Refusal, Server, TokenKey};
use unstuck_runner::notify::Sender;
use unstuck_runner::{
    CommandError, Decider, Ended, Handle, Look, Looked, Notice, Runner, Scope, World,
};
use unstuck_store::Store;
use unstuck_store::tables::BuildRow;

use super::channels::{GRACE, sender};
use super::folder::{Project, holder};
use super::patience::{Found, take_or_join};
use super::post::Post;
use crate::build::redactor;
use crate::error::Error;

/// The place of this process in the project.
pub(crate) struct Seat {
    post: Post,
    notices: broadcast::Receiver<Notice>,
    /// The parts that only the holder has.
    held: Option<Held>,
}

/// The parts that only the holder has.
struct Held {
    running: JoinHandle<Ended>,
    /// Sends notifications to people.
    sender: Option<Sender>,
    server: Server,
}

/// A message from the project.
pub(crate) enum Heard {
    /// An event happened.
    Notice(Notice),
    /// The holder is gone.
    HolderGone,
}

impl Seat {
    /// Takes the project, or connects to its holder.
    pub(crate) async fn take(
        project: &Project,
        store: &Arc<dyn Store>,
        verb: &str,
    ) -> Result<Self, Error> {
        match take_or_join(project, store, verb, || Self::join(project)).await? {
            Found::Ours(runner) => Self::hold(project, store, *runner, verb).await,
            Found::Theirs(seat) => Ok(seat),
        }
    }

    async fn hold(
        project: &Project,
        store: &Arc<dyn Store>,
        runner: Runner,
        verb: &str,
    ) -> Result<Self, Error> {
        let sender = sender(project, store).await?;
        let handle = runner.handle();
        let unusable = |place: String| move |source| Error::Folder { place, source };
        let key = project.token_key();
        let socket = project.socket();
        let token_key = TokenKey::open(&key).map_err(unusable(key.display().to_string()))?;
        let told = handle.clone();
        let redactor = redactor(project);
        let server = Server::start_redacting(&socket, told, token_key, holder(verb), redactor)
            .map_err(unusable(socket.display().to_string()))?;
        let notices = handle.watch();
        let running = tokio::spawn(runner.run());
        // Answers that came while there was no holder count before anything is looked up.
        handle.take_answers().await?;
        let held = Some(Held { running, sender, server });
        Ok(Self { post: Post::Holder(handle), notices, held })
    }

    async fn join(project: &Project) -> std::io::Result<Self> {
        let (client, _) = Client::connect(&project.socket(), None).await?;
        let notices = client.watch().await.map_err(std::io::Error::other)?;
        Ok(Self { post: Post::Guest(client), notices, held: None })
    }

    /// Returns the connection to the decider.
    pub(crate) const fn post(&self) -> &Post {
        &self.post
    }

    /// Sends a command; returns when its events are on disk.
    pub(crate) async fn command(&self, command: Command) -> Result<Vec<Recorded>, Error> {
        self.post.command(command).await
    }

    /// Looks up a value in the state of the project.
    pub(crate) async fn look(&self, look: Look) -> Result<Looked, Error> {
        Ok(match &self.post {
            Post::Holder(handle) => handle.look(move |state| look.at(state)).await?,
            Post::Guest(client) => client.look(look).await?,
        })
    }

    /// Performs the effects of `scope` from now on, as soon as no other process does.
    pub(crate) async fn attach(&self, scope: Scope, world: Arc<dyn World>) -> Result<(), Error> {
        self.post.attach(scope, world).await
    }

    /// Performs the effects of `scope` without waiting; returns `false` if another process does.
    pub(crate) async fn try_attach(
        &self,
        scope: Scope,
        world: Arc<dyn World>,
    ) -> Result<bool, Error> {
        self.post.try_attach(scope, world).await
    }

    /// Returns the decider of commands.
    pub(crate) fn decider(&self) -> Arc<dyn Decider> {
        self.post.decider()
    }

    /// Returns the state of a build and whether one of its tasks is at work. The holder reads both at one
    /// moment from memory, before the tables have them.
    pub(crate) async fn standing(
        &self,
        store: &Arc<dyn Store>,
        project: &str,
        row: &BuildRow,
    ) -> Result<(BuildState, bool), Error> {
        let id = row.id;
        let works = |standing| matches!(standing, Standing::Running | Standing::Reconciling);
        match &self.post {
            Post::Holder(handle) => {
                let look = move |state: &State| {
                    let build = state.build(id)?;
                    let at_work =
                        build.count(Standing::Running) + build.count(Standing::Reconciling) > 0;
                    Some((build.state, at_work))
                };
                Ok(handle.look(look).await?.unwrap_or((row.state, false)))
            }
            Post::Guest(_) => {
                let tasks = store.tasks(project, id).await?;
                Ok((row.state, tasks.iter().any(|task| works(task.moved.state.standing()))))
            }
        }
    }

    /// Returns the handle of the loop if this process decides, and so knows the state before the disk does.
    pub(crate) const fn holder(&self) -> Option<&Handle> {
        match &self.post {
            Post::Holder(handle) => Some(handle),
            Post::Guest(_) => None,
        }
    }

    /// Waits for the next message.
    pub(crate) async fn hear(&mut self) -> Result<Heard, Error> {
        let Self { post, notices, held } = self;
        let left = async {
            match held {
                // The loop ends by itself only when the store is lost.
                Some(held) => match (&mut held.running).await {
                    Ok(Err(error)) => Err(error.into()),
                    _ => Err(CommandError::Ended.into()),
                },
                None => {
                    post.gone().await;
                    Ok(Heard::HolderGone)
                }
            }
        };
        tokio::select! {
            biased;
            notice = notices.recv() => Ok(Heard::Notice(notice.unwrap_or(Notice::Gap))),
            left = left => left,
        }
    }

    /// Subscribes to the notices from here on, in addition to the caller of `hear`.
    pub(crate) async fn watch(&self) -> Result<broadcast::Receiver<Notice>, Error> {
        Ok(match &self.post {
            Post::Holder(handle) => handle.watch(),
            Post::Guest(client) => client.watch().await?,
        })
    }

    /// Returns when the holder, if it is another process, is gone.
    pub(crate) async fn left(&self) {
        self.post.gone().await;
    }

    /// Returns whether an error means that the holder, another process, is ending or gone.
    pub(crate) const fn is_left_by(&self, error: &Error) -> bool {
        let gone = matches!(
            error,
            Error::Refused(ClientError::Gone | ClientError::Refused { why: Refusal::Ended, .. })
        );
        gone && matches!(self.post, Post::Guest(_))
    }

    /// Leaves in an orderly way: the work of this process is ended, all events are on disk, and the project
    /// is released.
    pub(crate) async fn leave(self) -> Result<(), Error> {
        self.post.leave().await;
        if let Some(Held { running, sender, server }) = self.held {
            let ended = running.await.map_err(|_| CommandError::Ended)?;
            // Other processes need not wait for the last notifications.
            drop(server);
            if let Some(sender) = sender {
                sender.finish(GRACE).await;
            }
            ended?;
        }
        Ok(())
    }
}
