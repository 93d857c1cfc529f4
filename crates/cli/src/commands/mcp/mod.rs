//! `unstuck mcp`: serves Unstuck's tools to agent programs on standard input and output.
//!
//! Inside a run the calls go over the control socket as commands for that run, with its token. Outside,
//! each client's session is a build with one task, so that its questions and failures are handled like all
//! others. Design: `docs/design/mcp.md`.

mod answer;
mod session;
mod target;
mod wait;
mod words;

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;
use unstuck_world::mcp::{McpLine, McpLineSplitter, McpProtocol, McpReaction, mcp_tools};
use unstuck_world::redact::Redactor;

use self::answer::{AfterCall, ToolAnswer, answer_call};
use self::session::McpSessions;
pub(super) use self::session::is_client_task;
use self::target::{CallTarget, McpRun};
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, EnclosingRun, EndSignals, LocalProject};
use crate::settings::environment_redactor;

/// Start an MCP server for agents on standard input and output
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Speaks the Model Context Protocol on standard input and output, so that an agent \
        can ask a person (ask_human, check_answer), report a failure and get the next step \
        (report_failure), describe its work (narrate), declare an irreversible action (mutate), \
        and report how its task ended (task_done, task_blocked).\n\n\
        Unstuck starts it by itself for the agents that it runs; it then reports for their run \
        only. Any other client can start it in a project: its questions appear in the inbox like \
        all others. It ends when its input ends.",
    after_long_help = MCP_EXAMPLES
)]
pub(crate) struct McpArgs {}

const MCP_EXAMPLES: &str = "\
Examples:
  claude mcp add unstuck -- unstuck mcp      for your own sessions with Claude Code
  codex mcp add unstuck -- unstuck mcp       and with Codex
  unstuck -C ~/shop mcp                      for the project in another folder";

/// Time for which a response is withheld from an agent that is being stopped: with it, the agent would ask
/// its model for one more step, at the operator's cost.
const HELD_BACK: Duration = Duration::from_secs(5);

pub(crate) fn run(dir: Option<&Path>) -> Result<Exit, CliError> {
    let target = find_target(dir)?;
    let redactor = environment_redactor();
    project::create_runtime()?.block_on(serve_calls(target, &redactor))?;
    Ok(Exit::Done)
}

/// Returns the destination of calls: the run of a child process, or else the project of the directory.
fn find_target(dir: Option<&Path>) -> Result<CallTarget, CliError> {
    match EnclosingRun::from_environment() {
        Some(run) => Ok(CallTarget::Run(McpRun::new(run))),
        None => Ok(CallTarget::Sessions(McpSessions::new(LocalProject::find(dir)?))),
    }
}

async fn serve_calls(mut target: CallTarget, redactor: &Redactor) -> Result<(), CliError> {
    let protocol = McpProtocol::new(
        mcp_tools(),
        words::server_instructions(target.is_run()),
        env!("CARGO_PKG_VERSION"),
    );
    let mut lines = read_lines()?;
    let mut signals = EndSignals::new()?;
    let mut then = AfterCall::GoesOn;
    loop {
        let line = match then {
            // Clients do not only close the input of the server.
            AfterCall::GoesOn => tokio::select! {
                biased;
                line = lines.recv() => line,
                _ = signals.next() => None,
            },
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
                // An agent that goes on after it stated that it is done is being stopped, and what it calls
                // then is not carried out.
                let said = match then {
                    AfterCall::LastWord => ToolAnswer::after_end(),
                    _ => answer_call(&mut target, redactor, &call.tool, &call.input).await,
                };
                let is_over = then == AfterCall::LastWord || said.then == AfterCall::Over;
                then = said.then;
                if is_over {
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
    target.leave().await
}

async fn wait_for_agent_end(lines: &mut mpsc::Receiver<McpLine>) {
    let ended = async { while lines.recv().await.is_some() {} };
    let _still_there = tokio::time::timeout(HELD_BACK, ended).await;
}

/// Writes a whole line at once, because a client reads line by line.
fn write_line(line: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line)?;
    out.flush()
}

/// Maximum number of queued lines; a client that writes more is blocked.
const LINES_MAX: usize = 16;
/// Maximum number of bytes per read.
const CHUNK_BYTES: usize = 64 * 1_024;

/// Returns the lines of standard input, until it ends. A thread of its own reads it and is never joined,
/// because it may block in a read for as long as the client is silent.
fn read_lines() -> io::Result<mpsc::Receiver<McpLine>> {
    let (say, lines) = mpsc::channel(LINES_MAX);
    thread::Builder::new().name("unstuck-input".to_owned()).spawn(move || forward_lines(&say))?;
    Ok(lines)
}

fn forward_lines(say: &mpsc::Sender<McpLine>) {
    let mut lines = McpLineSplitter::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut input = io::stdin().lock();
    loop {
        match input.read(&mut chunk) {
            // An input that cannot be read has ended.
            Ok(0) => return,
            Ok(read) => lines.push(&chunk[..read], |line| {
                // The receiver is gone because the server is ending.
                let _ = say.blocking_send(line);
            }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
