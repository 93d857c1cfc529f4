//! The control socket: how other processes talk to whoever holds a project.
//!
//! One JSON value per line, in both directions. The socket is the user's alone (mode 0600); a child
//! of a run comes with that run's token and can then report for its run only. Nobody answers a
//! question here: answers are rows in the store, and the socket only says that there are some.

mod acts;
mod blame;
mod client;
mod connection;
mod lines;
mod may;
mod path;
mod remote;
mod reply;
mod server;
mod token;
mod wire;
mod words;

pub use blame::Stated;
pub use client::{Client, ClientError};
pub use server::Server;
pub use token::{Token, TokenKey};
pub use wire::Refusal;
