//! Pull requests at GitHub, or at a service with a compatible API.

use serde::{Deserialize, Serialize};
use unstuck_core::fault::{Fault, Http};
use unstuck_core::plan::PullRequest;

use super::answer::Answer;
use super::exchange::Request;
use super::{Connector, Unsuccessful};

const SOURCE: &str = "github.pr";
const BASE_URL: &str = "https://api.github.com";
/// Status of a request that was rejected for its content, among other reasons because there is
/// already a pull request for the branch.
const UNPROCESSABLE: u16 = 422;

/// The request body for a new pull request.
#[derive(Serialize)]
struct NewPull<'a> {
    title: &'a str,
    head: &'a str,
    base: &'a str,
    body: &'a str,
    draft: bool,
}

/// The fields of a pull request that are read.
#[derive(Deserialize)]
struct Pull {
    html_url: String,
}

impl Connector {
    pub(super) async fn create_pull_request(
        &self,
        wanted: &PullRequest,
        head: &str,
    ) -> Result<String, Unsuccessful> {
        let mut request = self.github(wanted, "POST", "")?;
        let PullRequest { title, base, body, draft, .. } = wanted;
        let new = NewPull { title, head, base, body, draft: *draft };
        request.body = serde_json::to_string(&new).ok();
        let answer = self.web.exchange(request).await?;
        if answer.status() == UNPROCESSABLE
            && let Some(url) = self.find_pull_request(wanted, head).await?
        {
            return Ok(url);
        }
        if (200..=299).contains(&answer.status()) {
            // The pull request is open, even if its URL cannot be read.
            return Ok(read::<Pull>(&answer).map(|pull| pull.html_url).unwrap_or_default());
        }
        answer.success()
    }

    /// Returns the URL of the pull request from this branch, open or closed; `None` if there is
    /// none.
    pub(super) async fn find_pull_request(
        &self,
        wanted: &PullRequest,
        head: &str,
    ) -> Result<Option<String>, Unsuccessful> {
        let request = self.github(wanted, "GET", head)?;
        let answer = self.web.exchange(request).await?;
        if !(200..=299).contains(&answer.status()) {
            return answer.success().map(Some);
        }
        let found: Vec<Pull> = read(&answer)?;
        Ok(found.into_iter().next().map(|pull| pull.html_url))
    }

    /// Builds a request about the pull requests of the repository, limited to those from the branch
    /// `head` unless that is empty.
    fn github(
        &self,
        wanted: &PullRequest,
        method: &str,
        head: &str,
    ) -> Result<Request, Unsuccessful> {
        let base_url = wanted.base_url.as_deref().unwrap_or(BASE_URL).trim_end_matches('/');
        let url = format!("{base_url}/repos/{}/pulls", wanted.repository);
        let mut request = Request::new(SOURCE, method, &url, wanted.timeout_ms.into())?;
        if !head.is_empty() {
            let owner = wanted.repository.split('/').next().unwrap_or_default();
            request
                .url
                .query_pairs_mut()
                .append_pair("head", &format!("{owner}:{head}"))
                .append_pair("base", &wanted.base)
                .append_pair("state", "all");
        }
        request.header("accept", "application/vnd.github+json")?;
        request.header("x-github-api-version", "2022-11-28")?;
        let token = self.credential(&wanted.token_variable, "GitHub")?.expose();
        request.secret("authorization", &format!("Bearer {token}"))?;
        Ok(request)
    }
}

/// Parses a response. One that cannot be parsed leaves open whether the action happened.
fn read<'a, T: Deserialize<'a>>(answer: &'a Answer) -> Result<T, Unsuccessful> {
    serde_json::from_slice(&answer.body).map_err(|error| {
        let http = Http { status: Some(answer.status()), ..Http::default() };
        let message = format!("the answer of {} cannot be read", answer.host);
        Unsuccessful::Lost(Fault::network_unavailable(SOURCE, message, http).caused_by(error))
    })
}
