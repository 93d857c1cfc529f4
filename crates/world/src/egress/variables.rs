//! The variables by which programs learn of a proxy.

use std::ffi::OsString;

/// The port of the proxy inside a run's own network namespace. Below the range from which tests get
/// their ports.
pub const PROXY_PORT: u16 = 13_128;
/// The user name beside a credential; the password is what counts.
pub(super) const USER: &str = "unstuck";

/// What is reached without the proxy: what listens inside the namespace itself.
const NOT_PROXIED: &str = "localhost,127.0.0.1,::1";
/// The same for Java.
const NOT_PROXIED_BY_JAVA: &str = "localhost|127.*|[::1]";

/// Most programs look at one of these. Yarn has had names of its own since its second version.
const PROXIED: [&str; 8] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
];
/// Options of the build tools of Java, which look at none of the variables above. The proxy is added to
/// what they hold.
pub const JAVA_OPTIONS: [&str; 3] = ["MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS"];

/// Where a proxy is met on loopback.
#[derive(Clone, Debug)]
pub struct ProxyAddress {
    /// Its port.
    pub port: u16,
    /// The password that it wants to see.
    pub credential: Option<String>,
}

impl ProxyAddress {
    /// The address as programs read it.
    pub fn url(&self) -> String {
        let port = self.port;
        match &self.credential {
            None => format!("http://127.0.0.1:{port}"),
            Some(credential) => format!("http://{USER}:{credential}@127.0.0.1:{port}"),
        }
    }

    /// Sends programs with this environment through the proxy. Options that are there are kept.
    pub fn announce(&self, environment: &mut Vec<(OsString, OsString)>) {
        let url = self.url();
        let proxied = PROXIED.map(|name| (name, url.as_str()));
        let direct = ["NO_PROXY", "no_proxy"].map(|name| (name, NOT_PROXIED));
        // Node's own client looks at the others only when it is told to.
        for (name, value) in proxied.into_iter().chain(direct).chain([("NODE_USE_ENV_PROXY", "1")])
        {
            environment.retain(|(known, _)| known != name);
            environment.push((name.into(), value.into()));
        }
        let options = self.java_options();
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

    /// The proxy as Java's own properties. Maven asks for permission to look at them, by another name
    /// since its fourth version.
    fn java_options(&self) -> String {
        let mut options: Vec<String> = Vec::new();
        for scheme in ["http", "https"] {
            options.push(format!("-D{scheme}.proxyHost=127.0.0.1"));
            options.push(format!("-D{scheme}.proxyPort={}", self.port));
            if let Some(credential) = &self.credential {
                options.push(format!("-D{scheme}.proxyUser={USER}"));
                options.push(format!("-D{scheme}.proxyPassword={credential}"));
            }
        }
        options.push(format!("-Dhttp.nonProxyHosts={NOT_PROXIED_BY_JAVA}"));
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
        address.announce(&mut environment);
        environment
    }

    fn of(environment: &[(OsString, OsString)], name: &str) -> String {
        let mut found = environment.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.to_str().unwrap().to_owned());
        assert!(found.next().is_none(), "{name} twice");
        value.unwrap_or_default()
    }

    #[test]
    fn both_spellings_of_every_variable_are_set() {
        let before = [("HTTPS_PROXY", "http://person:1"), ("no_proxy", "*")];
        let set = announced(&ProxyAddress { port: 1, credential: None }, &before);
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
        let address = ProxyAddress { port: 7, credential: Some("s3".to_owned()) };
        let set = announced(&address, &[("MAVEN_OPTS", "-Xmx1g")]);
        let maven = of(&set, "MAVEN_OPTS");
        assert!(maven.starts_with("-Xmx1g -Dhttp.proxyHost=127.0.0.1 "), "{maven}");
        for name in JAVA_OPTIONS {
            let options = of(&set, name);
            for option in ["-Dhttps.proxyPort=7", "-Dhttps.proxyPassword=s3"] {
                assert!(options.contains(option), "{options}");
            }
        }
        let without = of(&announced(&ProxyAddress { port: 7, credential: None }, &[]), "SBT_OPTS");
        assert!(!without.contains("proxyUser"), "{without}");
    }
}
