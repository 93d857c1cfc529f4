//! The live view on a terminal, and its keys.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use unstuck_core::engine::{BuildId, RecordedEvent, TaskId};

use super::board::BuildBoard;
use crate::error::CliError;
use crate::project::{EndSignal, now};
use crate::render::Terminal;
use crate::render::screen::{KeyPress, Screen, ScreenInput};

/// Minimum interval between two drawings after events, against flicker.
const SOON: Duration = Duration::from_millis(80);
/// Interval between two drawings while only the clock changes.
const LATER: Duration = Duration::from_secs(1);

/// A view that is drawn in place.
pub(super) struct LiveView {
    screen: Screen,
    pub(super) board: BuildBoard,
    /// Set if an event came since the last drawing.
    stale: bool,
    drawn: Instant,
}

/// A request of the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiveRequest {
    /// Draw the current state.
    Look,
    /// Retry waiting tasks now.
    Kick,
    Answer,
    /// Judge whether a red base belongs to the work.
    JudgeBase {
        /// The build with the red base.
        build: BuildId,
        /// Set if it belongs to the work.
        belongs: bool,
    },
    Pause,
    Background,
    End(EndSignal),
}

impl LiveView {
    /// Takes the terminal, if there is one with a person.
    pub(super) fn enter(terminal: &Terminal) -> io::Result<Option<Self>> {
        let screen = Screen::enter(terminal)?;
        let board = BuildBoard::default();
        Ok(screen.map(|screen| Self { screen, board, stale: true, drawn: Instant::now() }))
    }

    pub(super) fn apply_event(&mut self, recorded: &RecordedEvent, task: Option<TaskId>) {
        self.board.apply_event(recorded, task);
        self.stale = true;
    }

    /// Waits for a key, or until the next drawing is due.
    pub(super) async fn next_request(&mut self) -> Result<LiveRequest, CliError> {
        let pause = if self.stale { SOON } else { LATER };
        loop {
            let input = tokio::select! {
                input = self.screen.next_input() => input?,
                () = sleep_until(self.drawn + pause) => return Ok(LiveRequest::Look),
            };
            match input {
                ScreenInput::Key(KeyPress::Char('k')) if self.board.has_waiting_task() => {
                    return Ok(LiveRequest::Kick);
                }
                ScreenInput::Key(KeyPress::Char('a')) if self.board.has_questions() => {
                    return Ok(LiveRequest::Answer);
                }
                ScreenInput::Key(KeyPress::Char(key @ ('y' | 'n')))
                    if self.board.red_base().is_some() =>
                {
                    let belongs = key == 'y';
                    let judge = self
                        .board
                        .red_base()
                        .map(|build| LiveRequest::JudgeBase { build, belongs });
                    return Ok(judge.unwrap_or(LiveRequest::Look));
                }
                ScreenInput::Key(KeyPress::Char('p')) => return Ok(LiveRequest::Pause),
                ScreenInput::Key(KeyPress::Char('b')) => return Ok(LiveRequest::Background),
                ScreenInput::Key(_) => {}
                ScreenInput::Resized => return Ok(LiveRequest::Look),
                ScreenInput::Interrupted => return Ok(LiveRequest::End(EndSignal::Interrupted)),
                ScreenInput::Terminated => return Ok(LiveRequest::End(EndSignal::Terminated)),
            }
        }
    }

    pub(super) fn draw(&mut self) -> Result<(), CliError> {
        let size = self.screen.size();
        self.screen.draw(self.board.render_lines(now(), size.columns, size.rows), None)?;
        (self.stale, self.drawn) = (false, Instant::now());
        Ok(())
    }

    pub(super) fn write_above(&mut self, text: &str) -> Result<(), CliError> {
        self.stale = true;
        Ok(self.screen.write_above(text)?)
    }

    /// Gives the terminal away, with the view removed.
    pub(super) fn release(mut self) -> Result<(Screen, BuildBoard), CliError> {
        self.screen.clear()?;
        Ok((self.screen, self.board))
    }

    /// Takes the terminal again, with the earlier state.
    pub(super) fn reenter(
        terminal: &Terminal,
        board: BuildBoard,
    ) -> Result<Option<Self>, CliError> {
        let live = Self::enter(terminal)?;
        Ok(live.map(|live| Self { board, ..live }))
    }
}
