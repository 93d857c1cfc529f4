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
use unstuck_core::engine::{Command, Envelope, QuestionId};
use unstuck_core::question::Decision;
use unstuck_store::tables::QuestionStatus;
use unstuck_store::{Answer, AnswerError, QuestionPage};

use super::asked::{self, Asked};
use super::body::{Asks, Body};
use super::docs::{Api, Op};
use super::patience::Patience;
use super::which::{self, At, InProject, Listed};
use super::{Shared, cached, request_key};
use crate::auth::{Caller, Role};
use crate::problem::Problem;
use crate::site::Room;

/// Maximum length of guidance, in characters.
const GUIDANCE_CHARS_MAX: usize = 10_000;

pub(super) fn routes(api: Api) -> Api {
    api.op(
        Op::get("/api/v1/questions", "listQuestions", "Questions, oldest first")
            .takes(Role::Answerer)
            .query::<Which>()
            .gives::<Listed<Asked>>(200, "Some of the questions."),
        get(list),
    )
    .op(
        Op::get(
            "/api/v1/questions/{question}",
            "getQuestion",
            "One question; may wait for its answer",
        )
        .takes(Role::Answerer)
        .query::<One>()
        .gives::<Asked>(200, "The question.")
        .problem(StatusCode::NOT_FOUND, "There is no such question."),
        get(one),
    )
    .op(
        Op::post("/api/v1/questions/{question}/answer", "answerQuestion", "A person's answer")
            .takes(Role::Answerer)
            .query::<InProject>()
            .body::<Choice>()
            .gives::<Answered>(200, "It is taken down.")
            .problem(StatusCode::NOT_FOUND, "There is no such question.")
            .problem(StatusCode::CONFLICT, "It was answered before.")
            .problem(StatusCode::GONE, "It was withdrawn: the answer is no longer needed.")
            .problem(StatusCode::UNPROCESSABLE_ENTITY, "It does not offer this choice."),
        post(answer),
    )
    .op(
        Op::post(
            "/api/v1/questions/{question}/check",
            "checkQuestion",
            "Look again whether an action happened",
        )
        .takes(Role::Answerer)
        .query::<InProject>()
        .header(request_key::NAME, false, request_key::SAYS)
        .gives::<Vec<Envelope<'_>>>(200, "What came of it.")
        .problem(StatusCode::NOT_FOUND, "There is no such question.")
        .problem(StatusCode::CONFLICT, "It is not about an action, or answered already."),
        post(check),
    )
}

/// The questions that are wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Which {
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
struct One {
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

async fn list(
    State(site): State<Shared>,
    caller: Caller,
    address: Uri,
    headers: HeaderMap,
    Asks(which): Asks<Which>,
) -> Result<Response, Problem> {
    let rooms = which::rooms(&site, &caller, which.project.as_deref())?;
    let listed = listed(&rooms, &caller, &which);
    site.kept.answer((&address, &headers, &caller), &rooms, listed).await
}

async fn listed(
    rooms: &[Arc<Room>],
    caller: &Caller,
    which: &Which,
) -> Result<Listed<Asked>, Problem> {
    let limit = which::limit(which.limit)?;
    let mut start = which.after.as_deref().map(Start::read).transpose()?;
    let mut items: Vec<Asked> = Vec::new();
    let mut next = None;
    for room in rooms {
        let after = match &start {
            Some(start) if *room.name < *start.project => continue,
            Some(start) if *room.name == *start.project => Some(start.question),
            _ => None,
        };
        start = None;
        // The extra row tells whether there are more.
        let left = limit.saturating_sub(u32::try_from(items.len()).unwrap_or(u32::MAX));
        let one_more = left.saturating_add(1);
        let page =
            QuestionPage { status: which.status, after, newest_first: false, limit: one_more };
        let rows = room.store.questions_page(&room.name, page).await?;
        let mut waiting: HashMap<QuestionId, Answer> =
            room.store.answers(&room.name).await?.into_iter().map(|a| (a.question, a)).collect();
        for row in rows {
            if items.len() == limit as usize {
                next = items.last().map(Start::after);
                break;
            }
            let answer = waiting.remove(&row.id);
            items.push(seen(Asked { row, answer }, caller));
        }
        if next.is_some() {
            break;
        }
    }
    Ok(Listed { items, next })
}

/// The position at which a list continues: `shop/3`.
struct Start {
    project: String,
    question: QuestionId,
}

impl Start {
    fn read(text: &str) -> Result<Self, Problem> {
        let (project, question) = text.rsplit_once('/').ok_or_else(which::no_such_start)?;
        let question = QuestionId(which::number("question", 'q', question)?);
        Ok(Self { project: project.to_owned(), question })
    }

    fn after(asked: &Asked) -> String {
        format!("{}/{}", asked.row.project, asked.row.id.0)
    }
}

/// Returns a question as the caller may see it.
fn seen(asked: Asked, caller: &Caller) -> Asked {
    if caller.may(Role::Viewer) { asked } else { asked.public() }
}

async fn one(
    State(site): State<Shared>,
    caller: Caller,
    Path(question): Path<String>,
    headers: HeaderMap,
    Asks(how): Asks<One>,
) -> Result<Response, Problem> {
    let patience = Patience::of(how.wait)?;
    let room = which::room(&site, &caller, how.project.as_deref())?;
    let id = QuestionId(which::number("question", 'q', &question)?);
    let asked = patience.read(&site, &room, || read(&room, id), |asked| !asked.is_open()).await?;
    Ok(cached(&headers, &seen(asked, &caller)))
}

async fn read(room: &Room, id: QuestionId) -> Result<Asked, Problem> {
    let asked = asked::read(room.store.as_ref(), &room.name, id).await?;
    asked.ok_or_else(|| Problem::unknown("question", id))
}

async fn answer(
    at: At,
    Path(question): Path<String>,
    Body(choice): Body<Choice>,
) -> Result<Json<Answered>, Problem> {
    let id = QuestionId(which::number("question", 'q', &question)?);
    let given = give(&at.site, &at.room, &at.caller, id, &choice).await?;
    Ok(Json(given))
}

/// Records a person's answer, and tells the holder about it.
pub(crate) async fn give(
    site: &Shared,
    room: &Room,
    caller: &Caller,
    question: QuestionId,
    choice: &Choice,
) -> Result<Answered, Problem> {
    let asked = read(room, question).await?;
    let offered = || {
        let names: Vec<&str> =
            asked.row.text.options.iter().map(|option| option.value.as_str()).collect();
        format!("choose one of {}", names.join(", "))
    };
    let decision: Decision = choice.decision.trim().parse().map_err(|_| {
        let detail = format!("question {question} does not offer this choice");
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail).hint(offered())
    })?;
    let guidance = choice.guidance.as_deref().map(str::trim).filter(|text| !text.is_empty());
    if guidance.is_some_and(|text| text.chars().count() > GUIDANCE_CHARS_MAX) {
        let detail = format!("`guidance` is longer than {GUIDANCE_CHARS_MAX} characters");
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail));
    }
    if decision == Decision::ProvideGuidance && guidance.is_none() && asked.is_open() {
        let detail = "this choice is your own words, and there are none";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
            .hint("say in `guidance` what to do"));
    }
    // The guidance is stored, and sent to an agent: a key belongs into the environment.
    let guidance = guidance.map(|words| room.desk.redacted(words));
    let by = Arc::clone(&caller.name);
    let at = site.clock.now();
    let answer = Answer { question, decision, guidance, by, at };
    room.store.answer(&room.name, answer.clone()).await.map_err(|error| match error {
        AnswerError::NoQuestion(id) => Problem::unknown("question", id),
        AnswerError::Answered(_) => {
            Problem::new(StatusCode::CONFLICT, error.to_string()).hint("the first answer counts")
        }
        AnswerError::Withdrawn(_) => Problem::new(StatusCode::GONE, error.to_string()),
        AnswerError::NotAnOption { .. } => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()).hint(offered())
        }
        AnswerError::Store(error) => error.into(),
    })?;
    // From here on the answer is recorded: it will be processed, whatever happens now.
    let taken_up = room.desk.take_answers().await.unwrap_or(false);
    Ok(Answered { answer, taken_up })
}

async fn check(at: At, Path(question): Path<String>) -> Result<Response, Problem> {
    let question = QuestionId(which::number("question", 'q', &question)?);
    read(&at.room, question).await?;
    super::ordered(&at, Command::CheckAgain { question }).await
}
