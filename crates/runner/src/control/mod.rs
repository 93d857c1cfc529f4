//! The control socket: how other processes talk to whoever holds a project.
//!
//! One JSON value per line, in both directions. The socket is the user's alone (mode 0600), and the
//! kernel says which process knocks: one that lives in a run can report for that run only, with or
//! without its token. Inside the wall there is the run's own socket and no other. No question is
//! answered here: answers are rows in the store, and the socket only says that there are some.

mod acts;
mod blame;
mod client;
mod connection;
mod lines;
mod may;
mod peer;
mod remote;
mod reply;
mod run_socket;
mod server;
mod token;
mod wire;
mod words;

pub use blame::Stated;
pub use client::{Client, ClientError};
pub use run_socket::RunSocket;
pub use server::Server;
pub use token::{Token, TokenKey};
pub use wire::Refusal;
