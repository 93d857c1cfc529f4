//! The only way out of the sandbox to the network: a proxy that decides by host name.
//!
//! The supervisor runs one [`EgressProxy`] per run. It listens on a unix socket that the sandbox
//! binds into the run's network namespace, where a [`PortForwarder`](crate::process::PortForwarder)
//! makes it a proxy on loopback; without such a namespace it listens on loopback itself and
//! requires a credential. It resolves only allowed names, connects only to addresses it has judged,
//! and records refusals. Design: `docs/design/egress.md`.

mod host;
mod listener;
mod outgoing;
mod own_servers;
mod policy;
mod proxy;
mod reach;
mod refusals;
mod variables;

pub use host::{
    EgressHost, EgressTarget, HostError, HostPattern, HostPatternError, parse_service_target,
};
pub use listener::{EgressProxy, EgressSettings};
pub use own_servers::{ServerAnnouncement, look_for_servers};
pub use policy::{EgressPolicy, ProxiedEgress};
pub use reach::{EgressDestinations, EgressReach, ReachEntry, ReachSetting};
pub use refusals::{RefusalReason, RefusedTarget};
pub use variables::{JAVA_OPTIONS, LoopbackRoute, PROXY_PORT, ProxyAddress};
