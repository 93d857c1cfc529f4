//! The environment variables by which a child process of a run finds the holder.

/// The path of the control socket.
pub const SOCKET: &str = "UNSTUCK_SOCKET";
/// The token that proves which run the process belongs to.
pub const TOKEN: &str = "UNSTUCK_TOKEN";
/// The id of the run.
pub const RUN: &str = "UNSTUCK_RUN";
/// The names and places that actions declared by an agent may use, as JSON; no secrets.
pub const DECLARABLE: &str = "UNSTUCK_DECLARABLE";

/// All of these variables, which a client has to pass on to the server.
pub const VARIABLES: [&str; 4] = [SOCKET, TOKEN, RUN, DECLARABLE];
