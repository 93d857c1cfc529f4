//! The control socket, by which other processes talk to the holder of a project.
//!
//! One JSON value per line, in both directions. The socket is accessible to the user alone (mode
//! 0600), and the kernel identifies the connecting process: one that belongs to a run can report
//! for that run only, with or without its token. Inside the sandbox only the run's own socket
//! exists. Approval questions are not answered here: answers are rows in the store, and the socket
//! only announces them.

mod client;
mod connection;
mod decider;
mod remote;
mod rights;
mod run_socket;
mod script_failure;
mod server;
mod token;
mod wire;

pub use client::{ClientError, ControlClient};
pub use run_socket::RunSocket;
pub use script_failure::ScriptFailure;
pub use server::ControlServer;
pub use token::{RunToken, TokenKey};
pub use wire::ControlRefusal;
