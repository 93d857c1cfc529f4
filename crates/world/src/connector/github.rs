//! Pull requests at GitHub, or at a service with a compatible API.

use serde::{Deserialize, Serialize};
use unstuck_core::fault::{Fault, Http, Internal};
use unstuck_core::plan::PullRequest;

use super::exchange::{ConnectorRequest, ConnectorResponse};
use super::{CallFailure, Connector};

const SOURCE: &str = "github.pr";
const BASE_URL: &str = "https://api.github.com";
/// Status of a request that was rejected for its content, among other reasons because there is
/// already a pull request for the branch.
const UNPROCESSABLE: u16 = 422;

#[derive(Serialize)]
struct NewPullRequest<'a> {
    title: &'a str,
    head: &'a str,
    base: &'a str,
    body: &'a str,
    draft: bool,
}

/// The fields of a pull request that are read.
#[derive(Deserialize)]
struct CreatedPullRequest {
    html_url: String,
}

impl Connector {
    pub(super) async fn create_pull_request(
        &self,
        wanted: &PullRequest,
        head: &str,
    ) -> Result<String, CallFailure> {
        let mut request = self.build_github_request(wanted, "POST", "")?;
        let PullRequest { title, base, body, draft, .. } = wanted;
        let new = NewPullRequest { title, head, base, body, draft: *draft };
        let body = serde_json::to_string(&new).map_err(|error| {
            let component = "connector".to_owned();
            let message = "the pull request cannot be written as JSON";
            let fault = Fault::internal_error(SOURCE, message, Internal { component });
            CallFailure::Refused(fault.with_cause(error))
        })?;
        request.body = Some(body);
        let answer = self.web.fetch_response(request).await?;
        if answer.status() == UNPROCESSABLE
            && let Some(url) = self.find_pull_request(wanted, head).await?
        {
            return Ok(url);
        }
        if (200..=299).contains(&answer.status()) {
            // The pull request is open, even if its URL cannot be read.
            return Ok(parse_response::<CreatedPullRequest>(&answer)
                .map(|pull| pull.html_url)
                .unwrap_or_default());
        }
        answer.into_result()
    }

    /// Returns the URL of the pull request from this branch, open or closed; `None` if there is
    /// none.
    pub(super) async fn find_pull_request(
        &self,
        wanted: &PullRequest,
        head: &str,
    ) -> Result<Option<String>, CallFailure> {
        let request = self.build_github_request(wanted, "GET", head)?;
        let answer = self.web.fetch_response(request).await?;
        if !(200..=299).contains(&answer.status()) {
            return answer.into_result().map(Some);
        }
        let found: Vec<CreatedPullRequest> = parse_response(&answer)?;
        Ok(found.into_iter().next().map(|pull| pull.html_url))
    }

    /// Builds a request about the pull requests of the repository, limited to those from the branch
    /// `head` unless that is empty.
    fn build_github_request(
        &self,
        wanted: &PullRequest,
        method: &str,
        head: &str,
    ) -> Result<ConnectorRequest, CallFailure> {
        let base_url = wanted.base_url.as_deref().unwrap_or(BASE_URL).trim_end_matches('/');
        let url = format!("{base_url}/repos/{}/pulls", wanted.repository);
        let mut request = ConnectorRequest::new(SOURCE, method, &url, wanted.timeout_ms.into())?;
        if !head.is_empty() {
            let owner = wanted.repository.split('/').next().unwrap_or_default();
            request
                .url
                .query_pairs_mut()
                .append_pair("head", &format!("{owner}:{head}"))
                .append_pair("base", &wanted.base)
                .append_pair("state", "all");
        }
        request.add_header("accept", "application/vnd.github+json")?;
        request.add_header("x-github-api-version", "2022-11-28")?;
        let token = self.find_credential(&wanted.token_variable, "GitHub")?.expose();
        request.add_secret_header("authorization", &format!("Bearer {token}"))?;
        Ok(request)
    }
}

/// Parses a response. One that cannot be parsed leaves open whether the action happened.
fn parse_response<'a, T: Deserialize<'a>>(answer: &'a ConnectorResponse) -> Result<T, CallFailure> {
    serde_json::from_slice(&answer.body).map_err(|error| {
        let http = Http { status: Some(answer.status()), ..Http::default() };
        let message = format!("the answer of {} cannot be read", answer.host);
        CallFailure::Lost(Fault::network_unavailable(SOURCE, message, http).with_cause(error))
    })
}
