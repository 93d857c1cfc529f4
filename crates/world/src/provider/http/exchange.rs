//! The exchange of one turn: sends the request and reads the stream, each within its deadline.

use std::time::Duration;

use reqwest::Response;
use serde::Serialize;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::{Fault, Provider, Timeout};
use unstuck_core::time::Span;

use super::super::sse::Events;
use super::Reading;
use super::head::Head;
use super::problem::{Problem, Trouble};
use super::service::Service;
use crate::agent::Usage;
use crate::model::{Failure, Part, Turn};

/// Maximum number of bytes to read of an error response.
const ERROR_BYTES_MAX: usize = 64 * 1_024;
/// Maximum number of bytes of the service's text in a fault.
const MESSAGE_BYTES_MAX: usize = 1_024;
/// Maximum size of a response in bytes.
const ANSWER_BYTES_MAX: usize = 128 * 1_024 * 1_024;

impl Service {
    /// Requests a turn. Returns `None` if `stop` was canceled.
    pub(in crate::provider) async fn turn<R: Reading>(
        &self,
        body: Vec<u8>,
        mut reading: R,
        stop: &CancellationToken,
    ) -> Option<Result<Turn, Failure>> {
        let limit = self.deadlines.total;
        let exchange = timeout(limit, self.exchange(body, &mut reading));
        let answer = stop.run_until_cancelled(exchange).await?;
        let usage = reading.usage().map(|usage| self.priced(usage));
        let answer = answer.unwrap_or_else(|_| Err(self.late("the whole turn", limit)));
        Some(match answer {
            Ok(parts) => Ok(Turn { parts, usage: usage.unwrap_or(Usage::UNMEASURED) }),
            // A request that was refused before any usage was reported used nothing.
            Err(fault) => Err(Failure { fault: Box::new(fault), usage: usage.unwrap_or_default() }),
        })
    }

    async fn exchange<R: Reading>(
        &self,
        body: Vec<u8>,
        reading: &mut R,
    ) -> Result<Vec<Part>, Fault> {
        let mut response = self.send(body).await?;
        let head = Head::new(response.status().as_u16(), response.headers().clone());
        if !response.status().is_success() {
            let body = self.error_body(&mut response).await;
            return Err(self.fault(R::refused(&head, &body), Some(&head)));
        }
        if !head.is_stream() {
            let kind = head.content_type().unwrap_or_default();
            let what = format!("it is {kind:?} instead of a stream of events");
            return Err(self.fault(Problem::not_understood(&what), Some(&head)));
        }
        self.read(&mut response, reading, &head).await?;
        reading.finish().map_err(|problem| self.fault(problem, Some(&head)))
    }

    async fn send(&self, body: Vec<u8>) -> Result<Response, Fault> {
        let ready = self.ready()?;
        let request =
            ready.client.post(ready.url.clone()).headers(ready.headers.clone()).body(body);
        let limit = self.deadlines.first_byte;
        match timeout(limit, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() && error.is_timeout() => {
                Err(self.late("connecting", self.deadlines.connect))
            }
            Ok(Err(error)) if error.is_connect() => Err(self.lost("no connection", &error)),
            Ok(Err(error)) => Err(self.lost("the connection was lost before an answer", &error)),
            Err(_) => Err(self.late("the beginning of the answer", limit)),
        }
    }

    async fn read<R: Reading>(
        &self,
        response: &mut Response,
        reading: &mut R,
        head: &Head,
    ) -> Result<(), Fault> {
        let mut events = Events::default();
        let mut size = 0;
        loop {
            let chunk = match timeout(self.deadlines.idle, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(error)) => {
                    return Err(self.lost("the connection was cut in the answer", &error));
                }
                Err(_) => return Err(self.late("more of the answer", self.deadlines.idle)),
            };
            size += chunk.len();
            if size > ANSWER_BYTES_MAX {
                let problem = Problem::not_understood("it does not come to an end");
                return Err(self.fault(problem, Some(head)));
            }
            let last = events.push(&chunk, |data| reading.event(data));
            if last.map_err(|problem: Problem| self.fault(problem, Some(head)))? {
                return Ok(());
            }
        }
    }

    /// Reads the body of an error response, as far as it arrives in time: the status says enough.
    async fn error_body(&self, response: &mut Response) -> Vec<u8> {
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

    fn fault(&self, mut problem: Problem, head: Option<&Head>) -> Fault {
        let end = problem.message.floor_char_boundary(MESSAGE_BYTES_MAX);
        problem.message.truncate(end);
        // Services repeat the key that they refuse.
        problem.message = self.redactor.text(&problem.message).into_owned();
        problem.fault(&self.provider, self.variable.as_deref(), head)
    }

    fn late(&self, what: &str, limit: Duration) -> Fault {
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let message = format!("{what} took longer than {}", Span::from_millis(limit_ms));
        let timeout = Timeout { operation: what.to_owned(), limit_ms };
        Fault::iteration_timeout(self.provider.name.clone(), message, timeout)
    }

    fn lost(&self, message: &str, error: &reqwest::Error) -> Fault {
        let mut cause: &dyn std::error::Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        self.fault(Problem::new(Trouble::Service, message), None)
            .caused_by(self.redactor.text(&cause.to_string()))
    }
}

/// Serializes a request. None of its types can fail to serialize.
pub(in crate::provider) fn body(ask: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(ask).unwrap_or_default()
}

/// Parses a recorded stream, without a service.
pub(in crate::provider) fn replay<R: Reading>(
    name: &str,
    bytes: &[u8],
    mut reading: R,
) -> Result<Turn, Failure> {
    let mut events = Events::default();
    let read = events.push(bytes, |data| reading.event(data));
    let parts = read.and_then(|_| reading.finish());
    let usage = reading.usage();
    match parts {
        Ok(parts) => Ok(Turn { parts, usage: usage.unwrap_or(Usage::UNMEASURED) }),
        Err(problem) => {
            let provider = Provider { name: name.to_owned(), model: None };
            let fault = Box::new(problem.fault(&provider, None, None));
            Err(Failure { fault, usage: usage.unwrap_or_default() })
        }
    }
}
