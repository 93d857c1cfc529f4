//! Plays the night in its folder and shows it, from the point of an interruption if there was one.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{Event, QuestionId};
use unstuck_core::question::Decision;
use unstuck_store::{Answer, crash};

use super::ask::DemoAnswerer;
use super::night::{Night, NightState};
use super::shop::DemoShop;
use super::show;
use crate::args::DemoArgs;
use crate::commands::report;
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::Terminal;

/// Plays the night to its end.
pub(super) async fn play_night(
    args: &DemoArgs,
    folder: &Path,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    if let Some(nth) = args.crash_at {
        crash::arm_crash(nth);
    }
    let mut out = terminal.styled();
    let width = terminal.width();
    let mut person = DemoAnswerer::new(args.auto);
    let mut night = Night::begin(folder, args.seed).await?;
    if night.read_back > 0 {
        show::write_read_back(&mut out, night.now(), night.read_back)?;
    }
    loop {
        match night.current_state().await? {
            NightState::Over => break,
            NightState::StandsStill(question) => {
                ask_person(&night, question, &mut person, folder, &mut out, width).await?;
            }
            NightState::GoesOn => {}
        }
        let (recorded, narration) = night.next_event().await?;
        if let Some(sentence) = narration {
            show::write_event(&mut out, &recorded, &sentence, width)?;
            out.flush()?;
        }
        if let Event::GatePassing { .. } = recorded.event
            && !args.gently
            && record_first_kill(folder)
        {
            night.settle().await;
            kill_self();
        }
    }
    show::write_reasons(&mut out, &night.load_journal().await?, width)?;
    if let Some(morning) = night.load_report().await? {
        show::write_report_heading(&mut out)?;
        report::write_report(&mut out, morning, width)?;
    }
    show::write_next_steps(&mut out, width)?;
    out.flush()?;
    night.shut_down().await?;
    Ok(Exit::Done)
}

async fn ask_person(
    night: &Night,
    id: QuestionId,
    person: &mut DemoAnswerer,
    folder: &Path,
    out: &mut impl Write,
    width: usize,
) -> Result<(), CliError> {
    let Some(question) = night.load_question(id).await? else { return Ok(()) };
    show::write_question(out, &question.text, width)?;
    out.flush()?;
    let answer = person.answer_question(out, Some(&question.text))?;
    show::write_answer(out, &answer)?;
    if answer.decision == Decision::ProvideCredentials {
        DemoShop::open(folder)?.renew_key()?;
    }
    let guidance = answer.guidance.as_deref().map(Arc::from);
    let decision = answer.decision;
    let by = Arc::from("you");
    let at = night.now();
    night.record_answer(Answer { question: id, decision, guidance, by, at }).await
}

/// Returns whether the night has not been killed yet, and records the kill: one is enough.
fn record_first_kill(folder: &Path) -> bool {
    fs::OpenOptions::new().write(true).create_new(true).open(folder.join("killed")).is_ok()
}

/// Kills this process with SIGKILL.
fn kill_self() {
    let own = rustix::process::getpid();
    let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
}
