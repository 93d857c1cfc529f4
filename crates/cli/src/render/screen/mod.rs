//! A part of the terminal that is drawn in place, and the keys a person presses there.
//!
//! [`Screen::enter`] takes the keyboard; [`draw`](Screen::draw) shows lines where the last ones were,
//! writing only what changed, so that nothing flickers; [`say`](Screen::say) writes lines above them
//! that stay; [`next`](Screen::next) waits for a key, a new size or an end, and may be dropped half-way,
//! as in a `select!`. The rest of the window and what was in it before are left alone.
//!
//! However it ends, the terminal is as it was before: when the screen is dropped, also by a panic;
//! while it is stopped with Ctrl-Z; and at a signal, which comes as an [`Input`] and not as an end.
//! Ctrl-C is one, too, because the keyboard sends no signals meanwhile.
//!
//! What keys mean and what lines say is up to whoever draws. The parts that can be tested without a
//! terminal are: [`Keys`](key::Keys) from bytes to keys, and [`Frame`](frame::Frame) from lines to
//! bytes.
//!
//! It stands on `rustix`, which is there anyway. The usual crate for it would bring a second version
//! of the crate that catches signals, for few more keys and none of the drawing in place.

mod frame;
mod key;
mod raw;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod screen;

pub(crate) use key::Key;
pub(crate) use screen::{Input, Screen, Size};
