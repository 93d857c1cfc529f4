//! Plays the night in its folder and shows it, from the point of an interruption if there was one.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{Event, QuestionId};
use unstuck_core::question::Decision;
use unstuck_store::{Answer, crash};

use super::ask::Person;
use super::night::{Look, Night};
use super::shop::Shop;
use super::show;
use crate::args::Demo;
use crate::commands::report;
use crate::error::Error;
use crate::exit::Exit;
use crate::render::Terminal;

/// Plays the night to its end.
pub(super) async fn night(args: &Demo, folder: &Path, terminal: &Terminal) -> Result<Exit, Error> {
    if let Some(nth) = args.crash_at {
        crash::arm(nth);
    }
    let mut out = terminal.styled();
    let width = terminal.width();
    let mut person = Person::new(args.auto);
    let mut night = Night::begin(folder, args.seed).await?;
    if night.read_back > 0 {
        show::read_back(&mut out, night.now(), night.read_back)?;
    }
    loop {
        match night.look().await? {
            Look::Over => break,
            Look::StandsStill(question) => {
                ask(&night, question, &mut person, folder, &mut out, width).await?;
            }
            Look::GoesOn => {}
        }
        let (recorded, narration) = night.next().await?;
        if let Some(sentence) = narration {
            show::happening(&mut out, &recorded, &sentence, width)?;
            out.flush()?;
        }
        if let Event::GatePassing { .. } = recorded.event
            && !args.gently
            && first_time(folder)
        {
            night.settle().await;
            die();
        }
    }
    show::why(&mut out, &night.journal().await?, width)?;
    if let Some(morning) = night.report().await? {
        show::morning(&mut out)?;
        report::show(&mut out, morning, width)?;
    }
    show::next(&mut out, width)?;
    out.flush()?;
    night.end().await?;
    Ok(Exit::Done)
}

async fn ask(
    night: &Night,
    id: QuestionId,
    person: &mut Person,
    folder: &Path,
    out: &mut impl Write,
    width: usize,
) -> Result<(), Error> {
    let Some(question) = night.question(id).await? else { return Ok(()) };
    show::question(out, &question.text, width)?;
    out.flush()?;
    let answer = person.answer(out, Some(&question.text))?;
    show::answered(out, &answer)?;
    if answer.decision == Decision::ProvideCredentials {
        Shop::open(folder)?.renew_key()?;
    }
    let guidance = answer.guidance.as_deref().map(Arc::from);
    let decision = answer.decision;
    let by = Arc::from("you");
    let at = night.now();
    night.answer(Answer { question: id, decision, guidance, by, at }).await
}

/// Returns whether the night has not been killed yet, and records the kill: one is enough.
fn first_time(folder: &Path) -> bool {
    fs::OpenOptions::new().write(true).create_new(true).open(folder.join("killed")).is_ok()
}

/// Kills this process with SIGKILL.
fn die() {
    let own = rustix::process::getpid();
    let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
}
