//! Monitoring: the readiness check, and metrics in the Prometheus text format.
//!
//! Metrics are read from the tables on each request; only the traffic is counted. Failures are labeled by
//! code and never by signature, because the number of signatures is unbounded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use rustix::process::{Resource, getrlimit};
use unstuck_core::engine::GateState;
use unstuck_core::fault::Code;
use unstuck_core::policy::Amount;

use crate::auth::{AccessRole, Caller};
use crate::problem::Problem;
use crate::project_host::ReadinessError;
use crate::server_state::{HostedProject, SharedServerState};

const METRICS_CONTENT_TYPE: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
/// Minimum number of free descriptors, for files, agents and further requests.
const DESCRIPTORS_LEFT_MIN: u64 = 32;
/// The folder that lists the descriptors of this process.
const DESCRIPTORS: &str = "/dev/fd";

/// Responds that the server is ready, or with the first obstacle. The response is public, so it names no
/// project; the log does.
pub(crate) async fn report_readiness(State(site): State<SharedServerState>) -> Response {
    if site.stop.is_cancelled() {
        return not_ready_response(&"it is ending");
    }
    if count_free_descriptors() < DESCRIPTORS_LEFT_MIN {
        tracing::warn!("there are hardly any file descriptors left");
        return not_ready_response(&"it has hardly any file descriptors left");
    }
    for hosted in site.all_projects() {
        if let Err(why) = check_project(hosted).await {
            return not_ready_response(&why);
        }
    }
    "ready\n".into_response()
}

async fn check_project(hosted: &HostedProject) -> Result<(), ReadinessError> {
    if let Err(error) = hosted.store.check_usable(&hosted.name).await {
        tracing::warn!(project = %hosted.name, %error, "a store cannot be used");
        return Err(ReadinessError::Store);
    }
    let ready = hosted.host.check_ready().await;
    ready.inspect_err(|why| tracing::warn!(project = %hosted.name, %why, "not ready"))
}

fn not_ready_response(why: &dyn std::fmt::Display) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")).into_response()
}

/// Returns the number of descriptors that this process may still open. A system that does not tell
/// counts as unlimited.
fn count_free_descriptors() -> u64 {
    let Some(most) = getrlimit(Resource::Nofile).current else { return u64::MAX };
    match std::fs::read_dir(DESCRIPTORS) {
        Ok(open) => most.saturating_sub(open.count() as u64),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => u64::MAX,
        // Not even the folder can be opened.
        Err(_) => 0,
    }
}

pub(crate) async fn render_metrics(
    State(site): State<SharedServerState>,
    caller: Caller,
) -> Result<Response, Problem> {
    caller.require_role(AccessRole::Viewer)?;
    let mut all = MetricsWriter::default();
    all.write_family("unstuck_info", "gauge", "The version that runs.");
    all.write_sample("unstuck_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let mut projects = Vec::new();
    for hosted in site.visible_projects(&caller) {
        projects.push((hosted.name.to_string(), ProjectMetrics::load_project(hosted).await?));
    }
    for (name, kind, help, value) in ProjectMetrics::FAMILIES {
        all.write_family(name, kind, help);
        for (project, numbers) in &projects {
            all.write_sample(name, &[("project", project)], value(numbers));
        }
    }
    all.write_family("unstuck_builds", "gauge", "Builds, by where they stand.");
    for (project, numbers) in &projects {
        for (state, count) in &numbers.builds {
            all.write_sample("unstuck_builds", &[("project", project), ("state", state)], *count);
        }
    }
    all.write_family("unstuck_failures_total", "counter", "Failures that were met, by their code.");
    for (project, numbers) in &projects {
        for (code, count) in &numbers.failures {
            let labels = [("project", project.as_str()), ("code", code.as_str())];
            all.write_sample("unstuck_failures_total", &labels, *count);
        }
    }
    all.write_family("unstuck_http_responses_total", "counter", "Responses, by class of status.");
    for (class, count) in site.traffic.responses.iter().enumerate() {
        let class = format!("{}xx", class + 1);
        let count = count.load(Ordering::Relaxed);
        all.write_sample("unstuck_http_responses_total", &[("class", &class)], count);
    }
    all.write_family(
        "unstuck_event_streams_total",
        "counter",
        "Streams of events that were begun.",
    );
    all.write_sample(
        "unstuck_event_streams_total",
        &[],
        site.traffic.streams.load(Ordering::Relaxed),
    );
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, METRICS_CONTENT_TYPE)], all.0).into_response())
}

#[derive(Debug, Default)]
struct ProjectMetrics {
    questions: u64,
    gates: u64,
    events: u64,
    spent: Amount,
    builds: BTreeMap<&'static str, u64>,
    failures: BTreeMap<Code, u64>,
}

/// A metric with one value per project: its name, type, help text, and value.
type MetricFamily = (&'static str, &'static str, &'static str, fn(&ProjectMetrics) -> u64);

impl ProjectMetrics {
    const FAMILIES: [MetricFamily; 6] = [
        ("unstuck_questions_open", "gauge", "Questions that wait for a person.", |of| of.questions),
        ("unstuck_gates_closed", "gauge", "Accounts that are waited for.", |of| of.gates),
        ("unstuck_events_total", "counter", "Events in the journal.", |of| of.events),
        (
            "unstuck_spent_money_micros_total",
            "counter",
            "What builds have cost, in millionths of the currency.",
            |of| of.spent.money_micros,
        ),
        ("unstuck_spent_tokens_total", "counter", "Tokens that builds have used.", |of| {
            of.spent.tokens
        }),
        ("unstuck_worked_milliseconds_total", "counter", "Working time of builds.", |of| {
            of.spent.time_ms
        }),
    ];

    async fn load_project(hosted: &HostedProject) -> Result<Self, Problem> {
        let store = &hosted.store;
        let name = &*hosted.name;
        let mut numbers = Self {
            questions: store.count_unanswered(name).await?,
            events: store.load_newest_seq(name).await?,
            ..Self::default()
        };
        for build in store.load_builds(name).await? {
            *numbers.builds.entry(build.state.as_str()).or_default() += 1;
            numbers.spent = numbers.spent.saturating_add(build.spent);
        }
        for row in store.load_signatures(name).await? {
            *numbers.failures.entry(row.signature.code).or_default() += row.total;
        }
        let gates = store.load_gates(name).await?;
        let closed = gates.iter().filter(|gate| !matches!(gate.state, GateState::Passing));
        numbers.gates = closed.count() as u64;
        Ok(numbers)
    }
}

#[derive(Debug, Default)]
struct MetricsWriter(String);

impl MetricsWriter {
    fn write_family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn write_sample(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escape_label(value)))
            .collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

fn escape_label(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}
