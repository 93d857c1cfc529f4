//! The full call of an irreversible action.
//!
//! It is kept with the intent, so that the process that continues after a crash makes the same call and no
//! other. It contains no secret: secrets are named by the environment variable they are expected in.

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// Default timeout of a call.
const TIMEOUT: Span = Span::from_mins(1);

/// The call of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Call {
    /// Opens a pull request.
    PullRequest(PullRequest),
    /// Sends a request.
    Http(HttpCall),
    /// Runs a command.
    Command(CommandCall),
}

/// A pull request at GitHub, or at a service with the same API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PullRequest {
    /// Owner and name: `ada/shop`.
    pub repository: String,
    /// The source branch; the build's own if `None`.
    pub head: Option<String>,
    /// The target branch.
    pub base: String,
    /// The title of the pull request.
    pub title: String,
    /// The description of the pull request.
    pub body: String,
    /// `true` to open it as a draft.
    pub draft: bool,
    /// Base URL of the service, if it is not GitHub's own.
    pub base_url: Option<String>,
    /// The environment variable that holds the token.
    pub token_variable: String,
    /// Timeout of the call.
    pub timeout_ms: Span,
}

impl Default for PullRequest {
    fn default() -> Self {
        Self {
            repository: String::new(),
            head: None,
            base: String::new(),
            title: String::new(),
            body: String::new(),
            draft: false,
            base_url: None,
            token_variable: "GITHUB_TOKEN".to_owned(),
            timeout_ms: TIMEOUT,
        }
    }
}

/// An HTTP request. The idempotency key is sent as `Idempotency-Key`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HttpCall {
    /// The HTTP method.
    pub method: String,
    /// The target URL.
    pub url: String,
    /// Headers without secrets.
    pub headers: Vec<(String, String)>,
    /// Headers that contain a secret.
    pub secrets: Vec<SecretHeader>,
    /// The request body.
    pub body: Option<String>,
    /// The URL of the lookup: the action happened if it returns a resource, and did not if there is none (404
    /// or 410).
    pub look_up_url: Option<String>,
    /// Timeout of the request.
    pub timeout_ms: Span,
}

impl Default for HttpCall {
    fn default() -> Self {
        Self {
            method: "POST".to_owned(),
            url: String::new(),
            headers: Vec::new(),
            secrets: Vec::new(),
            body: None,
            look_up_url: None,
            timeout_ms: TIMEOUT,
        }
    }
}

/// A header whose value is never stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SecretHeader {
    /// The name of the header.
    pub name: String,
    /// The prefix of the secret: `Bearer `.
    pub before: String,
    /// The environment variable that holds the secret.
    pub variable: String,
}

/// A command, run in the task's worktree. The idempotency key is in `UNSTUCK_IDEMPOTENCY_KEY`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CommandCall {
    /// The program to run.
    pub program: String,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Names of environment variables passed to it besides the common ones.
    pub variables: Vec<String>,
    /// Timeout of the command.
    pub timeout_ms: Span,
}

impl Default for CommandCall {
    fn default() -> Self {
        Self {
            program: String::new(),
            arguments: Vec::new(),
            variables: Vec::new(),
            timeout_ms: TIMEOUT,
        }
    }
}

impl Call {
    /// Formats the call as one line for people.
    pub fn render_line(&self) -> String {
        match self {
            Self::PullRequest(wanted) => {
                format!("open a pull request at {}: {}", wanted.repository, wanted.title)
            }
            Self::Http(call) => format!("{} {}", call.method, call.url),
            Self::Command(command) => match command.arguments.as_slice() {
                [flag, script] if command.program == "sh" && flag == "-c" => script.clone(),
                arguments => render_command_line(&command.program, arguments),
            },
        }
    }

    /// Returns the place where the effect would be visible.
    pub fn visible_at(&self) -> Option<String> {
        match self {
            Self::PullRequest(PullRequest { repository, base_url: None, .. }) => {
                Some(format!("https://github.com/{repository}/pulls"))
            }
            Self::PullRequest(PullRequest { repository, base_url: Some(url), .. }) => {
                Some(format!("{url} ({repository})"))
            }
            Self::Http(call) => Some(call.look_up_url.clone().unwrap_or_else(|| call.url.clone())),
            Self::Command(_) => find_address(&self.render_line()),
        }
    }

    /// Returns a digest by which the same call is recognized again.
    ///
    /// # Panics
    ///
    /// If the call cannot be serialized, which its types rule out.
    #[expect(clippy::expect_used, reason = "calls without content would all be the same call")]
    pub fn digest(&self) -> u64 {
        // Fields are written in declaration order.
        let written = serde_json::to_vec(self).expect(
            "invariant: a call consists of texts and lists of texts, which can be serialized",
        );
        let mut first = [0; 8];
        first.copy_from_slice(&blake3::hash(&written).as_bytes()[..8]);
        u64::from_le_bytes(first)
    }
}

/// Signs that mean something to a shell.
const SHELL_SIGNS: &str = "'\"$&|;<>()`*?[]{}~#!\\";

/// Formats a program with its arguments as it would be typed; words that a shell would change are quoted.
pub fn render_command_line(program: &str, arguments: &[String]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
    let quoted = words.map(|word| {
        if word.is_empty() || word.contains(|c: char| c.is_whitespace() || SHELL_SIGNS.contains(c))
        {
            format!("'{}'", word.replace('\'', r"'\''"))
        } else {
            word.to_owned()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Returns the first web address in a line, without its query and without the signs of a shell that follow it.
pub(super) fn find_address(line: &str) -> Option<String> {
    let start = ["https://", "http://"].iter().filter_map(|scheme| line.find(scheme)).min()?;
    let ends = |c: char| c.is_whitespace() || "'\"?#|<>`".contains(c);
    let address = line[start..].split(ends).next()?;
    Some(address.trim_end_matches([';', '&', ')']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{MutationKind, MutationSpec};

    #[test]
    fn an_action_with_a_call_is_recognised_by_all_of_it() {
        let call = |url: &str| Call::Http(HttpCall { url: url.to_owned(), ..HttpCall::default() });
        let spec = MutationSpec::from_call("order", call("http://a"));
        assert_eq!((spec.kind, spec.probe), (MutationKind::Http, false));
        assert_eq!(spec.arguments, MutationSpec::from_call("order", call("http://a")).arguments);
        assert_ne!(spec.arguments, MutationSpec::from_call("order", call("http://b")).arguments);
        let written = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<MutationSpec>(&written).unwrap(), spec);
    }

    #[test]
    fn what_can_be_looked_up_says_so() {
        let request =
            HttpCall { look_up_url: Some("http://a/1".to_owned()), ..HttpCall::default() };
        let table = [
            (Call::Http(HttpCall::default()), MutationKind::Http, false),
            (Call::Http(request), MutationKind::Http, true),
            (Call::PullRequest(PullRequest::default()), MutationKind::PullRequest, true),
            (Call::Command(CommandCall::default()), MutationKind::Command, false),
        ];
        for (call, kind, probe) in table {
            let spec = MutationSpec::from_call("key", call.clone());
            assert_eq!((spec.kind, spec.probe), (kind, probe), "{call:?}");
            // An absent effect may still appear until the timeout of the call has passed.
            assert_eq!(spec.settle_ms, TIMEOUT, "{call:?}");
        }
    }

    #[test]
    fn an_action_that_was_kept_without_a_call_is_still_read() {
        let spec: MutationSpec = serde_json::from_str(r#"{"key":"a","kind":"http"}"#).unwrap();
        assert_eq!(spec.call, None);
        assert!(!serde_json::to_string(&spec).unwrap().contains("call"));
    }

    #[test]
    fn an_address_ends_before_the_signs_of_a_shell() {
        for (line, address) in [
            ("curl -X POST http://a:1/shop/order-7; exit $?", "http://a:1/shop/order-7"),
            ("(curl https://a/x) && echo", "https://a/x"),
            ("curl https://a/x|tee out", "https://a/x"),
            ("echo `curl https://a/x`", "https://a/x"),
            ("curl https://a/x>out", "https://a/x"),
            ("curl https://a/x& wait", "https://a/x"),
            ("curl https://a/b&c/d;v=1/e", "https://a/b&c/d;v=1/e"),
            ("curl 'https://a/x?q=1'", "https://a/x"),
        ] {
            assert_eq!(find_address(line).as_deref(), Some(address), "{line}");
        }
    }
}
