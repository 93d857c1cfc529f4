//! The variables by which a child of a run finds whoever decides.

/// Where the control socket is.
pub const SOCKET: &str = "UNSTUCK_SOCKET";
/// What shows which run it belongs to.
pub const TOKEN: &str = "UNSTUCK_TOKEN";
/// The run.
pub const RUN: &str = "UNSTUCK_RUN";
/// What actions may use that an agent declares: names and places, no secret.
pub const DECLARABLE: &str = "UNSTUCK_DECLARABLE";

/// All of them: what a client has to hand on to the server.
pub const VARIABLES: [&str; 4] = [SOCKET, TOKEN, RUN, DECLARABLE];
