//! Extractors of request data, with helpful problems.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// A JSON body.
pub(crate) struct ApiJsonBody<T>(pub(crate) T);

/// An optional JSON body.
pub(crate) struct ApiOptionalBody<T>(pub(crate) T);

/// The query parameters.
pub(crate) struct ApiQueryParams<T>(pub(crate) T);

impl<T, S> FromRequest<S> for ApiJsonBody<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejected) => Err(json_body_error(&rejected)),
        }
    }
}

impl<T, S> FromRequest<S> for ApiOptionalBody<T>
where
    T: DeserializeOwned + Default,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Ok(bytes) = Bytes::from_request(request, state).await else {
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long"));
        };
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        match Json::from_bytes(&bytes) {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejected) => Err(json_body_error(&rejected)),
        }
    }
}

impl<T, S> FromRequestParts<S> for ApiQueryParams<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejected) => Err(query_error(&rejected)),
        }
    }
}

fn json_body_error(rejected: &JsonRejection) -> Problem {
    let said = rejected.body_text();
    match rejected {
        JsonRejection::MissingJsonContentType(_) => {
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body has to be JSON, and say so")
                .with_hint("send `Content-Type: application/json`")
        }
        JsonRejection::JsonSyntaxError(_) => Problem::new(StatusCode::BAD_REQUEST, said),
        JsonRejection::JsonDataError(_) => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, said)
            .with_hint("`GET /api/openapi.json` says what each request takes"),
        _ if rejected.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long")
        }
        _ => Problem::new(rejected.status(), said),
    }
}

fn query_error(rejected: &QueryRejection) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, rejected.body_text())
        .with_hint("`GET /api/openapi.json` says what each request takes")
}

/// JSON with an entity tag, which is a hash of the JSON.
#[derive(Debug)]
pub(crate) struct TaggedJson {
    json: Bytes,
    tag: HeaderValue,
}

impl TaggedJson {
    pub(crate) fn new(value: &impl Serialize) -> Result<Self, Problem> {
        let unwritable = || {
            let detail = "what was found cannot be written as JSON";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
        };
        let json = serde_json::to_vec(value).map_err(|_| unwritable())?;
        let tag = format!("\"{}\"", &blake3::hash(&json).to_hex()[..24]);
        let tag = HeaderValue::try_from(tag).map_err(|_| unwritable())?;
        Ok(Self { json: json.into(), tag })
    }

    pub(crate) fn len(&self) -> usize {
        self.json.len()
    }

    /// Responds with the JSON, or with 304 if the client has it already.
    pub(crate) fn to_response(&self, headers: &HeaderMap) -> Response {
        let known = headers.get(header::IF_NONE_MATCH).map_or(&[][..], HeaderValue::as_bytes);
        let same = known.split(|byte| *byte == b',').any(|known| self.tag == known.trim_ascii());
        let mut response = if same {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let json_type = HeaderValue::from_static("application/json");
            ([(header::CONTENT_TYPE, json_type)], self.json.clone()).into_response()
        };
        response.headers_mut().insert(header::ETAG, self.tag.clone());
        response
    }
}
