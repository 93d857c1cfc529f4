//! What both dialects write the same way.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::model::ToolSpec;

/// A tool.
#[derive(Serialize)]
pub(super) struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> Function<'a> {
    pub(super) const fn new(spec: &'a ToolSpec) -> Self {
        Self { name: spec.name, description: spec.description, parameters: &spec.input }
    }
}

/// What a tool showed. There is no field for that it failed.
pub(super) fn failed(output: &str, failed: bool) -> Cow<'_, str> {
    if failed { Cow::Owned(format!("[failed]\n{output}")) } else { Cow::Borrowed(output) }
}
