//! Recognizes checks that the sandbox keeps from the network. This is no outage, and without the
//! network that it needs a check says nothing about the work. A check that does not reach a service
//! of this machine may be red for another reason: it stays red, and a note below its output says
//! so.

use std::fs;
use std::path::Path;

use unstuck_core::fault::{Category, Code, ErrorType, Fault, Kind, Missing};

use crate::process::{Connections, Wall};

/// The missing precondition of a check that needs the network.
const LACKING: &str = "network access";
/// Note below the output of such a check.
const NO_NETWORK: &str = "checks have no network (validate.network is off). Let run.setup download what \
     they need, or write network = \"registries\" or a list of hosts below [validate]";

/// Beginning of the note about a service of this machine that was not reached.
const LISTENING: &str = "something listens on localhost:";

/// Files in which Linux lists its sockets.
const SOCKETS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// The state of a listening socket in those files.
const LISTENS: &str = "0A";

/// Lower-case words about a refused connection.
const UNCONNECTED: [&str; 7] = [
    "refused", "failed to connect", "could not connect", "couldn't connect", "can't connect",
    "cannot connect", "unable to connect",
];
/// Names of this machine in such messages.
const HERE: [&str; 4] = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];
/// Text before a port number.
const BEFORE_PORT: [&str; 4] = [":", "/", "port ", "port="];

/// The target that a check did not reach because of the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockedConnection {
    /// The whole network.
    Network,
    /// The service that listens on this port of the machine.
    Here(u16),
}

impl BlockedConnection {
    /// Determines whether the sandbox caused the failure of a red check. `outage` is the
    /// classification of its output, if known. A service of this machine counts only if it really
    /// listens.
    pub(super) fn find(outage: Option<Code>, output: &str, wall: &Wall) -> Option<Self> {
        let Connections::Closed(ways) = &wall.network else { return None };
        match outage {
            Some(code) => (is_outage(code) && ways.is_empty()).then_some(Self::Network),
            None => {
                let listening = read_listening_ports();
                let closed = |port: &u16| !ways.iter().any(|way| way.port == *port);
                let mut ports = find_local_ports(output).into_iter().filter(closed);
                ports.find(|port| listening.contains(port)).map(Self::Here)
            }
        }
    }

    /// Returns the port of the service of this machine.
    pub(super) const fn port(self) -> Option<u16> {
        match self {
            Self::Network => None,
            Self::Here(port) => Some(port),
        }
    }

    /// Returns the note that is put below the output of the check.
    pub(super) fn render_sentence(self) -> String {
        match self {
            Self::Network => NO_NETWORK.to_owned(),
            Self::Here(port) => format!(
                "{LISTENING}{port} of this machine, and checks do not reach it: \
                 write network = [\"localhost:{port}\"] below [validate] if this check needs it"
            ),
        }
    }
}

pub(super) fn no_network_fault(source: String, command: &str, output: &str) -> Fault {
    let what = format!("{LACKING} for the check “{command}”");
    Fault::precondition_missing(source, output, Missing { what })
}

/// Returns whether a check could not run because the sandbox keeps it from the network.
pub fn lacks_network(fault: &Fault) -> bool {
    let Kind::PreconditionMissing(missing) = &fault.kind else { return false };
    fault.source.starts_with("validate:") && missing.what.starts_with(LACKING)
}

/// Returns the log message about a check that the sandbox kept from the network.
pub fn render_network_denial(fault: &Fault) -> Option<String> {
    let Kind::PreconditionMissing(missing) = &fault.kind else { return None };
    let what = &missing.what;
    lacks_network(fault).then(|| {
        format!("A check was kept from the network by validate.network: there is no {what}.")
    })
}

/// Returns the log message about a red check whose output has a note that the sandbox kept it from
/// a service of this machine.
pub fn render_service_denial(command: &str, output: &str) -> Option<String> {
    let said = output.lines().rev().find_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    let said = said.filter(|said| said.starts_with(LISTENING))?;
    Some(format!("`{command}` was kept from the network: {said}."))
}

/// Returns whether a code says that a host on the network was not reached.
fn is_outage(code: Code) -> bool {
    let fault = Fault::new(Kind::bare(code), "", "");
    fault.category() == Category::Environment
        && fault.error_type() == ErrorType::Network
        && code != Code::EnvDiskFull
}

/// Returns the ports of this machine that an output reports failed connections to.
fn find_local_ports(output: &str) -> Vec<u16> {
    let lower = output.to_lowercase();
    let speaks = |line: &&str| {
        UNCONNECTED.iter().any(|word| line.contains(word))
            && HERE.iter().any(|name| line.contains(name))
    };
    let ports = |line: &str| {
        let found = BEFORE_PORT.iter().flat_map(|before| {
            line.split(before).skip(1).filter_map(|rest| {
                let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
                rest[..end].parse::<u16>().ok().filter(|port| *port > 0)
            })
        });
        found.collect::<Vec<u16>>()
    };
    lower.lines().filter(speaks).flat_map(ports).collect()
}

/// Returns the ports on which a process of this machine listens, outside of every sandbox.
fn read_listening_ports() -> Vec<u16> {
    let tables = SOCKETS.iter().filter_map(|table| fs::read_to_string(Path::new(table)).ok());
    tables
        .flat_map(|table| table.lines().filter_map(parse_listening_port).collect::<Vec<u16>>())
        .collect()
}

/// Parses a line such as `  0: 0100007F:1538 00000000:0000 0A …`.
fn parse_listening_port(line: &str) -> Option<u16> {
    let mut columns = line.split_whitespace();
    let local = columns.nth(1)?;
    let state = columns.nth(1)?;
    let port = local.rsplit_once(':')?.1;
    (state == LISTENS).then(|| u16::from_str_radix(port, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_found_in_the_words_of_clients() {
        for (line, port) in [
            (
                "curl: (7) Failed to connect to 127.0.0.1 port 5000 after 0 ms: Could not connect",
                5000,
            ),
            (
                "psql: connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused",
                5432,
            ),
            ("Error: connect ECONNREFUSED 127.0.0.1:3306", 3306),
            ("dial tcp [::1]:6379: connect: connection refused", 6379),
            (
                "HTTPConnectionPool(host='localhost', port=8080): Max retries: connection refused",
                8080,
            ),
            ("x.sh: line 1: /dev/tcp/127.0.0.1/4711: Connection refused", 4711),
        ] {
            assert!(find_local_ports(line).contains(&port), "{line}");
        }
        for line in
            ["connected to localhost:443", "localhost:80 says 500", "refused by 10.0.0.7:80"]
        {
            assert!(find_local_ports(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn what_listens_is_read_from_the_system() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let listed = Path::new(SOCKETS[0]).exists();
        assert_eq!(read_listening_ports().contains(&port), listed);
        drop(listener);
        assert!(!read_listening_ports().contains(&port));
        assert_eq!(parse_listening_port("  0: 0100007F:1538 00000000:0000 0A 0"), Some(0x1538));
        assert_eq!(parse_listening_port("  0: 0100007F:1538 00000000:0000 01 0"), None);
    }

    // A failed server of the check itself makes the check red.
    #[test]
    fn only_what_really_listens_is_kept_from_a_check() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let closed = Wall { network: Connections::Closed(Vec::new()), ..Wall::default() };
        let refused = format!("connect ECONNREFUSED 127.0.0.1:{port}");
        let listed = Path::new(SOCKETS[0]).exists();
        let found = BlockedConnection::find(None, &refused, &closed);
        assert_eq!(found, listed.then_some(BlockedConnection::Here(port)));
        assert_eq!(
            BlockedConnection::find(None, &refused, &Wall::default()),
            None,
            "it has a network"
        );
        drop(listener);
        assert_eq!(BlockedConnection::find(None, &refused, &closed), None);
        let outage = Some(Code::EnvDns);
        assert_eq!(BlockedConnection::find(outage, "", &closed), Some(BlockedConnection::Network));
        assert_eq!(BlockedConnection::find(Some(Code::EnvDiskFull), "", &closed), None);
        let output = format!("refused\n[{}]", BlockedConnection::Here(80).render_sentence());
        let said = render_service_denial("make test", &output).unwrap();
        assert!(said.starts_with("`make test` was kept from the network: something"), "{said}");
        assert_eq!(render_service_denial("make test", "[done]"), None);
    }
}
