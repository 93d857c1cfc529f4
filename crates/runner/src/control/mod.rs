//! The control socket, by which other processes talk to the holder of a project.
//!
//! One JSON value per line, in both directions. The socket is accessible to the user alone (mode
//! 0600), and the kernel identifies the connecting process: one that belongs to a run can report
//! for that run only, with or without its token. Inside the sandbox only the run's own socket
//! exists. Approval questions are not answered here: answers are rows in the store, and the socket
//! only announces them.

mod acts;
mod blame;
mod client;
mod connection;
mod decider;
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

pub use blame::ScriptFailure;
pub use client::{ClientError, ControlClient};
pub use run_socket::RunSocket;
pub use server::ControlServer;
pub use token::{RunToken, TokenKey};
pub use wire::ControlRefusal;
