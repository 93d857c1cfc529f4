//! `unstuck demo`: one night, told on the real engine in virtual time, with no key and no network.
//!
//! The plan and what goes wrong are scripted ([`story`]); every decision, wait, question and
//! sentence is the engine's own. Half-way the program is "killed": the journal is read back and
//! the night goes on.

mod ask;
mod night;
mod show;
mod story;

use std::io::Write;

use unstuck_core::engine::Command;

use crate::args::Demo;
use crate::error::Error;
use crate::exit::Exit;
use crate::render::Terminal;
use night::Night;

/// Carries it out.
pub(crate) fn run(args: &Demo, terminal: &Terminal) -> Result<Exit, Error> {
    let mut out = terminal.styled();
    let width = terminal.width();
    let mut person = ask::Person::new(args.auto);
    let mut night = Night::new(args.seed);
    show::opening(&mut out, args.seed, person.is_scripted())?;
    night.command(Command::StartBuild { plan: story::plan(), slots: 3, in_place: false });
    let mut killed = false;
    while let Some(moment) = night.next() {
        for told in night.take_told() {
            show::happening(&mut out, &told, width)?;
        }
        if !killed && night.has_waited_for_the_account() {
            killed = true;
            show::killed(&mut out, night.clock(), night.kill_and_read_back())?;
        }
        match moment {
            night::Moment::Went => {}
            night::Moment::AsksAPerson(question) => {
                show::question(&mut out, &night, question, width)?;
                out.flush()?;
                let answer = person.answer(&mut out, night.words(question).as_ref())?;
                show::answered(&mut out, &answer)?;
                night.answer(question, &answer);
            }
        }
        out.flush()?;
    }
    for told in night.take_told() {
        show::happening(&mut out, &told, width)?;
    }
    show::morning(&mut out, &night)?;
    show::why(&mut out, &night, width)?;
    out.flush()?;
    Ok(Exit::Done)
}
