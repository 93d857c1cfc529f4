//! The network reach of a program, as settings name it.

use std::fmt;
use std::net::SocketAddr;

use super::host::{EgressHost, EgressTarget};
use super::pattern::{HostPattern, HostPatternError};

/// The network reach of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EgressReach {
    /// Only its own network namespace.
    #[default]
    Off,
    /// The model service.
    Service,
    /// The package registries.
    Registries,
    /// The listed hosts.
    Hosts(Vec<ReachEntry>),
    /// The whole network, without a proxy.
    Open,
}

/// The setting that names the hosts, for the line that allows a further one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachSetting {
    /// The heading of its section, such as `[agent]`.
    pub heading: &'static str,
    /// The name of the setting, such as `network`.
    pub name: &'static str,
}

/// An entry of a list of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReachEntry {
    /// The model service.
    Service,
    /// The package registries.
    Registries,
    /// A host or a pattern of hosts.
    Host(HostPattern),
}

impl EgressReach {
    /// Parses one of the words `off`, `service`, `registries` and `open`.
    pub fn parse_word(word: &str) -> Option<Self> {
        Some(match word {
            "off" => Self::Off,
            "service" => Self::Service,
            "registries" => Self::Registries,
            "open" => Self::Open,
            _ => return None,
        })
    }

    /// Returns the services of this machine that are listed with their ports.
    pub fn local_services(&self) -> Vec<SocketAddr> {
        let Self::Hosts(listed) = self else { return Vec::new() };
        let hosts = listed.iter().filter_map(|listed| match listed {
            ReachEntry::Host(host) => host.local_service(),
            ReachEntry::Service | ReachEntry::Registries => None,
        });
        hosts.collect()
    }

    /// Returns the lines of the settings that allow a target in addition.
    pub(super) fn render_lines_allowing(
        &self,
        target: &EgressTarget,
        setting: ReachSetting,
    ) -> String {
        let host = match (&target.host, target.port) {
            (EgressHost::Name(_) | EgressHost::Address(_), 80 | 443) => target.host.to_string(),
            _ => target.to_string(),
        };
        let listed: Vec<String> = match self {
            Self::Off | Self::Open => Vec::new(),
            Self::Service => vec![ReachEntry::Service.to_string()],
            Self::Registries => vec![ReachEntry::Registries.to_string()],
            Self::Hosts(listed) => listed.iter().map(ReachEntry::to_string).collect(),
        };
        let quoted: Vec<_> =
            listed.into_iter().chain([host]).map(|entry| format!("\"{entry}\"")).collect();
        let ReachSetting { heading, name } = setting;
        format!("{heading}\n{name} = [{}]", quoted.join(", "))
    }
}

impl ReachEntry {
    /// Parses an entry: `service`, `registries`, or a host.
    pub fn parse(text: &str) -> Result<Self, HostPatternError> {
        match text {
            "service" => Ok(Self::Service),
            "registries" => Ok(Self::Registries),
            text => HostPattern::parse(text).map(Self::Host),
        }
    }
}

impl fmt::Display for ReachEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service => f.write_str("service"),
            Self::Registries => f.write_str("registries"),
            Self::Host(pattern) => write!(f, "{pattern}"),
        }
    }
}
