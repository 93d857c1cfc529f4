//! A connection of one client process to the holder, and the responses to it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use unstuck_core::engine::{Command, EffectId, TaskId};
use unstuck_core::plan::MutationSpec;
use unstuck_store::Holder;
use unstuck_world::redact::Redactor;

use super::remote::{RemoteActions, RemotePerformer};
use super::rights::{PeerRights, is_allowed};
use super::script_failure;
use super::token::TokenKey;
use super::wire::{
    ControlRefusal, ControlRequest, ControlRequestBody, ControlResponse, decision_response,
    done_response, error_response, next_line, refusal_response, write_responses,
};
use crate::decider::{StateQuery, StateQueryResult};
use crate::effects::{PerformScope, redact_command};
use crate::event_loop::{CommandError, RunnerHandle, RunnerNotice};

/// The refusal for a process that belongs to a check, a setup command or an action.
const LIVES_IN_A_RUN: &str =
    "this process lives in a run of this project, and may not ask for anything";
/// Capacity of the queue of messages to one process.
const RESPONSES_QUEUED_MAX: usize = 1_024;

/// A connection of one client process.
pub(super) struct ControlConnection {
    talk: Arc<ControlContext>,
    lines: BufReader<OwnedReadHalf>,
    say: mpsc::Sender<ControlResponse>,
    /// Set if all requests of the process are refused.
    is_denied: bool,
    /// The effect of the run that the process belongs to: it can only report for that one.
    only: Option<EffectId>,
    /// The workers of the process, by the number of their attachment.
    attached: BTreeMap<u64, Arc<RemotePerformer>>,
    /// Actions that the process performs one by one.
    acts: RemoteActions,
    /// The task that sends notices to the process.
    watches: Option<AbortHandle>,
}

impl ControlConnection {
    pub(super) fn new(talk: Arc<ControlContext>, stream: UnixStream, rights: PeerRights) -> Self {
        let (read, write) = stream.into_split();
        let (say, sayings) = mpsc::channel(RESPONSES_QUEUED_MAX);
        tokio::spawn(write_responses(write, sayings));
        let only = match rights {
            PeerRights::Only(effect) => Some(effect),
            PeerRights::Operator | PeerRights::Nothing => None,
        };
        Self {
            talk,
            lines: BufReader::new(read),
            acts: RemoteActions::new(say.clone()),
            say,
            is_denied: rights == PeerRights::Nothing,
            only,
            attached: BTreeMap::new(),
            watches: None,
        }
    }

    pub(super) async fn serve_requests(mut self) {
        while let Some(line) = next_line(&mut self.lines).await {
            let said = match serde_json::from_slice::<ControlRequest>(&line) {
                Ok(ControlRequest { id, .. })
                    if self.is_denied && !self.talk.handle.is_closing() =>
                {
                    Some(refusal_response(id, ControlRefusal::Denied, &LIVES_IN_A_RUN))
                }
                Ok(ControlRequest { id, what: ControlRequestBody::Act { effect, mutation } }) => {
                    // The response follows when the action is settled; other messages come before
                    // it.
                    self.begin_action(id, effect, *mutation)
                }
                Ok(ask) => Some(self.answer_request(ask).await),
                Err(error) => Some(refusal_response(0, ControlRefusal::Malformed, &error)),
            };
            if let Some(said) = said
                && self.say.send(said).await.is_err()
            {
                break;
            }
        }
        self.acts.abandon_all();
        if let Some(watches) = self.watches {
            watches.abort();
        }
        for (number, performer) in &self.attached {
            performer.abandon_clearing();
            // The loop may have ended.
            let _ = self.talk.handle.detach_performer(*number).await;
        }
    }

    async fn answer_request(&mut self, ask: ControlRequest) -> ControlResponse {
        let id = ask.id;
        match ask.what {
            ControlRequestBody::Hello { token } => self.greet_client(id, token.as_deref()).await,
            ControlRequestBody::Command { command } => self.submit_command(id, *command).await,
            ControlRequestBody::Fail(stated) => {
                let Some(effect) = self.only else {
                    return refusal_response(
                        id,
                        ControlRefusal::Denied,
                        &"only a script can fail like this",
                    );
                };
                match script_failure::to_script_fault(&stated) {
                    Ok(fault) => {
                        self.submit_command(id, Command::Blame { effect, fault: Arc::new(fault) })
                            .await
                    }
                    Err(why) => refusal_response(id, ControlRefusal::Malformed, &why),
                }
            }
            ControlRequestBody::Acted { act, outcome } => {
                self.acts.pass_outcome(act, outcome);
                done_response(id)
            }
            ControlRequestBody::Look { look: StateQuery::Action { task, key } }
                if self.only.is_some() =>
            {
                self.look_up_result(id, task, key).await
            }
            _ if self.only.is_some() => {
                refusal_response(id, ControlRefusal::Denied, &"a run can only report for itself")
            }
            ControlRequestBody::Checkpoint { effect, report, conversation } => decision_response(
                id,
                self.talk.handle.record_checkpoint(effect, report, conversation).await,
            ),
            ControlRequestBody::Answers => match self.talk.handle.take_answers().await {
                Ok(()) => done_response(id),
                Err(error) => error_response(id, &error),
            },
            ControlRequestBody::Attach { scope, performing, waits } => {
                let performer = Arc::new(RemotePerformer::new(self.say.clone(), performing));
                match self.attach_performer(scope, &performer, waits).await {
                    Ok(Some(number)) => {
                        self.attached.insert(number, performer);
                        done_response(id)
                    }
                    Ok(None) => {
                        refusal_response(id, ControlRefusal::Taken, &"another process performs it")
                    }
                    Err(error) => error_response(id, &error),
                }
            }
            // Handled before, in `serve`.
            ControlRequestBody::Act { .. } => {
                refusal_response(id, ControlRefusal::Malformed, &"not here")
            }
            ControlRequestBody::Cleared { tasks } => {
                for performer in self.attached.values() {
                    performer.pass_cleared(&tasks);
                }
                done_response(id)
            }
            ControlRequestBody::Leave => self.detach_all(id).await,
            ControlRequestBody::Ended { effect, report } => {
                for performer in self.attached.values() {
                    performer.pass_result(effect, report.clone());
                }
                done_response(id)
            }
            ControlRequestBody::Look { look } => {
                match self.talk.handle.read_state(move |state| look.answer_from(state)).await {
                    Ok(seen) => ControlResponse::Seen { id, seen },
                    Err(error) => error_response(id, &error),
                }
            }
            ControlRequestBody::Watch => {
                self.watches.get_or_insert_with(|| {
                    let told =
                        forward_notices(self.talk.handle.subscribe_notices(), self.say.clone());
                    tokio::spawn(told).abort_handle()
                });
                done_response(id)
            }
        }
    }

    /// Answers a run's question for the result of an action of its own task.
    async fn look_up_result(&self, id: u64, task: TaskId, key: String) -> ControlResponse {
        let only = self.only;
        let found = self.talk.handle.read_state(move |state| {
            let own = only.and_then(|only| state.effect(only)).filter(|own| own.task == task);
            own.and_then(|_| StateQuery::Action { task, key }.answer_from(state).into_text())
        });
        match found.await {
            Ok(result) => {
                let result =
                    result.map(|result| Arc::from(&*self.talk.redactor.redact_text(&result)));
                ControlResponse::Seen { id, seen: StateQueryResult::Text(result) }
            }
            Err(error) => error_response(id, &error),
        }
    }

    /// Attaches a worker. One that waits for its turn and disconnects, or sends another request,
    /// waits no longer.
    async fn attach_performer(
        &mut self,
        scope: PerformScope,
        performer: &Arc<RemotePerformer>,
        waits: bool,
    ) -> Result<Option<u64>, CommandError> {
        let handle = &self.talk.handle;
        let performer = Arc::clone(performer) as _;
        if !waits {
            return handle.try_attach_performer(scope, performer).await;
        }
        tokio::select! {
            attached = handle.attach_performer(scope, performer) => attached.map(Some),
            _ = self.lines.fill_buf() => Ok(None),
        }
    }

    async fn detach_all(&mut self, id: u64) -> ControlResponse {
        for number in std::mem::take(&mut self.attached).into_keys() {
            if let Err(error) = self.talk.handle.detach_cleanly(number).await {
                return error_response(id, &error);
            }
        }
        done_response(id)
    }

    async fn greet_client(&mut self, id: u64, token: Option<&str>) -> ControlResponse {
        if self.talk.handle.is_closing() {
            return error_response(id, &CommandError::Ended);
        }
        if let Some(token) = token {
            match self.talk.key.verify_token(token) {
                Some(effect) if self.only.is_none_or(|only| only == effect) => {
                    self.only = Some(effect);
                }
                Some(_) => {
                    return refusal_response(
                        id,
                        ControlRefusal::Denied,
                        &"the token belongs to another run",
                    );
                }
                None => {
                    return refusal_response(
                        id,
                        ControlRefusal::Denied,
                        &"the token is not one of ours",
                    );
                }
            }
        }
        let effect = match self.only {
            Some(only) => {
                self.talk.handle.read_state(move |state| state.effect(only)).await.ok().flatten()
            }
            None => None,
        };
        ControlResponse::Done {
            id,
            events: Vec::new(),
            holder: Some(self.talk.holder.clone()),
            effect,
        }
    }

    async fn submit_command(&mut self, id: u64, command: Command) -> ControlResponse {
        if !is_allowed(&command, self.only) {
            return refusal_response(id, ControlRefusal::Denied, &"this is not yours to ask");
        }
        let command = match self.only {
            None => command,
            // The words of an agent may contain secrets, just as its actions may.
            Some(_) => match redact_command(&self.talk.redactor, command) {
                Ok(command) => command,
                Err(why) => return refusal_response(id, ControlRefusal::Denied, &why),
            },
        };
        decision_response(id, self.talk.handle.submit_command(command).await)
    }

    /// Lets the process at the other end perform an action, through the ledger; responds at once
    /// only to refuse it.
    fn begin_action(
        &mut self,
        id: u64,
        effect: EffectId,
        mutation: MutationSpec,
    ) -> Option<ControlResponse> {
        let wanted = Command::Mutate { effect, mutation };
        if !is_allowed(&wanted, self.only) {
            return Some(refusal_response(id, ControlRefusal::Denied, &"this is not yours to ask"));
        }
        match redact_command(&self.talk.redactor, wanted) {
            Ok(Command::Mutate { effect, mutation }) => {
                self.acts.begin_action(&self.talk.handle, id, effect, mutation);
                None
            }
            Ok(_) => Some(refusal_response(id, ControlRefusal::Malformed, &"this is no action")),
            Err(why) => Some(refusal_response(id, ControlRefusal::Denied, &why)),
        }
    }
}

async fn forward_notices(
    mut notices: tokio::sync::broadcast::Receiver<RunnerNotice>,
    say: mpsc::Sender<ControlResponse>,
) {
    loop {
        let said = match notices.recv().await {
            Ok(RunnerNotice::Event { recorded, narration }) => ControlResponse::Event {
                recorded: Box::new((*recorded).clone()),
                narration: narration.map(|narration| narration.as_ref().to_owned()),
            },
            Ok(RunnerNotice::StoreWaiting { .. } | RunnerNotice::StoreBack) => continue,
            Ok(RunnerNotice::Left) => ControlResponse::Left,
            Ok(RunnerNotice::Gap) | Err(RecvError::Lagged(_)) => ControlResponse::Gap,
            Err(RecvError::Closed) => return,
        };
        if say.send(said).await.is_err() {
            return;
        }
    }
}

/// The parts that all connections share.
pub(super) struct ControlContext {
    pub(super) handle: RunnerHandle,
    pub(super) key: TokenKey,
    pub(super) holder: Holder,
    pub(super) redactor: Arc<Redactor>,
    /// The folder of the runs' lock files.
    pub(super) runs: PathBuf,
}
