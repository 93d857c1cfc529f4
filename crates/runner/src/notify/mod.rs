//! Telling people what happened while they were elsewhere.
//!
//! What is told follows from the journal: a [`Sender`] reads it, as anybody can, and remembers per
//! channel up to where everything was told. So nothing is lost when a process dies, what may have
//! been told twice has the same id, and nothing here can hold up the loop or change a run. The
//! design is in `docs/design/notifications.md`.

mod line;
mod sender;
mod test;
mod waiting;
mod words;

pub use line::{RETRY_MAX, retry_in};
pub use sender::{Links, Outgoing, Sender};
pub use test::{Tested, test};
pub use waiting::{AGE_MAX, WAITING_MAX};
