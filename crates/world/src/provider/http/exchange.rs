//! The exchange of one turn: sends the request and reads the stream, each within its deadline.

use std::time::Duration;

use reqwest::Response;
use serde::Serialize;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::{Fault, Internal, Provider, Timeout};
use unstuck_core::text::{NO_CONNECTION, SILENT};
use unstuck_core::time::Span;

use super::super::sse::SseParser;
use super::StreamParser;
use super::head::{ResponseHead, find_root_cause};
use super::problem::{ProblemClass, ProviderProblem};
use super::service::ModelService;
use crate::agent::Usage;
use crate::model::{MessagePart, ModelFailure, ModelTurn};

/// What is waited for within an answer.
const MORE: &str = "more of the answer";
const ERROR_BYTES_MAX: usize = 64 * 1_024;
/// Maximum number of bytes of the service's text in a fault.
const MESSAGE_BYTES_MAX: usize = 1_024;
const ANSWER_BYTES_MAX: usize = 128 * 1_024 * 1_024;

impl ModelService {
    /// Requests a turn. Returns `None` if `stop` was canceled.
    pub(in crate::provider) async fn request_turn<R: StreamParser>(
        &self,
        request: &(impl Serialize + Sync),
        stop: &CancellationToken,
    ) -> Option<Result<ModelTurn, ModelFailure>> {
        let limit = self.deadlines.total;
        let mut reading = R::default();
        let exchange = timeout(limit, self.run_exchange(request, &mut reading));
        let answer = stop.run_until_cancelled(exchange).await?;
        let usage = reading.reported_usage().map(|usage| self.price_usage(usage));
        let answer = answer.unwrap_or_else(|_| Err(self.timeout_fault("the whole turn", limit)));
        Some(match answer {
            Ok(parts) => Ok(ModelTurn { parts, usage: usage.unwrap_or(Usage::UNMEASURED) }),
            // A request that was refused before any usage was reported used nothing.
            Err(fault) => {
                Err(ModelFailure { fault: Box::new(fault), usage: usage.unwrap_or_default() })
            }
        })
    }

    async fn run_exchange<R: StreamParser>(
        &self,
        request: &(impl Serialize + Sync),
        reading: &mut R,
    ) -> Result<Vec<MessagePart>, Fault> {
        let body = serde_json::to_vec(request).map_err(|error| self.serialize_fault(&error))?;
        let mut response = self.send_request(body).await?;
        let head = ResponseHead::from_response(&response);
        if !response.status().is_success() {
            let body = self.read_error_body(&mut response).await;
            return Err(self.build_fault(R::classify_refusal(&head, &body), Some(&head)));
        }
        if !head.is_stream() {
            let kind = head.content_type().unwrap_or_default();
            let what = format!("it is {kind:?} instead of a stream of events");
            return Err(self.build_fault(ProviderProblem::not_understood(&what), Some(&head)));
        }
        self.read_events(&mut response, reading, &head).await?;
        reading.finish_turn().map_err(|problem| self.build_fault(problem, Some(&head)))
    }

    async fn send_request(&self, body: Vec<u8>) -> Result<Response, Fault> {
        let ready = self.require_client()?;
        let request =
            ready.client.post(ready.url.clone()).headers(ready.headers.clone()).body(body);
        let limit = self.deadlines.first_byte;
        match timeout(limit, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() && error.is_timeout() => {
                Err(self.timeout_fault("connecting", self.deadlines.connect))
            }
            Ok(Err(error)) if error.is_connect() => {
                let host = ready.url.host_str().unwrap_or_default();
                Err(self.connection_fault(&format!("{NO_CONNECTION}{host}"), &error))
            }
            Ok(Err(error)) => {
                Err(self.connection_fault("the connection was lost before an answer", &error))
            }
            Err(_) => Err(self.timeout_fault("the beginning of the answer", limit)),
        }
    }

    async fn read_events<R: StreamParser>(
        &self,
        response: &mut Response,
        reading: &mut R,
        head: &ResponseHead,
    ) -> Result<(), Fault> {
        let mut events = SseParser::default();
        let mut size = 0;
        loop {
            let chunk = match timeout(self.deadlines.idle, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(error)) => {
                    return Err(
                        self.connection_fault("the connection was cut in the answer", &error)
                    );
                }
                Err(_) => return Err(self.timeout_fault(MORE, self.deadlines.idle)),
            };
            size += chunk.len();
            if size > ANSWER_BYTES_MAX {
                let problem = ProviderProblem::not_understood("it does not come to an end");
                return Err(self.build_fault(problem, Some(head)));
            }
            let last = events.push(&chunk, |data| reading.handle_event(data));
            if last.map_err(|problem: ProviderProblem| self.build_fault(problem, Some(head)))? {
                return Ok(());
            }
        }
    }

    /// Reads the body of an error response, as far as it arrives in time: the status says enough.
    async fn read_error_body(&self, response: &mut Response) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Ok(Some(chunk))) = timeout(self.deadlines.idle, response.chunk()).await {
            body.extend_from_slice(&chunk);
            if body.len() >= ERROR_BYTES_MAX {
                body.truncate(ERROR_BYTES_MAX);
                break;
            }
        }
        body
    }

    fn build_fault(&self, mut problem: ProviderProblem, head: Option<&ResponseHead>) -> Fault {
        let end = problem.message.floor_char_boundary(MESSAGE_BYTES_MAX);
        problem.message.truncate(end);
        // Services repeat the key that they refuse.
        problem.message = self.redactor.redact_text(&problem.message).into_owned();
        problem.into_fault(&self.provider, self.variable.as_deref(), head)
    }

    fn timeout_fault(&self, what: &str, limit: Duration) -> Fault {
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let span = Span::from_millis(limit_ms);
        let message = match what {
            MORE => format!("{SILENT}{span}"),
            what => format!("{what} took longer than {span}"),
        };
        let timeout = Timeout { operation: what.to_owned(), limit_ms };
        Fault::iteration_timeout(self.provider.name.clone(), message, timeout)
    }

    fn connection_fault(&self, message: &str, error: &reqwest::Error) -> Fault {
        self.build_fault(ProviderProblem::new(ProblemClass::Service, message), None)
            .with_cause(self.redactor.redact_text(&find_root_cause(error)))
    }

    fn serialize_fault(&self, error: &serde_json::Error) -> Fault {
        let component = "http".to_owned();
        let message = "the request cannot be written as JSON";
        Fault::internal_error(self.provider.name.clone(), message, Internal { component })
            .with_cause(error)
    }
}

/// Parses a recorded stream, without a service.
pub(in crate::provider) fn replay_stream<R: StreamParser>(
    name: &str,
    bytes: &[u8],
) -> Result<ModelTurn, ModelFailure> {
    let mut reading = R::default();
    let mut events = SseParser::default();
    let read = events.push(bytes, |data| reading.handle_event(data));
    let parts = read.and_then(|_| reading.finish_turn());
    let usage = reading.reported_usage();
    match parts {
        Ok(parts) => Ok(ModelTurn { parts, usage: usage.unwrap_or(Usage::UNMEASURED) }),
        Err(problem) => {
            let provider = Provider { name: name.to_owned(), model: None };
            let fault = Box::new(problem.into_fault(&provider, None, None));
            Err(ModelFailure { fault, usage: usage.unwrap_or_default() })
        }
    }
}
