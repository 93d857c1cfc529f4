//! The control socket: a real socket, a real loop, the store in memory.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod checkpointing;
mod leaving;
mod peers;
mod performing;
mod sockets;
mod stage;
mod talking;
mod tokens;
