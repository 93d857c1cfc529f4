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
use unstuck_world::mcp::{Heard, Line, Protocol, tools};
use unstuck_world::redact::Redactor;

use crate::args::Mcp;
use crate::build::environment_redactor;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Child, Project};
use crate::render::Terminal;
use answer::{Then, answer};
use desk::Desk;
use run::Run;
use session::Sessions;
pub(super) use session::is_of_a_client;

/// Time for which a response is withheld from an agent that is being stopped: with it, the agent would ask
/// its model for one more step, at the operator's cost.
const HELD_BACK: Duration = Duration::from_secs(5);

pub(crate) fn run(_args: &Mcp, dir: Option<&Path>, _terminal: &Terminal) -> Result<Exit, Error> {
    let desk = desk(dir)?;
    let redactor = environment_redactor();
    project::runtime()?.block_on(serve(desk, &redactor))?;
    Ok(Exit::Done)
}

/// Returns the destination of calls: the run of a child process, or else the project of the directory.
fn desk(dir: Option<&Path>) -> Result<Desk, Error> {
    match Child::of_environment() {
        Some(Child { socket, token }) => Ok(Desk::Run(Run::new(socket, token))),
        None => Ok(Desk::Sessions(Sessions::new(Project::find(dir)?))),
    }
}

async fn serve(mut desk: Desk, redactor: &Redactor) -> Result<(), Error> {
    let protocol = Protocol::new(tools(), words::instructions(&desk), env!("CARGO_PKG_VERSION"));
    let mut lines = input::lines()?;
    let mut signals = Signals::new()?;
    let mut then = Then::GoesOn;
    loop {
        let line = match then {
            Then::GoesOn => signals.unless(lines.recv()).await,
            // The signal is for the agent, which would take the end of this process for a response and ask
            // its model.
            Then::LastWord | Then::Over => lines.recv().await,
        };
        let Some(line) = line else { break };
        let heard = match &line {
            Line::Whole(line) => protocol.line(line),
            Line::TooLong => protocol.too_long(),
        };
        match heard {
            Heard::Nothing => {}
            Heard::Reply(reply) => write(&reply)?,
            Heard::Call(call) => {
                // An agent that goes on after it stated that it is done is being stopped.
                let is_done = then == Then::LastWord;
                let said = answer(&mut desk, redactor, &call.tool, &call.input).await;
                then = said.then;
                if is_done || then == Then::Over {
                    hold_back(&mut lines).await;
                }
                write(&call.answer(&redactor.text(&said.text), said.failed, said.about))?;
            }
        }
    }
    desk.leave().await
}

/// Waits until the agent has ended.
async fn hold_back(lines: &mut mpsc::Receiver<Line>) {
    let ended = async { while lines.recv().await.is_some() {} };
    let _still_there = tokio::time::timeout(HELD_BACK, ended).await;
}

/// Signals that end the server: clients do not only close its input.
struct Signals([Signal; 3]);

impl Signals {
    fn new() -> io::Result<Self> {
        let [one, two, three] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        Ok(Self([one?, two?, three?]))
    }

    /// Waits for a value; returns `None` on a signal.
    async fn unless<T>(&mut self, waited: impl Future<Output = Option<T>>) -> Option<T> {
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
fn write(line: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line)?;
    out.flush()
}
