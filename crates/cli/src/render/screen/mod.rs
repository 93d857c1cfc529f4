//! Draws a part of the terminal in place and reads the keys that a person presses there.
//!
//! [`Screen::enter`] takes the keyboard; [`draw`](Screen::draw) replaces the previous lines and writes only
//! the differences, so that nothing flickers; [`say`](Screen::write_above) writes lines above them that stay;
//! [`next`](Screen::next_input) waits for a key, a new size or the end, and is cancel-safe, as in a `select!`.
//! The rest of the window and its previous content are left alone.
//!
//! The terminal is restored in every case: when the screen is dropped, also by a panic; while the process
//! is stopped with Ctrl-Z; and at a signal, which arrives as an [`ScreenInput`] and does not end the process.
//! Ctrl-C arrives as an [`ScreenInput`] too, because the keyboard sends no signals meanwhile.
//!
//! The caller decides the meaning of keys and the content of lines. The parts that can be tested without a
//! terminal are [`KeyDecoder`](key::KeyDecoder), from bytes to keys, and [`ScreenFrame`](frame::ScreenFrame), from lines to bytes.
//!
//! The module uses `rustix`, which is a dependency anyway. The usual crate for terminals would bring a
//! second version of the crate that catches signals, for few more keys and no drawing in place.

mod frame;
mod key;
mod raw;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod screen;

pub(crate) use key::KeyPress;
pub(crate) use screen::{Screen, ScreenInput, ScreenSize};
