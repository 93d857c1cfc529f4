//! The control socket: a real socket, a real loop, the store in memory.

mod checkpointing;
mod holder;
mod leaving;
mod peers;
mod performing;
mod sockets;
mod talking;
mod tokens;
