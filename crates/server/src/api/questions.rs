//! Questions and their answers.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_core::engine::{Command, QuestionId};
use unstuck_core::question::Decision;
use unstuck_store::tables::{QuestionRow, QuestionStatus};
use unstuck_store::{Answer, AnswerError, QuestionPage, Store, StoreError};

use super::docs::{ApiOperation, ApiRouter};
use super::request::{ApiJsonBody, ApiQueryParams, LongPoll};
use super::resolve::{self, ApiProjectQuery, ApiProjectRequest, Listed};
use super::{describe_command, respond_with_etag, submit_command};
use crate::auth::{AccessRole, Caller};
use crate::problem::Problem;
use crate::server_state::{HostedProject, SharedServerState};

const GUIDANCE_CHARS_MAX: usize = 10_000;

/// A question, and its answer if that is not processed yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Asked {
    /// The question.
    #[serde(flatten)]
    pub row: QuestionRow,
    /// The answer, until the holder has processed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

impl Asked {
    /// Joins a question with its answer among these.
    pub fn from_row(row: QuestionRow, answers: &[Answer]) -> Self {
        let answer = answers.iter().find(|answer| answer.question == row.id).cloned();
        Self { row, answer }
    }

    /// Returns whether the question still waits for an answer.
    pub const fn is_open(&self) -> bool {
        matches!(self.row.status, QuestionStatus::Pending) && self.answer.is_none()
    }

    /// Removes the raw error text, which only viewers may read.
    #[must_use]
    pub fn into_public(mut self) -> Self {
        self.row.raw_error.clear();
        self.row.operator_text.clear();
        self
    }
}

pub(super) fn add_routes(api: ApiRouter) -> ApiRouter {
    api.add_operation(
        ApiOperation::get("/api/v1/questions", "listQuestions", "Questions, oldest first")
            .with_role(AccessRole::Answerer)
            .with_query::<ApiQuestionListQuery>()
            .with_response::<Listed<Asked>>(200, "Some of the questions."),
        get(list_questions),
    )
    .add_operation(
        ApiOperation::get(
            "/api/v1/questions/{question}",
            "getQuestion",
            "One question; may wait for its answer",
        )
        .with_role(AccessRole::Answerer)
        .with_query::<ApiQuestionQuery>()
        .with_response::<Asked>(200, "The question.")
        .with_problem(StatusCode::NOT_FOUND, "There is no such question."),
        get(get_question),
    )
    .add_operation(
        ApiOperation::post(
            "/api/v1/questions/{question}/answer",
            "answerQuestion",
            "A person's answer",
        )
        .with_role(AccessRole::Answerer)
        .with_query::<ApiProjectQuery>()
        .with_body::<Choice>()
        .with_response::<Answered>(200, "It is taken down.")
        .with_problem(StatusCode::NOT_FOUND, "There is no such question.")
        .with_problem(StatusCode::CONFLICT, "It was answered before.")
        .with_problem(StatusCode::GONE, "It was withdrawn: the answer is no longer needed.")
        .with_problem(StatusCode::UNPROCESSABLE_ENTITY, "It does not offer this choice."),
        post(answer_question),
    )
    .add_operation(
        describe_command(
            "/api/v1/questions/{question}/check",
            "checkQuestion",
            "Look again whether an action happened",
        )
        .with_role(AccessRole::Answerer)
        .with_problem(StatusCode::NOT_FOUND, "There is no such question.")
        .with_problem(StatusCode::CONFLICT, "It is not about an action, or answered already."),
        post(check_question),
    )
}

/// The questions that are wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ApiQuestionListQuery {
    /// Only questions of this project.
    project: Option<String>,
    /// Only questions with this status.
    status: Option<QuestionStatus>,
    /// Only questions after this one; with several projects it names the project, too.
    after: Option<String>,
    /// Maximum number of questions, up to 200.
    limit: Option<u32>,
}

/// The parameters of a request for one question.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ApiQuestionQuery {
    /// The project. Not needed if there is only one.
    project: Option<String>,
    /// Seconds to wait until the question is no longer open, at most 55.
    wait: Option<u64>,
}

/// The choice of a person.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choice {
    /// A value that the question offers.
    pub(crate) decision: String,
    /// Guidance in the person's own words.
    #[serde(default)]
    pub(crate) guidance: Option<String>,
}

/// An answer that was recorded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answered {
    #[serde(flatten)]
    pub(crate) answer: Answer,
    /// `true` if a process acts on it already; otherwise it is processed at the next start.
    pub(crate) taken_up: bool,
}

async fn list_questions(
    State(site): State<SharedServerState>,
    caller: Caller,
    address: Uri,
    headers: HeaderMap,
    ApiQueryParams(which): ApiQueryParams<ApiQuestionListQuery>,
) -> Result<Response, Problem> {
    let projects = resolve::find_projects(&site, &caller, which.project.as_deref())?;
    // The revisions come first: a later write makes the response outdated.
    let revisions = projects.iter().map(|hosted| hosted.store.read_revision());
    let revisions = revisions.collect::<Result<_, _>>()?;
    let listed = load_question_list(&projects, &caller, &which);
    site.response_cache.get_or_make((&address, &headers, &caller), revisions, listed).await
}

async fn load_question_list(
    projects: &[Arc<HostedProject>],
    caller: &Caller,
    which: &ApiQuestionListQuery,
) -> Result<Listed<Asked>, Problem> {
    let limit = resolve::check_limit(which.limit)?;
    let mut start = which.after.as_deref().map(QuestionListCursor::parse).transpose()?;
    let mut items: Vec<Asked> = Vec::new();
    let mut next = None;
    for hosted in projects {
        let after = match &start {
            Some(start) if *hosted.name < *start.project => continue,
            Some(start) if *hosted.name == *start.project => Some(start.question),
            _ => None,
        };
        start = None;
        // The extra row tells whether there are more.
        let left = limit.saturating_sub(u32::try_from(items.len()).unwrap_or(u32::MAX));
        let one_more = left.saturating_add(1);
        let page =
            QuestionPage { status: which.status, after, newest_first: false, limit: one_more };
        let rows = hosted.store.load_question_page(&hosted.name, page).await?;
        let mut waiting: HashMap<QuestionId, Answer> = hosted
            .store
            .load_pending_answers(&hosted.name)
            .await?
            .into_iter()
            .map(|a| (a.question, a))
            .collect();
        for row in rows {
            if items.len() == limit as usize {
                next = items.last().map(QuestionListCursor::after_question);
                break;
            }
            let answer = waiting.remove(&row.id);
            items.push(visible_question(Asked { row, answer }, caller));
        }
        if next.is_some() {
            break;
        }
    }
    Ok(Listed { items, next })
}

/// The position at which a list continues: `shop/3`.
struct QuestionListCursor {
    project: String,
    question: QuestionId,
}

impl QuestionListCursor {
    fn parse(text: &str) -> Result<Self, Problem> {
        let (project, question) = text.rsplit_once('/').ok_or_else(resolve::invalid_start_error)?;
        let question = QuestionId(resolve::parse_number("question", 'q', question)?);
        Ok(Self { project: project.to_owned(), question })
    }

    fn after_question(asked: &Asked) -> String {
        format!("{}/{}", asked.row.project, asked.row.id.0)
    }
}

/// Returns a question as the caller may see it.
fn visible_question(asked: Asked, caller: &Caller) -> Asked {
    if caller.has_role(AccessRole::Viewer) { asked } else { asked.into_public() }
}

async fn get_question(
    State(site): State<SharedServerState>,
    caller: Caller,
    Path(question): Path<String>,
    headers: HeaderMap,
    ApiQueryParams(how): ApiQueryParams<ApiQuestionQuery>,
) -> Result<Response, Problem> {
    let patience = LongPoll::from_wait(how.wait)?;
    let hosted = resolve::find_project(&site, &caller, how.project.as_deref())?;
    let id = QuestionId(resolve::parse_number("question", 'q', &question)?);
    let asked = patience
        .read_until(&site, &hosted, || require_question(&hosted, id), |asked| !asked.is_open())
        .await?;
    Ok(respond_with_etag(&headers, &visible_question(asked, &caller)))
}

pub(crate) async fn require_question(
    hosted: &HostedProject,
    id: QuestionId,
) -> Result<Asked, Problem> {
    let asked = load_asked(hosted.store.as_ref(), &hosted.name, id).await?;
    asked.ok_or_else(|| Problem::not_found("question", id))
}

async fn answer_question(
    at: ApiProjectRequest,
    Path(question): Path<String>,
    ApiJsonBody(choice): ApiJsonBody<Choice>,
) -> Result<Json<Answered>, Problem> {
    let id = QuestionId(resolve::parse_number("question", 'q', &question)?);
    let given = record_answer(&at.site, &at.project, &at.caller, id, &choice).await?;
    Ok(Json(given))
}

/// Records a person's answer, and tells the holder about it.
pub(crate) async fn record_answer(
    site: &SharedServerState,
    hosted: &HostedProject,
    caller: &Caller,
    question: QuestionId,
    choice: &Choice,
) -> Result<Answered, Problem> {
    let asked = require_question(hosted, question).await?;
    let offered = || {
        let choices = asked.row.text.options.iter();
        let choices = choices.map(|option| format!("{} (“{}”)", option.value, option.label));
        format!("choose one of {}", choices.collect::<Vec<_>>().join(", "))
    };
    let decision: Decision = choice.decision.trim().parse().map_err(|_| {
        let detail = format!("question {question} does not offer this choice");
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail).with_hint(offered())
    })?;
    let guidance = choice.guidance.as_deref().map(str::trim).filter(|text| !text.is_empty());
    if guidance.is_some_and(|text| text.chars().count() > GUIDANCE_CHARS_MAX) {
        let detail = format!("`guidance` is longer than {GUIDANCE_CHARS_MAX} characters");
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail));
    }
    if decision == Decision::ProvideGuidance && guidance.is_none() && asked.is_open() {
        let detail = "this choice is your own words, and there are none";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
            .with_hint("say in `guidance` what to do"));
    }
    // The guidance is stored, and sent to an agent: a key belongs into the environment.
    let guidance = guidance.map(|words| hosted.host.redact_text(words));
    let by = Arc::clone(&caller.name);
    let at = site.clock.now();
    let answer = Answer { question, decision, guidance, by, at };
    hosted.store.record_answer(&hosted.name, answer.clone()).await.map_err(
        |error| match error {
            AnswerError::NoQuestion(id) => Problem::not_found("question", id),
            AnswerError::Answered(_) => Problem::new(StatusCode::CONFLICT, error.to_string())
                .with_hint("the first answer counts"),
            AnswerError::Withdrawn(_) => Problem::new(StatusCode::GONE, error.to_string()),
            AnswerError::NotAnOption { .. } => {
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
                    .with_hint(offered())
            }
            AnswerError::Store(error) => error.into(),
        },
    )?;
    // From here on the answer is recorded: it will be processed, whatever happens now.
    let taken_up = hosted.host.take_answers().await.unwrap_or(false);
    Ok(Answered { answer, taken_up })
}

async fn check_question(
    at: ApiProjectRequest,
    Path(question): Path<String>,
) -> Result<Response, Problem> {
    let question = QuestionId(resolve::parse_number("question", 'q', &question)?);
    require_question(&at.project, question).await?;
    submit_command(&at, Command::CheckAgain { question }).await
}

/// Reads a question of a project, as every surface shows it.
pub(crate) async fn load_asked(
    store: &dyn Store,
    project: &str,
    id: QuestionId,
) -> Result<Option<Asked>, StoreError> {
    let Some(row) = store.load_question(project, id).await? else { return Ok(None) };
    let answer = match row.status {
        QuestionStatus::Pending => store
            .load_pending_answers(project)
            .await?
            .into_iter()
            .find(|answer| answer.question == id),
        QuestionStatus::Resolved | QuestionStatus::Skipped | QuestionStatus::Withdrawn => None,
    };
    Ok(Some(Asked { row, answer }))
}
