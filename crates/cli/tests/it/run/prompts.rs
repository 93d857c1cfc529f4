//! The next instructions to the agent: the prompts that a model really receives.

use serde_json::{Value, json};
use unstuck_world::fake::server::{
    FakeAnswer, FakeHttpError, FakeScript, FakeServer, FakeToolCall,
};

use super::models::ANTHROPIC;
use crate::program::{Ran, ran};
use crate::project::{Project, outside};

/// Red while a file says that it is broken, unless a person has mended the machine.
const CHECK: &str = "[ -e \"$HOME/mended\" ] && exit 0\n\
    if grep -rq broken work; then echo 'the page says broken at line 7'; exit 1; fi\n";

/// The model writes this and says that it is done.
fn writes(text: &str) -> [FakeAnswer; 2] {
    let write = json!({ "path": "work/a.txt", "content": text });
    let done = json!({ "summary": format!("I wrote {text:?}.") });
    [
        FakeAnswer::with_calls([FakeToolCall::new("write_file", &write)]),
        FakeAnswer::with_calls([FakeToolCall::new("task_done", &done)]),
    ]
}

struct Night {
    stage: Project,
    service: FakeServer,
    _outside: tokio::runtime::Runtime,
}

impl Night {
    fn new(answers: Vec<FakeAnswer>) -> Self {
        let (stage, outside) = (Project::with_agents(), outside());
        stage.write("check.sh", CHECK);
        stage.set("[retry]\nper_signature = 3\n");
        let [_, done] = writes("fine\n");
        let service = outside.block_on(FakeServer::start(FakeScript::new(answers, done))).unwrap();
        Self { stage, service, _outside: outside }
    }

    fn run(&self, args: &[&str]) -> Ran {
        ran(ANTHROPIC.unstuck(&self.stage, &self.service, args).output().unwrap())
    }

    /// The first message of every conversation.
    fn prompts(&self) -> Vec<String> {
        let calls = self.service.model_calls().into_iter().map(|call| call.json());
        let first = |call: Value| {
            let messages = call["messages"].as_array()?.clone();
            (messages.len() == 1).then(|| text(&messages[0]["content"]))
        };
        calls.filter_map(first).collect()
    }
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| part["text"].as_str().unwrap()).collect(),
        other => panic!("{other}"),
    }
}

// T0.17, T4.11, B1: the number of the approach, and the check's output also after a repeated one
#[test]
fn every_next_prompt_has_the_number_and_the_latest_output() {
    let answers = [writes("broken\n"), writes("broken\n"), writes("broken\n"), writes("fine\n")];
    let night = Night::new(answers.concat());
    let ran = night.run(&["run", "write a"]).exits(0);
    let prompts = night.prompts();
    assert_eq!(prompts.len(), 4, "{prompts:#?}");
    assert!(prompts[1].contains("APPROACH 1 FAILED\nThis is approach 2 of 3"), "{}", prompts[1]);
    for prompt in &prompts[1..] {
        assert!(prompt.contains("the page says broken at line 7"), "{prompt}");
    }
    assert!(prompts[3].contains("LOGIC_REPEATED_APPROACH"), "{}", prompts[3]);
    assert!(ran.stdout.contains("approach (2 of 3)"), "{ran}");
}

// T2.3, TX3, B1: their words come first, and the same change is checked again
#[test]
fn after_guidance_the_same_change_is_checked_again() {
    let answers = [writes("broken\n"), writes("broken\n"), writes("broken\n")];
    let night = Night::new(answers.concat());
    night.stage.replace_setting("per_signature = 3", "per_signature = 1");
    night.stage.commit();
    night.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    night.stage.write("mended", "");
    let words = "Keep the approach, but look again: I have mended the machine.";
    let answer = ["inbox", "answer", "0", "provide_guidance", "--guidance", words];
    assert_eq!(night.stage.run(&answer).exit, 0);
    night.run(&["resume", "--max-wait", "0"]).exits(0);
    assert_eq!(night.stage.on_branch("unstuck/b0", "work/a.txt"), "broken\n");
    let prompts = night.prompts();
    let last = prompts.last().unwrap();
    assert!(last.starts_with("GUIDANCE FROM A PERSON"), "{last}");
    assert!(last.contains(words) && last.contains("the page says broken at line 7"), "{last}");
    for absent in ["APPROACH 1 FAILED", "fundamentally different", "do not repeat", "is refused"] {
        assert!(!last.contains(absent), "{absent:?} in {last}");
    }
}

// TX3: what was fixed is no failed approach
#[test]
fn after_fixed_no_line_says_that_the_approach_failed() {
    let answers = [vec![FakeAnswer::Error(FakeHttpError::Unauthorized)], writes("fine\n").to_vec()];
    let night = Night::new(answers.concat());
    night.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    assert_eq!(night.stage.run(&["inbox", "answer", "0", "provide_credentials"]).exit, 0);
    night.run(&["resume", "--max-wait", "0"]).exits(0);
    let calls = night.service.model_calls();
    let told = String::from_utf8_lossy(&calls.last().unwrap().body).into_owned();
    assert!(told.contains("GUIDANCE FROM A PERSON"), "{told}");
    for absent in ["APPROACH", "not retry", "fundamentally different"] {
        assert!(!told.contains(absent), "{absent:?} in {told}");
    }
}

// TX3: asking is no failed approach, and what was not changed is not said to be kept
#[test]
fn after_an_answer_to_the_agents_question_nothing_is_called_failed() {
    let asks = json!({ "reason": "Which colour?" });
    let asks = vec![FakeAnswer::with_calls([FakeToolCall::new("task_blocked", &asks)])];
    let night = Night::new([asks, writes("fine\n").to_vec()].concat());
    night.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    let answer = ["inbox", "answer", "0", "provide_guidance", "--guidance", "Blue."];
    assert_eq!(night.stage.run(&answer).exit, 0);
    night.run(&["resume", "--max-wait", "0"]).exits(0);
    let calls = night.service.model_calls();
    let told = calls.iter().map(|call| String::from_utf8_lossy(&call.body).into_owned());
    let told = told.filter(|body| body.contains("GUIDANCE FROM A PERSON")).collect::<String>();
    assert!(told.contains("Blue."), "{told}");
    for absent in ["APPROACHES BEFORE", "PRECONDITION_INPUT, ", "The tree was kept"] {
        assert!(!told.contains(absent), "{absent:?} in {told}");
    }
}

// T2.2: a rebuild knows what failed before it
#[test]
fn the_first_prompt_of_a_rebuild_names_the_approaches_that_failed() {
    let answers = [writes("broken\n"), writes("broken again\n"), writes("fine\n")];
    let night = Night::new(answers.concat());
    night.stage.replace_setting("per_signature = 3", "per_signature = 1");
    night.stage.commit();
    assert_eq!(night.run(&["run", "write a", "--max-wait", "0"]).exit, 3);
    assert_eq!(night.stage.run(&["inbox", "answer", "0", "skip_feature"]).exit, 0);
    assert_eq!(night.run(&["resume"]).exit, 1);
    night.run(&["run", "write a"]).exits(0);
    let prompts = night.prompts();
    let first = prompts.last().unwrap();
    assert!(first.contains("FAILED IN AN EARLIER BUILD"), "{first}");
    assert!(first.contains("1. ") && first.contains("2. "), "{first}");
    assert!(!first.contains("APPROACH 1 FAILED"), "{first}");
}
