//! What an irreversible action calls, in full.
//!
//! It is kept with the intent, so that whoever goes on after a crash calls the same and no more. No
//! secret is in it: secrets are named by the environment variable they are expected in.

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// How long a call may take unless it says otherwise.
const TIMEOUT: Span = Span::from_mins(1);

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Call {
    /// A pull request is opened.
    PullRequest(PullRequest),
    /// A request is sent.
    Http(HttpCall),
    /// A command is run.
    Command(CommandCall),
}

/// A pull request at GitHub, or at whoever speaks like it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PullRequest {
    /// Owner and name: `ada/shop`.
    pub repository: String,
    /// The branch it comes from; the build's own without one.
    pub head: Option<String>,
    /// The branch it goes to.
    pub base: String,
    /// Its title.
    pub title: String,
    /// What it says.
    pub body: String,
    /// Whether it is only a draft.
    pub draft: bool,
    /// The address of the service, where it is not GitHub's own.
    pub base_url: Option<String>,
    /// The variable that holds the token.
    pub token_variable: String,
    /// How long it may take.
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

/// A request. Our key goes with it as `Idempotency-Key`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HttpCall {
    /// Its method.
    pub method: String,
    /// Where it goes.
    pub url: String,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Headers that hold a secret.
    pub secrets: Vec<SecretHeader>,
    /// What it says.
    pub body: Option<String>,
    /// What is asked to find out whether it happened: it did when there is something, and it did not
    /// when there is nothing (404 or 410).
    pub look_up_url: Option<String>,
    /// How long it may take.
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

/// A header whose value is not kept anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SecretHeader {
    /// Its name.
    pub name: String,
    /// What stands before the secret: `Bearer `.
    pub before: String,
    /// The variable that holds the secret.
    pub variable: String,
}

/// A command, run in the task's worktree. It finds our key in `UNSTUCK_IDEMPOTENCY_KEY`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CommandCall {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables that it gets beside what every command gets.
    pub variables: Vec<String>,
    /// How long it may take.
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
    /// The call in one line for people.
    pub fn line(&self) -> String {
        match self {
            Self::PullRequest(wanted) => {
                format!("open a pull request at {}: {}", wanted.repository, wanted.title)
            }
            Self::Http(call) => format!("{} {}", call.method, call.url),
            Self::Command(command) => line_of(&command.program, &command.arguments),
        }
    }

    /// The place where it would show.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::PullRequest(PullRequest { repository, base_url: None, .. }) => {
                Some(format!("https://github.com/{repository}/pulls"))
            }
            Self::PullRequest(PullRequest { repository, base_url: Some(url), .. }) => {
                Some(format!("{url} ({repository})"))
            }
            Self::Http(call) => Some(call.look_up_url.clone().unwrap_or_else(|| call.url.clone())),
            Self::Command(_) => address_in(&self.line()),
        }
    }

    /// Recognises the same call again.
    pub fn digest(&self) -> u64 {
        // None of these types can fail to be written, and fields are written in their order.
        let written = serde_json::to_vec(self).unwrap_or_default();
        let mut first = [0; 8];
        first.copy_from_slice(&blake3::hash(&written).as_bytes()[..8]);
        u64::from_le_bytes(first)
    }
}

/// A program with its arguments as it would be typed, words with blanks in quotes.
pub fn line_of(program: &str, arguments: &[String]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
    let quoted = words.map(|word| {
        if word.is_empty()
            || word.contains(|c: char| c.is_whitespace() || "'\"$&|;<>()".contains(c))
        {
            format!("'{}'", word.replace('\'', r"'\''"))
        } else {
            word.to_owned()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// The first web address in a line, without what is asked of it.
pub(super) fn address_in(line: &str) -> Option<String> {
    let start = ["https://", "http://"].iter().filter_map(|scheme| line.find(scheme)).min()?;
    let address = line[start..].split(|c: char| c.is_whitespace() || "'\"?#".contains(c)).next()?;
    Some(address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{MutationKind, MutationSpec};

    #[test]
    fn an_action_with_a_call_is_recognised_by_all_of_it() {
        let call = |url: &str| Call::Http(HttpCall { url: url.to_owned(), ..HttpCall::default() });
        let spec = MutationSpec::calling("order", call("http://a"));
        assert_eq!((spec.kind, spec.probe), (MutationKind::Http, false));
        assert_eq!(spec.arguments, MutationSpec::calling("order", call("http://a")).arguments);
        assert_ne!(spec.arguments, MutationSpec::calling("order", call("http://b")).arguments);
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
            let spec = MutationSpec::calling("key", call.clone());
            assert_eq!((spec.kind, spec.probe), (kind, probe), "{call:?}");
            // An absent effect may still appear for as long as the call may take.
            assert_eq!(spec.settle_ms, TIMEOUT, "{call:?}");
        }
    }

    #[test]
    fn an_action_that_was_kept_without_a_call_is_still_read() {
        let spec: MutationSpec = serde_json::from_str(r#"{"key":"a","kind":"http"}"#).unwrap();
        assert_eq!(spec.call, None);
        assert!(!serde_json::to_string(&spec).unwrap().contains("call"));
    }
}
