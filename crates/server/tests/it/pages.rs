//! The pages, as a browser without a script reads them.

use axum::body::Body;
use axum::http::{Method, Request};
use unstuck_core::engine::{Check, CheckVerdict, Checked, Command, RedCheck, RunNote};
use unstuck_core::fault::CheckStage;
use unstuck_core::policy::Amount;
use unstuck_server::{AccessRole, ProjectVisibility, QuestionAudience};
use unstuck_testkit::stage::succeed_effect;

use super::served_projects::{Answered, Stage};

/// A browser that has signed in.
struct Browser<'a> {
    stage: &'a Stage,
    cookie: String,
}

impl<'a> Browser<'a> {
    async fn new(stage: &'a Stage, token: &str) -> Self {
        let form = format!("token={token}&next=%2F");
        let entered = stage.send(form_to("/login", "", &form)).await;
        assert_eq!(entered.status, 303, "{entered:?}");
        let cookie = entered.headers["set-cookie"].to_str().unwrap();
        Self { stage, cookie: cookie.split(';').next().unwrap().to_owned() }
    }

    async fn get(&self, path: &str) -> Answered {
        let request = Request::builder()
            .uri(path)
            .header("host", "127.0.0.1:7424")
            .header("cookie", &self.cookie)
            .body(Body::empty())
            .unwrap();
        self.stage.send(request).await
    }

    /// Sends a form of a page, with what the page hides in it.
    async fn send(&self, page: &str, to: &str, fields: &str) -> Answered {
        let html = self.get(page).await.text();
        let csrf = html.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let form = format!("csrf={csrf}&{fields}");
        self.stage.send(form_to(to, &self.cookie, &form)).await
    }
}

fn form_to(path: &str, cookie: &str, form: &str) -> Request<Body> {
    Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("host", "127.0.0.1:7424")
        .header("origin", "http://127.0.0.1:7424")
        .header("cookie", cookie)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(form.to_owned()))
        .unwrap()
}

// T1.10: the question shows the problem, what was tried, the advice and its choices, and is answered
#[tokio::test]
async fn a_question_is_read_and_answered_without_a_script() {
    let (stage, id, _) = Stage::with_question().await;
    let browser =
        Browser::new(&stage, &stage.token("anna", AccessRole::Answerer, ProjectVisibility::All))
            .await;
    let inbox = browser.get("/").await.text();
    assert!(inbox.contains("<title>(1) Inbox"), "{inbox}");
    assert!(inbox.contains("value=\"provide_credentials\""), "{inbox}");
    let to = format!("/q/shop/{id}");
    let answered = browser.send("/", &to, "decision=skip_feature").await;
    assert_eq!(
        (answered.status.as_u16(), &answered.headers["location"]),
        (303, &"/".parse().unwrap())
    );
    let inbox = browser.get("/").await.text();
    assert!(inbox.contains("Nothing waits for you"), "{inbox}");
    assert!(inbox.contains("anna answered"), "{inbox}");
    // Another tab that still shows it is told who was quicker.
    let again = browser.send("/", &to, "decision=provide_credentials").await;
    assert_eq!(again.status, 409);
    let page = again.text();
    assert!(page.contains("already been answered") && page.contains("anna answered"), "{page}");
}

#[tokio::test]
async fn a_form_of_another_page_does_nothing() {
    let (stage, id, _) = Stage::with_question().await;
    let browser = Browser::new(&stage, &stage.operator()).await;
    let to = format!("/q/shop/{id}");
    let bare = stage.send(form_to(&to, &browser.cookie, "decision=skip_feature")).await;
    assert_eq!(bare.status, 403, "{bare:?}");
    let mut foreign = form_to(&to, &browser.cookie, "decision=skip_feature");
    foreign.headers_mut().insert("origin", "https://evil.example".parse().unwrap());
    assert_eq!(stage.send(foreign).await.status, 403);
    let row = stage.get(&stage.operator(), &format!("/api/v1/questions/{id}")).await.json();
    assert_eq!(row["status"], "pending");
}

// Agent-written text is text, wherever it shows up
#[tokio::test]
async fn what_an_agent_writes_is_never_more_than_text() {
    let stage = Stage::new().await;
    let evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><b>";
    stage.project().build(&[evil]).await;
    let effect = stage.project().outstanding().await[0].id;
    let note = RunNote::Narrated { text: evil.into() };
    stage.project().command(Command::Note { effect, note }).await;
    let id = stage.project().asks_about(evil).await;
    let browser = Browser::new(&stage, &stage.operator()).await;
    for path in [
        "/",
        &format!("/q/shop/{id}"),
        "/work",
        "/work/shop/0",
        "/work/shop/0/tasks/0",
        "/work/shop/0/report",
        "/problems",
    ] {
        let page = browser.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        let html = page.text();
        assert!(
            !html.contains("<script>alert")
                && !html.contains("<img src=x")
                && !html.contains("<b>"),
            "{path}: {html}"
        );
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    }
}

#[tokio::test]
async fn pages_show_what_a_role_may_see() {
    let stage = Stage::new().await;
    stage.project().build(&["Put it online", "Write it down"]).await;
    let id = stage.project().asks().await;
    let anna =
        Browser::new(&stage, &stage.token("anna", AccessRole::Answerer, ProjectVisibility::All))
            .await;
    let page = anna.get(&format!("/q/shop/{id}")).await.text();
    assert!(!page.contains("For operators"), "{page}");
    assert_eq!(anna.get("/problems").await.status, 403);
    let build = anna.get("/work/shop/0").await.text();
    assert!(!build.contains(">Pause<"), "{build}");
    assert_eq!(anna.send("/", "/work/shop/0/pause", "").await.status, 403);
    let olga = Browser::new(&stage, &stage.operator()).await;
    let page = olga.get(&format!("/q/shop/{id}")).await.text();
    assert!(page.contains("For operators") && page.contains("403 refused"), "{page}");
    let paused = olga.send("/work/shop/0", "/work/shop/0/pause", "").await;
    assert_eq!(paused.status, 303, "{paused:?}");
    assert!(olga.get("/work/shop/0").await.text().contains("A person paused it."));
}

// The whole inbox is small, and shows itself without a script
#[tokio::test]
async fn the_inbox_is_small() {
    let stage = Stage::new().await;
    stage.project().build(&["One", "Two", "Three"]).await;
    for what in ["the disk is round", "no such moon", "out of tea"] {
        stage.project().asks_about(what).await;
    }
    let browser = Browser::new(&stage, &stage.operator()).await;
    let page = browser.get("/").await.text();
    let mut bytes = page.len();
    for part in page.split("/assets/").skip(1) {
        let name = part.split('"').next().unwrap();
        let asset = browser.get(&format!("/assets/{name}")).await;
        assert_eq!(asset.status, 200, "{name}");
        bytes += asset.body.len();
    }
    assert!(bytes < 60 * 1_024, "{bytes} bytes");
}

#[tokio::test]
async fn signing_out_ends_the_session() {
    let stage = Stage::new().await;
    let browser = Browser::new(&stage, &stage.operator()).await;
    assert_eq!(browser.get("/").await.status, 200);
    assert_eq!(browser.send("/", "/logout", "").await.status, 303);
    assert_eq!(browser.get("/").await.status, 303);
    let wrong = stage.send(form_to("/login", "", "token=nonsense")).await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.text().contains("Sign in"), "{}", wrong.text());
}

#[tokio::test]
async fn tokens_are_made_and_taken_back_on_a_page() {
    let stage = Stage::new().await;
    let olga = Browser::new(&stage, &stage.operator()).await;
    let made = olga
        .send("/settings", "/settings/tokens", "name=Anna&role=answerer&project=shop&days=7")
        .await;
    assert_eq!(made.status, 200, "{made:?}");
    let page = made.text();
    let token = page.split("ust_").nth(1).unwrap().split('<').next().unwrap();
    let anna = Browser::new(&stage, &format!("ust_{token}")).await;
    assert_eq!(anna.get("/").await.status, 200);
    assert_eq!(anna.get("/settings").await.status, 403);
    assert!(!olga.get("/settings").await.text().contains(token), "it is shown once");
    let unfit = olga.send("/settings", "/settings/tokens", "name=+&role=viewer").await;
    assert_eq!(unfit.status, 422);
    let entries = stage.tokens.list_entries().unwrap();
    let id = entries.iter().find(|entry| entry.name == "Anna").unwrap().id;
    let gone = olga.send("/settings", &format!("/settings/tokens/{id}/revoke"), "").await;
    assert_eq!(gone.status, 303, "{gone:?}");
    assert_eq!(anna.get("/").await.status, 303, "her session is over");
    let again = olga.send("/settings", &format!("/settings/tokens/{id}/revoke"), "").await;
    assert_eq!(again.status, 404);
    let only = ProjectVisibility::Only(["shop".into()].into());
    let otto = Browser::new(&stage, &stage.token("otto", AccessRole::Operator, only)).await;
    assert_eq!(otto.get("/settings").await.status, 403);
}

#[tokio::test]
async fn a_test_message_is_sent_and_what_came_of_it_is_said() {
    let stage = Stage::new().await;
    let olga = Browser::new(&stage, &stage.operator()).await;
    let page = olga.send("/settings", "/settings/notify/shop", "").await.text();
    assert!(page.contains("<strong>phone</strong> was sent."), "{page}");
    assert!(page.contains("<strong>chat</strong> did not arrive. The answer was 404."), "{page}");
    let unknown = olga.send("/settings", "/settings/notify/elsewhere", "").await;
    assert_eq!(unknown.status, 404);
    let anna =
        Browser::new(&stage, &stage.token("anna", AccessRole::Viewer, ProjectVisibility::All))
            .await;
    assert_eq!(anna.send("/", "/settings/notify/shop", "").await.status, 403);
}

// A page that answers a form shows what its address does not: the script has to leave it alone
#[tokio::test]
async fn only_pages_that_can_be_fetched_again_are_refreshed() {
    let stage = Stage::new().await;
    stage.project().build(&["Put it online"]).await;
    let question = stage.project().asks_about("the disk is round").await;
    let olga = Browser::new(&stage, &stage.operator()).await;
    let (asked, check) = (format!("/q/shop/{question}"), format!("/q/shop/{question}/check"));
    let (asked, check) = (asked.as_str(), check.as_str());
    for path in ["/", "/work", "/work/shop/0", "/jobs", "/problems", "/settings", asked] {
        let page = olga.get(path).await.text();
        assert!(page.contains(" data-after=\""), "{path}: {page}");
    }
    let forms = [
        ("/settings", "/settings/tokens", "name=Anna&role=viewer", 200, "shown only now"),
        ("/settings", "/settings/tokens", "name=+&role=viewer", 422, "role=\"alert\""),
        ("/settings", "/settings/notify/shop", "", 200, "was sent"),
        (asked, asked, "decision=nonsense", 422, "That was not taken down."),
        (asked, check, "", 409, "That was not taken down."),
    ];
    for (page, to, fields, status, says) in forms {
        let answer = olga.send(page, to, fields).await;
        assert_eq!(answer.status, status, "{to}: {answer:?}");
        let page = answer.text();
        assert!(page.contains(says), "{to}: {page}");
        assert!(!page.contains("data-after"), "{to}: {page}");
    }
}

// What happened is shown in parts, back to the beginning
#[tokio::test]
async fn what_happened_long_ago_is_on_earlier_pages() {
    let stage = Stage::new().await;
    stage.project().build(&["Put it online"]).await;
    let effect = stage.project().outstanding().await[0].id;
    for at in 0..130 {
        let note = RunNote::Narrated { text: format!("step {at} of many").into() };
        stage.project().command(Command::Note { effect, note }).await;
    }
    let olga = Browser::new(&stage, &stage.operator()).await;
    let mut path = "/work/shop/0".to_owned();
    let (mut pages, mut seen) = (0, Vec::new());
    loop {
        let page = olga.get(&path).await.text();
        pages += 1;
        let steps = page.split("step ").skip(1).filter_map(|rest| rest.split(' ').next());
        seen.extend(steps.filter_map(|step| step.parse::<u32>().ok()));
        let Some(rest) = page.split("href=\"?before=").nth(1) else {
            assert!(page.contains("Build started with 1 task."), "{page}");
            break;
        };
        path = format!("/work/shop/0?before={}", rest.split('#').next().unwrap());
    }
    assert_eq!(pages, 3);
    assert_eq!(seen, (0..130).rev().collect::<Vec<u32>>(), "each once, the newest first");
}

// A session of another runtime is called what it is, and its title is only text
#[tokio::test]
async fn a_session_is_called_what_it_is() {
    let stage = Stage::new().await;
    let token = stage.operator();
    let wanted = serde_json::json!({ "goal": "Bring the <b>orders</b> over" });
    assert_eq!(stage.post(&token, "/api/v1/sessions", &wanted).await.status, 201);
    let browser = Browser::new(&stage, &token).await;
    for path in ["/work", "/work/shop/0"] {
        let page = browser.get(path).await.text();
        assert!(page.contains("shop, session 0"), "{page}");
        assert!(page.contains("Bring the &#60;b&#62;orders"), "{page}");
    }
    let report = browser.get("/work/shop/0/report").await;
    assert_eq!(report.status, 200, "{report:?}");
}

// B35: the pages count work that needed no change by itself, and say why
#[tokio::test]
async fn work_that_needed_no_change_is_not_called_done() {
    let stage = Stage::new().await;
    stage.project().build(&["Say hello", "Say goodbye", "Sing"]).await;
    stage.project().works("It <b>says</b> so already.", &[1]).await;
    let browser = Browser::new(&stage, &stage.operator()).await;
    for path in ["/", "/work", "/work/shop/0"] {
        let page = browser.get(path).await.text();
        assert!(page.contains("1 of 3 done, 2 needed no change"), "{path}: {page}");
        assert!(!page.contains("3 of 3") && !page.contains("Everything is done"), "{path}: {page}");
    }
    let build = browser.get("/work/shop/0").await.text();
    let told = [
        "<dt>No change needed</dt><dd>2</dd>",
        "1 done, 2 needed no change.",
        "Build finished: 1 task done and two needed no change.",
        "needs no change: “It &#60;b&#62;says&#60;/b&#62; so already.”",
    ];
    for part in told {
        assert!(build.contains(part), "{part}: {build}");
    }
    let task = browser.get("/work/shop/0/tasks/0").await.text();
    assert!(task.contains("no change needed"), "{task}");
    let report = browser.get("/work/shop/0/report").await.text();
    let (done, unchanged) = report.split_once("<h2>No change needed</h2>").unwrap();
    assert!(done.contains("Say goodbye") && !done.contains("Sing"), "{report}");
    for part in
        ["Say hello", "Sing", "The agent said: “It &#60;b&#62;says&#60;/b&#62; so already.”"]
    {
        assert!(unchanged.contains(part), "{part}: {report}");
    }
    let row = stage.get(&stage.operator(), "/api/v1/builds/0").await.json();
    assert_eq!((&row["done"], &row["unchanged"]), (&3.into(), &2.into()), "{row}");
}

// B35: a build for which nothing had to be changed is not "done", and one with changes alone is as before
#[tokio::test]
async fn a_build_without_a_change_says_that_none_was_needed() {
    for (changing, says) in [(&[][..], "No change was needed."), (&[0], "Everything is done.")] {
        let stage = Stage::new().await;
        stage.project().build(&["Say hello"]).await;
        stage.project().works("It does.", changing).await;
        let page = Browser::new(&stage, &stage.operator()).await.get("/work/shop/0").await.text();
        assert!(page.contains(says), "{page}");
        assert_eq!(page.contains("Build finished: 1 task done."), !changing.is_empty(), "{page}");
    }
}

fn red_check(lines: usize) -> RedCheck {
    let output: Vec<String> = (0..lines).map(|line| format!("line {line} <i>red</i>")).collect();
    RedCheck {
        command: "make <b>test</b>".into(),
        exit: 2,
        output: format!("\u{1b}[31m{}", output.join("\n")).into(),
        tests: vec!["test_login".to_owned()],
        compared: false,
        later: None,
    }
}

// B15: the page and the report show the red check with its last lines as text; many lines are folded
#[tokio::test]
async fn a_red_base_is_shown_with_the_last_lines_of_its_check() {
    for (lines, open) in [(3, " open>"), (15, ">")] {
        let stage = Stage::new().await;
        stage.project().build(&["Mend it"]).await;
        let effect = stage.project().outstanding().await[0].id;
        let note = RunNote::BaseChecked { red: vec![red_check(lines)] };
        stage.project().command(Command::Note { effect, note }).await;
        for role in [AccessRole::Answerer, AccessRole::Operator] {
            let token = stage.token("anna", role, ProjectVisibility::All);
            let browser = Browser::new(&stage, &token).await;
            for path in ["/work/shop/0", "/work/shop/0/report"] {
                let page = browser.get(path).await.text();
                let (_, red) = page.split_once("<div class=\"red\">").unwrap();
                let red = red.split("</div>").next().unwrap();
                let last = format!("line {} &#60;i&#62;red&#60;/i&#62;</pre>", lines - 1);
                let said = [
                    "<code>make &#60;b&#62;test&#60;/b&#62;</code> ended with 2",
                    "Failed: test_login",
                    &last,
                ];
                for part in said {
                    assert!(red.contains(part), "{path}: {part}: {red}");
                }
                assert!(red.contains(&format!("{open}<summary>Its last lines")), "{path}: {red}");
                assert!(!red.contains('\u{1b}') && !red.contains("<i>"), "{path}: {red}");
            }
        }
        let report = Browser::new(&stage, &stage.operator()).await.get("/work/shop/0/report").await;
        assert!(report.text().contains("<h2>Failed before the work began</h2>"), "{report:?}");
    }
}

// Requests that an agent was denied are in the report of the page, as they are in that of the terminal
#[tokio::test]
async fn the_report_names_what_agents_were_denied() {
    let stage = Stage::new().await;
    stage.project().build(&["Clean up"]).await;
    let effect = stage.project().outstanding().await[0].id;
    let note = RunNote::Refused { what: "rm -rf /".into(), why: "it is never run".into() };
    stage.project().command(Command::Note { effect, note }).await;
    let browser = Browser::new(&stage, &stage.operator()).await;
    let report = browser.get("/work/shop/0/report").await.text();
    let (_, refused) = report.split_once("<h2>Not allowed to agents</h2>").unwrap();
    for part in ["Clean up", "<code>rm -rf /</code>", "it is never run"] {
        assert!(refused.contains(part), "{part}: {report}");
    }
}

// T1.10: evidence is folded for readers who are no developers, and open for developers
#[tokio::test]
async fn evidence_is_folded_for_plain_readers_only() {
    for (audience, opening) in [
        (QuestionAudience::Plain, "-evidence\">"),
        (QuestionAudience::Developer, "-evidence\" open>"),
    ] {
        let stage = Stage::for_audience(&["shop"], audience).await;
        stage.project().build(&["Put it online"]).await;
        let id = stage.project().asks().await;
        let browser = Browser::new(&stage, &stage.operator()).await;
        for path in ["/".to_owned(), format!("/q/shop/{id}")] {
            let page = browser.get(&path).await.text();
            let (before, evidence) = page.split_once("<details class=\"evidence\" id=\"").unwrap();
            let folded = evidence.split("</details>").next().unwrap();
            assert!(
                folded.split_inclusive('>').next().unwrap().ends_with(opening),
                "{path}: {folded}"
            );
            assert!(folded.contains("403 refused"), "{path}: {folded}");
            assert!(!before.contains("403 refused"), "{path}: {before}");
        }
    }
}

// B36: a check that failed and then passed is counted in Problems, and called flaky there
#[tokio::test]
async fn a_flaky_check_is_called_flaky_in_problems() {
    let stage = Stage::new().await;
    stage.project().build(&["Say hello"]).await;
    let attempt = stage.project().outstanding().await.remove(0);
    let outcome = succeed_effect(attempt.what);
    let done = Command::Settle { effect: attempt.id, outcome, spent: Amount::ZERO };
    stage.project().command(done).await;
    let effect = stage.project().outstanding().await[0].id;
    let check = |command: &str, verdict| Check { command: command.into(), verdict };
    let checked = Checked {
        gate: CheckStage::PreCommit,
        checks: vec![
            check("make lint", CheckVerdict::Passed),
            check("make <b>test</b>", CheckVerdict::Flaky),
        ],
        more_passed: 0,
        put_back: Vec::new(),
    };
    stage.project().command(Command::Note { effect, note: RunNote::Checked { checked } }).await;
    let page = Browser::new(&stage, &stage.operator()).await.get("/problems").await.text();
    let flaky =
        "`make &#60;b&#62;test&#60;/b&#62;` failed and then passed without a change: it is flaky.";
    assert!(page.contains(flaky), "{page}");
    let listed = stage.get(&stage.operator(), "/api/v1/problems").await.json();
    assert_eq!(listed["items"][0]["flaky"], "make <b>test</b>", "{listed}");
}
