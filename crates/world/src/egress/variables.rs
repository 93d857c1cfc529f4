//! The environment variables by which programs learn of a proxy.

use std::ffi::OsString;

/// The port of the proxy inside a run's own network namespace. It is below the range from which
/// tests get their ports.
pub const PROXY_PORT: u16 = 13_128;
/// The user name beside a credential; only the password is checked.
pub(super) const USER: &str = "unstuck";

/// Hosts that are reached without the proxy: those inside the namespace itself.
const NOT_PROXIED: &str = "localhost,127.0.0.1,::1";
/// The same hosts in the syntax of Java.
const NOT_PROXIED_BY_JAVA: &str = "localhost|127.*|[::1]";

/// Variables that name a proxy; most programs read one of these. Yarn has had its own names since
/// version 2.
const PROXIED: [&str; 8] = [
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
    "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY",
];
/// Option variables of Java's build tools, which read none of the variables above. The proxy is
/// added to their values.
pub const JAVA_OPTIONS: [&str; 3] = ["MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS"];

/// The way in which programs reach loopback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopbackRoute {
    /// Directly: it is the loopback of their own namespace, where a test may start a server.
    #[default]
    Direct,
    /// Through the proxy, to every service of this machine that it allows.
    Proxied,
}

/// The address of a proxy on loopback.
#[derive(Clone, Debug)]
pub struct ProxyAddress {
    /// The TCP port.
    pub port: u16,
    /// The password that the proxy requires.
    pub credential: Option<String>,
    /// The way to loopback, which may be the proxy, too.
    pub loopback: LoopbackRoute,
}

impl ProxyAddress {
    /// Returns the URL of the proxy.
    pub fn to_url(&self) -> String {
        let port = self.port;
        match &self.credential {
            None => format!("http://127.0.0.1:{port}"),
            Some(credential) => format!("http://{USER}:{credential}@127.0.0.1:{port}"),
        }
    }

    /// Sends programs with this environment through the proxy. Keeps existing options of Java's
    /// build tools.
    pub fn announce_in(&self, environment: &mut Vec<(OsString, OsString)>) {
        let url = self.to_url();
        let proxied = PROXIED.map(|name| (name, url.as_str()));
        let not_proxied = match self.loopback {
            LoopbackRoute::Direct => NOT_PROXIED,
            LoopbackRoute::Proxied => "",
        };
        let direct = ["NO_PROXY", "no_proxy"].map(|name| (name, not_proxied));
        // Node's own client reads the other variables only if this one is set.
        for (name, value) in proxied.into_iter().chain(direct).chain([("NODE_USE_ENV_PROXY", "1")])
        {
            environment.retain(|(known, _)| known != name);
            environment.push((name.into(), value.into()));
        }
        let options = self.render_java_options();
        for name in JAVA_OPTIONS {
            match environment.iter_mut().find(|(known, _)| known == name) {
                Some((_, value)) => {
                    value.push(" ");
                    value.push(&options);
                }
                None => environment.push((name.into(), options.clone().into())),
            }
        }
    }

    /// Returns the proxy as Java properties. Maven has to be told to read them, under another name
    /// since version 4.
    fn render_java_options(&self) -> String {
        let mut options: Vec<String> = Vec::new();
        for scheme in ["http", "https"] {
            options.push(format!("-D{scheme}.proxyHost=127.0.0.1"));
            options.push(format!("-D{scheme}.proxyPort={}", self.port));
            if let Some(credential) = &self.credential {
                options.push(format!("-D{scheme}.proxyUser={USER}"));
                options.push(format!("-D{scheme}.proxyPassword={credential}"));
            }
        }
        let not_proxied = match self.loopback {
            LoopbackRoute::Direct => NOT_PROXIED_BY_JAVA,
            LoopbackRoute::Proxied => "",
        };
        options.push(format!("-Dhttp.nonProxyHosts={not_proxied}"));
        options.push("-Djdk.http.auth.tunneling.disabledSchemes=".to_owned());
        for transport in ["connector.http", "transport.apache"] {
            options.push(format!("-Daether.{transport}.useSystemProperties=true"));
        }
        options.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(address: &ProxyAddress, before: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let before = before.iter().map(|(name, value)| (name.into(), value.into()));
        let mut environment: Vec<(OsString, OsString)> = before.collect();
        address.announce_in(&mut environment);
        environment
    }

    fn of(environment: &[(OsString, OsString)], name: &str) -> String {
        let mut found = environment.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.to_str().unwrap().to_owned());
        assert!(found.next().is_none(), "{name} twice");
        value.unwrap_or_default()
    }

    #[test]
    fn loopback_is_left_out_unless_the_proxy_leads_there() {
        for (loopback, left_out) in
            [(LoopbackRoute::Direct, NOT_PROXIED), (LoopbackRoute::Proxied, "")]
        {
            let set = announced(&ProxyAddress { port: 1, credential: None, loopback }, &[]);
            assert_eq!(of(&set, "NO_PROXY"), left_out);
            assert_eq!(of(&set, "no_proxy"), left_out);
            let java = of(&set, "MAVEN_OPTS");
            assert_eq!(java.contains("nonProxyHosts=localhost"), loopback == LoopbackRoute::Direct);
        }
    }

    #[test]
    fn both_spellings_of_every_variable_are_set() {
        let before = [("HTTPS_PROXY", "http://person:1"), ("no_proxy", "*")];
        let set = announced(
            &ProxyAddress { port: 1, credential: None, loopback: LoopbackRoute::Direct },
            &before,
        );
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            assert_eq!(of(&set, name), "http://127.0.0.1:1");
            assert_eq!(of(&set, &name.to_lowercase()), of(&set, name));
        }
        assert_eq!(of(&set, "YARN_HTTPS_PROXY"), "http://127.0.0.1:1");
        assert_eq!(of(&set, "NO_PROXY"), "localhost,127.0.0.1,::1");
        assert_eq!(of(&set, "no_proxy"), of(&set, "NO_PROXY"));
    }

    #[test]
    fn the_tools_of_java_get_it_beside_their_other_options() {
        let address = ProxyAddress {
            port: 7,
            credential: Some("s3".to_owned()),
            loopback: LoopbackRoute::Direct,
        };
        let set = announced(&address, &[("MAVEN_OPTS", "-Xmx1g")]);
        let maven = of(&set, "MAVEN_OPTS");
        assert!(maven.starts_with("-Xmx1g -Dhttp.proxyHost=127.0.0.1 "), "{maven}");
        for name in JAVA_OPTIONS {
            let options = of(&set, name);
            for option in ["-Dhttps.proxyPort=7", "-Dhttps.proxyPassword=s3"] {
                assert!(options.contains(option), "{options}");
            }
        }
        let without = of(
            &announced(
                &ProxyAddress { port: 7, credential: None, loopback: LoopbackRoute::Direct },
                &[],
            ),
            "SBT_OPTS",
        );
        assert!(!without.contains("proxyUser"), "{without}");
    }
}
