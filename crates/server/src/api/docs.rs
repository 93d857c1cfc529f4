//! The routes of the API and their description, from one table: a route is reachable if and
//! only if it is described.

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::MethodRouter;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::request::{KEY_HEADER, KEY_HEADER_DESCRIPTION};
use crate::auth::{AccessRole, Caller};
use crate::problem::Problem;
use crate::server_state::SharedServerState;

/// The location of the types in the description.
const TYPES: &str = "/components/schemas";

/// Routes, and the description that grows with them.
pub(crate) struct ApiRouter {
    router: Router<SharedServerState>,
    paths: Map<String, Value>,
    given: SchemaGenerator,
    taken: SchemaGenerator,
}

pub(crate) struct ApiOperation {
    method: Method,
    path: &'static str,
    role: AccessRole,
    described: Map<String, Value>,
    parameters: Vec<Value>,
    /// Types that are described with it.
    query: Option<fn(&mut SchemaGenerator) -> Schema>,
    body: Option<fn(&mut SchemaGenerator) -> Schema>,
    response: ApiOperationResponse,
    problems: Vec<(u16, &'static str)>,
}

enum ApiOperationResponse {
    Json(u16, &'static str, fn(&mut SchemaGenerator) -> Schema),
    Stream(&'static str),
}

impl ApiOperation {
    pub(crate) fn get(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new(Method::GET, path, id, summary)
    }

    pub(crate) fn post(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new(Method::POST, path, id, summary)
    }

    pub(crate) fn patch(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new(Method::PATCH, path, id, summary)
    }

    fn new(method: Method, path: &'static str, id: &'static str, summary: &'static str) -> Self {
        let mut described = Map::new();
        described.insert("operationId".to_owned(), id.into());
        described.insert("summary".to_owned(), summary.into());
        let role = if method == Method::GET { AccessRole::Viewer } else { AccessRole::Operator };
        Self {
            method,
            path,
            role,
            described,
            parameters: path_parameters(path),
            query: None,
            body: None,
            response: ApiOperationResponse::Json(
                200,
                "done",
                SchemaGenerator::subschema_for::<Value>,
            ),
            problems: Vec::new(),
        }
    }

    /// Sets the required role; by default a viewer for GET and an operator for the rest.
    pub(crate) fn with_role(self, role: AccessRole) -> Self {
        Self { role, ..self }
    }

    pub(crate) fn with_query<T: JsonSchema>(self) -> Self {
        Self { query: Some(SchemaGenerator::root_schema_for::<T>), ..self }
    }

    /// Adds the header of the idempotency key.
    pub(crate) fn with_request_key(mut self, required: bool) -> Self {
        self.parameters.push(json!({
            "name": KEY_HEADER, "in": "header", "required": required,
            "description": KEY_HEADER_DESCRIPTION, "schema": { "type": "string" },
        }));
        self
    }

    pub(crate) fn with_body<T: JsonSchema>(self) -> Self {
        Self { body: Some(SchemaGenerator::subschema_for::<T>), ..self }
    }

    pub(crate) fn with_response<T: JsonSchema>(
        self,
        status: u16,
        description: &'static str,
    ) -> Self {
        let schema = SchemaGenerator::subschema_for::<T>;
        Self { response: ApiOperationResponse::Json(status, description, schema), ..self }
    }

    /// Declares a response of server-sent events.
    pub(crate) fn with_event_stream(self, description: &'static str) -> Self {
        Self { response: ApiOperationResponse::Stream(description), ..self }
    }

    pub(crate) fn with_problem(mut self, status: StatusCode, when: &'static str) -> Self {
        self.problems.push((status.as_u16(), when));
        self
    }
}

impl ApiRouter {
    pub(crate) fn new() -> Self {
        let settings = || {
            let mut settings = SchemaSettings::draft2020_12();
            settings.definitions_path = TYPES.into();
            settings.meta_schema = None;
            settings
        };
        Self {
            router: Router::new(),
            paths: Map::new(),
            given: settings().for_serialize().into_generator(),
            taken: settings().for_deserialize().into_generator(),
        }
    }

    pub(crate) fn add_operation(
        mut self,
        op: ApiOperation,
        handler: MethodRouter<SharedServerState>,
    ) -> Self {
        let role = op.role;
        let asks = move |caller, request, next| require_role(role, caller, request, next);
        self.router = self.router.route(op.path, handler.route_layer(middleware::from_fn(asks)));
        self.describe_operation(op);
        self
    }

    fn describe_operation(&mut self, op: ApiOperation) {
        let ApiOperation { method, path, role, mut described, mut parameters, .. } = op;
        if let Some(query) = op.query {
            parameters.extend(query_parameters(&query(&mut self.taken)));
        }
        if !parameters.is_empty() {
            described.insert("parameters".to_owned(), parameters.into());
        }
        let mut problems = general_problems();
        if let Some(body) = op.body {
            problems.extend([
                (413, "The body is too long."),
                (415, "The body has to be JSON, and to say so."),
            ]);
            let schema = body(&mut self.taken);
            let content = json!({ "application/json": { "schema": schema } });
            described
                .insert("requestBody".to_owned(), json!({ "required": true, "content": content }));
        }
        let mut responses = Map::new();
        let (status, answer) = match op.response {
            ApiOperationResponse::Json(status, description, schema) => {
                let content = json!({ "application/json": { "schema": schema(&mut self.given) } });
                (status, json!({ "description": description, "content": content }))
            }
            ApiOperationResponse::Stream(description) => {
                let content = json!({ "text/event-stream": { "schema": { "type": "string" } } });
                (200, json!({ "description": description, "content": content }))
            }
        };
        responses.insert(status.to_string(), answer);
        let problem = self.given.subschema_for::<Problem>();
        problems.extend(op.problems);
        for (status, when) in problems {
            let content = json!({ "application/problem+json": { "schema": problem } });
            responses
                .insert(status.to_string(), json!({ "description": when, "content": content }));
        }
        described.insert("responses".to_owned(), responses.into());
        described.insert("x-role".to_owned(), role.to_string().into());
        let operations = self.paths.entry(path).or_insert_with(|| json!({}));
        operations[method.as_str().to_ascii_lowercase()] = described.into();
    }

    /// Returns the routes, and the description of all of them.
    pub(crate) fn into_parts(mut self) -> (Router<SharedServerState>, Value) {
        let mut types = self.taken.take_definitions(true);
        types.extend(self.given.take_definitions(true));
        let description = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Unstuck",
                "version": "1",
                "description": "Runs agents unattended and gets them unstuck. Readers skip fields \
                                and event types that they do not know.",
                "license": { "name": "MIT OR Apache-2.0" },
            },
            "security": [{ "token": [] }],
            "paths": self.paths,
            "components": {
                "schemas": types,
                "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            },
        });
        (self.router, description)
    }
}

/// Returns the error responses of every operation.
fn general_problems() -> Vec<(u16, &'static str)> {
    vec![
        (400, "The request cannot be understood."),
        (401, "The request carries no valid token."),
        (403, "It takes another role."),
        (404, "There is no such project, or no such thing in it."),
        (422, "Something in the request makes no sense."),
        (429, "Too many failed sign-ins; come back later."),
        (503, "Not just now; come back in a moment."),
    ]
}

async fn require_role(role: AccessRole, caller: Caller, request: Request, next: Next) -> Response {
    match caller.require_role(role) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn path_parameters(path: &str) -> Vec<Value> {
    let named = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name: &str| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
    named.map(parameter).collect()
}

/// Returns the fields of a type as query parameters.
fn query_parameters(schema: &Schema) -> Vec<Value> {
    let field = |name: &str| schema.get(name).cloned().unwrap_or_default();
    let Value::Object(properties) = field("properties") else { return Vec::new() };
    let required = field("required");
    let required = |name: &str| {
        required.as_array().is_some_and(|names| names.iter().any(|known| known == name))
    };
    let parameter = |(name, mut schema): (String, Value)| {
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        json!({
            "name": name, "in": "query", "required": required(&name),
            "description": description, "schema": schema,
        })
    };
    properties.into_iter().map(parameter).collect()
}
