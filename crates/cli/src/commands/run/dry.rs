//! Shows the plan without running it.

use std::io::Write as _;

use serde::Serialize;
use unstuck_core::plan::{Plan, TaskSpec};

use super::begin::BuildWorkers;
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::{self, Terminal, style, words};

/// A task in its JSON form.
#[derive(Serialize)]
struct DryRunRow<'a> {
    name: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    depends_on: &'a [String],
    priority: i32,
    provider: Option<&'a str>,
    model: Option<String>,
    allowed: &'a [String],
    forbidden: &'a [String],
    checks: &'a [String],
}

pub(super) fn show_plan(
    crew: &BuildWorkers,
    plan: &Plan,
    json: bool,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let rows: Vec<DryRunRow<'_>> = plan.iter().map(|(spec, _)| task_row(crew, spec)).collect();
    let mut out = terminal.styled();
    if json {
        render::write_json(&mut out, &rows)?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    let title = style::TITLE;
    let dim = style::DIM;
    let jobs = crew.settings().run.jobs;
    let tasks = words::render_count(rows.len(), "task", "tasks");
    writeln!(out, "{title}{tasks}, {jobs} at a time{title:#} {dim}· nothing is done{dim:#}")?;
    for row in &rows {
        let who = [row.provider, row.model.as_deref()].into_iter().flatten();
        let who = who.collect::<Vec<_>>().join(", ");
        let shown = words::plain_line(row.title);
        writeln!(out, "\n{title}{}{title:#}  {shown}  {dim}{who}{dim:#}", row.name)?;
        for (what, items) in
            [("needs", row.depends_on), ("may change", row.allowed), ("checks", row.checks)]
        {
            if !items.is_empty() {
                writeln!(out, "  {dim}{what}{dim:#} {}", words::plain_line(&items.join(", ")))?;
            }
        }
    }
    if rows.iter().any(|row| row.checks.is_empty()) {
        writeln!(
            out,
            "\n{dim}Tasks without checks are not checked: set validate.pre_commit in unstuck.toml.{dim:#}"
        )?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn task_row<'a>(crew: &'a BuildWorkers, spec: &'a TaskSpec) -> DryRunRow<'a> {
    let settings = crew.settings();
    DryRunRow {
        name: &spec.name,
        title: &spec.title,
        file: spec.file.as_deref(),
        depends_on: &spec.depends_on,
        priority: spec.priority,
        provider: spec.provider.as_deref(),
        model: crew.worker_factory().model_for(spec),
        allowed: &spec.scope.allowed,
        forbidden: &spec.scope.forbidden,
        checks: spec.validate.as_ref().unwrap_or(&settings.validate.pre_commit),
    }
}
