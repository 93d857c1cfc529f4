//! The live view on a terminal, and its keys.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use unstuck_core::engine::{BuildId, Recorded, TaskId};

use super::board::Board;
use crate::error::Error;
use crate::project::{Signal, now};
use crate::render::Terminal;
use crate::render::screen::{Input, Key, Screen};

/// Minimum interval between two drawings after events, against flicker.
const SOON: Duration = Duration::from_millis(80);
/// Interval between two drawings while only the clock changes.
const LATER: Duration = Duration::from_secs(1);

/// A view that is drawn in place.
pub(super) struct Live {
    screen: Screen,
    pub(super) board: Board,
    /// Set if an event came since the last drawing.
    stale: bool,
    drawn: Instant,
}

/// A request of the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Draw the current state.
    Look,
    /// Retry waiting tasks now.
    Kick,
    /// Answer questions.
    Answer,
    /// Judge whether a red base belongs to the work.
    JudgeBase {
        /// The build with the red base.
        build: BuildId,
        /// Set if it belongs to the work.
        belongs: bool,
    },
    /// Pause all builds.
    Pause,
    /// Continue in the background.
    Background,
    /// End this process.
    End(Signal),
}

impl Live {
    /// Takes the terminal, if there is one with a person.
    pub(super) fn enter(terminal: &Terminal) -> io::Result<Option<Self>> {
        let screen = Screen::enter(terminal)?;
        let board = Board::default();
        Ok(screen.map(|screen| Self { screen, board, stale: true, drawn: Instant::now() }))
    }

    pub(super) fn happened(&mut self, recorded: &Recorded, task: Option<TaskId>) {
        self.board.happened(recorded, task);
        self.stale = true;
    }

    /// Waits for a key, or until the next drawing is due.
    pub(super) async fn next(&mut self) -> Result<Act, Error> {
        let pause = if self.stale { SOON } else { LATER };
        loop {
            let input = tokio::select! {
                input = self.screen.next() => input?,
                () = sleep_until(self.drawn + pause) => return Ok(Act::Look),
            };
            match input {
                Input::Key(Key::Char('k')) if self.board.waits() => return Ok(Act::Kick),
                Input::Key(Key::Char('a')) if self.board.asks() => return Ok(Act::Answer),
                Input::Key(Key::Char(key @ ('y' | 'n'))) if self.board.red_base().is_some() => {
                    let belongs = key == 'y';
                    let judge =
                        self.board.red_base().map(|build| Act::JudgeBase { build, belongs });
                    return Ok(judge.unwrap_or(Act::Look));
                }
                Input::Key(Key::Char('p')) => return Ok(Act::Pause),
                Input::Key(Key::Char('b')) => return Ok(Act::Background),
                Input::Key(_) => {}
                Input::Resized => return Ok(Act::Look),
                Input::Interrupted => return Ok(Act::End(Signal::Interrupted)),
                Input::Terminated => return Ok(Act::End(Signal::Terminated)),
            }
        }
    }

    pub(super) fn draw(&mut self) -> Result<(), Error> {
        let size = self.screen.size();
        self.screen.draw(self.board.lines(now(), size.columns, size.rows), None)?;
        (self.stale, self.drawn) = (false, Instant::now());
        Ok(())
    }

    /// Writes a text above the view.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Error> {
        self.stale = true;
        Ok(self.screen.say(text)?)
    }

    /// Gives the terminal away, with the view removed.
    pub(super) fn give(mut self) -> Result<(Screen, Board), Error> {
        self.screen.clear()?;
        Ok((self.screen, self.board))
    }

    /// Takes the terminal again, with the earlier state.
    pub(super) fn again(terminal: &Terminal, board: Board) -> Result<Option<Self>, Error> {
        let live = Self::enter(terminal)?;
        Ok(live.map(|live| Self { board, ..live }))
    }
}
