//! `unstuck mcp`: serves Unstuck's tools to agent programs on standard input and output.
//!
//! Inside a run the calls go over the control socket as commands for that run, with its token. Outside,
//! each client's session is a build with one task, so that its questions and failures are handled like all
//! others. Design: `docs/design/mcp.md`.

mod answer;
mod check;
mod desk;
mod input;
mod run;
mod session;
mod wait;
mod words;

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use unstuck_world::mcp::{McpLine, McpProtocol, McpReaction, mcp_tools};
use unstuck_world::redact::Redactor;

use crate::args::McpArgs;
use crate::build::environment_redactor;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, EnclosingRun, LocalProject};
use crate::render::Terminal;
use answer::{AfterCall, answer_call};
use desk::CallTarget;
use run::McpRun;
use session::McpSessions;
pub(super) use session::is_client_task;

/// Time for which a response is withheld from an agent that is being stopped: with it, the agent would ask
/// its model for one more step, at the operator's cost.
const HELD_BACK: Duration = Duration::from_secs(5);

pub(crate) fn run(
    _args: &McpArgs,
    dir: Option<&Path>,
    _terminal: &Terminal,
) -> Result<Exit, CliError> {
    let desk = find_target(dir)?;
    let redactor = environment_redactor();
    project::create_runtime()?.block_on(serve_calls(desk, &redactor))?;
    Ok(Exit::Done)
}

/// Returns the destination of calls: the run of a child process, or else the project of the directory.
fn find_target(dir: Option<&Path>) -> Result<CallTarget, CliError> {
    match EnclosingRun::from_environment() {
        Some(EnclosingRun { socket, token }) => Ok(CallTarget::Run(McpRun::new(socket, token))),
        None => Ok(CallTarget::Sessions(McpSessions::new(LocalProject::find(dir)?))),
    }
}

async fn serve_calls(mut desk: CallTarget, redactor: &Redactor) -> Result<(), CliError> {
    let protocol =
        McpProtocol::new(mcp_tools(), words::server_instructions(&desk), env!("CARGO_PKG_VERSION"));
    let mut lines = input::read_lines()?;
    let mut signals = McpSignals::new()?;
    let mut then = AfterCall::GoesOn;
    loop {
        let line = match then {
            AfterCall::GoesOn => signals.recv_unless_signal(lines.recv()).await,
            // The signal is for the agent, which would take the end of this process for a response and ask
            // its model.
            AfterCall::LastWord | AfterCall::Over => lines.recv().await,
        };
        let Some(line) = line else { break };
        let heard = match &line {
            McpLine::Whole(line) => protocol.handle_line(line),
            McpLine::TooLong => protocol.reject_long_line(),
        };
        match heard {
            McpReaction::Nothing => {}
            McpReaction::Reply(reply) => write_line(&reply)?,
            McpReaction::Call(call) => {
                // An agent that goes on after it stated that it is done is being stopped.
                let is_done = then == AfterCall::LastWord;
                let said = answer_call(&mut desk, redactor, &call.tool, &call.input).await;
                then = said.then;
                if is_done || then == AfterCall::Over {
                    wait_for_agent_end(&mut lines).await;
                }
                write_line(&call.format_response(
                    &redactor.redact_text(&said.text),
                    said.failed,
                    said.about,
                ))?;
            }
        }
    }
    desk.leave().await
}

/// Waits until the agent has ended.
async fn wait_for_agent_end(lines: &mut mpsc::Receiver<McpLine>) {
    let ended = async { while lines.recv().await.is_some() {} };
    let _still_there = tokio::time::timeout(HELD_BACK, ended).await;
}

/// Signals that end the server: clients do not only close its input.
struct McpSignals([Signal; 3]);

impl McpSignals {
    fn new() -> io::Result<Self> {
        let [one, two, three] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        Ok(Self([one?, two?, three?]))
    }

    /// Waits for a value; returns `None` on a signal.
    async fn recv_unless_signal<T>(
        &mut self,
        waited: impl Future<Output = Option<T>>,
    ) -> Option<T> {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            biased;
            waited = waited => waited,
            _ = interrupt.recv() => None,
            _ = terminate.recv() => None,
            _ = hangup.recv() => None,
        }
    }
}

/// Writes a whole line at once, because a client reads line by line.
fn write_line(line: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line)?;
    out.flush()
}
