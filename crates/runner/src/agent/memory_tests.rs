//! Tests that a conversation stays well-formed in all circumstances.

use proptest::prelude::*;
use serde_json::json;
use unstuck_core::attempt::StuckLimits;

use super::*;

fn memory() -> AttemptMemory {
    AttemptMemory::new("the task", LoopDetector::new(StuckLimits::default(), "/w"))
}

/// Checks that the conversation begins with a user message, roles alternate, no message is empty,
/// and each call has exactly one result, which stands first in the message right after it. Without
/// `answered` the last turn may lack its results.
fn check(messages: &[ModelMessage], answered: bool) -> Result<(), String> {
    for (at, message) in messages.iter().enumerate() {
        let role = if at % 2 == 0 { MessageRole::User } else { MessageRole::Assistant };
        if message.role != role || message.parts.is_empty() {
            return Err(format!("message {at}: {message:?}"));
        }
        let calls: Vec<&String> = calls(message);
        let after = messages.get(at + 1);
        if role == MessageRole::Assistant && (answered || after.is_some()) {
            let results = after.map_or(Vec::new(), results);
            if calls.iter().collect::<BTreeSet<_>>().len() != calls.len()
                || sorted(&calls) != sorted(&results)
            {
                return Err(format!("message {at}: calls {calls:?}, results {results:?}"));
            }
        }
        if at == 0 && !results(message).is_empty() {
            return Err("a result of nothing".to_owned());
        }
        let late = message.parts.iter().skip_while(|part| is_result(part)).any(is_result);
        if late {
            return Err(format!("message {at}: a result after words"));
        }
    }
    Ok(())
}

fn sorted<'a>(ids: &[&'a String]) -> Vec<&'a String> {
    let mut ids = ids.to_vec();
    ids.sort();
    ids
}

fn calls(message: &ModelMessage) -> Vec<&String> {
    let ids = message.parts.iter().map(|part| match part {
        MessagePart::Call { id, .. } => Some(id),
        _ => None,
    });
    ids.flatten().collect()
}

fn results(message: &ModelMessage) -> Vec<&String> {
    let ids = message.parts.iter().map(|part| match part {
        MessagePart::Result { id, .. } => Some(id),
        _ => None,
    });
    ids.flatten().collect()
}

fn part() -> impl Strategy<Value = MessagePart> {
    let id = prop::sample::select(vec!["a", "b", "c", ""]);
    prop_oneof![
        "[ a-z]{0,4}".prop_map(|text| MessagePart::Text { text }),
        (id.clone(), "[a-z]{1,4}").prop_map(|(id, name)| MessagePart::Call {
            id: id.to_owned(),
            name,
            input: json!({"path": "x"}),
        }),
        id.prop_map(|id| MessagePart::Result {
            id: id.to_owned(),
            output: String::new(),
            failed: false
        }),
        Just(MessagePart::Opaque { value: json!({"signed": "x"}) }),
    ]
}

/// The events of a round after the model's turn.
#[derive(Clone, Copy, Debug)]
enum Then {
    Answers,
    AnswersTwice,
    /// The process is killed after so many answers, and another one resumes.
    Dies(usize),
    Compacts,
}

fn then() -> impl Strategy<Value = Then> {
    prop_oneof![
        4 => Just(Then::Answers),
        1 => Just(Then::AnswersTwice),
        2 => (0_usize..3).prop_map(Then::Dies),
        1 => Just(Then::Compacts),
    ]
}

proptest! {
    #[test]
    fn any_sequence_of_turns_leaves_it_well_formed(
        rounds in prop::collection::vec((prop::collection::vec(part(), 0..5), then()), 0..12),
    ) {
        let mut memory = memory();
        let redactor = Redactor::default();
        for (parts, then) in rounds {
            let calls = memory.append_turn(parts, &redactor);
            prop_assert_eq!(check(memory.messages(), calls.is_empty()), Ok(()));
            let answers = if let Then::Dies(after) = then { after } else { usize::MAX };
            for call in calls.iter().take(answers) {
                memory.set_call_result(&call.id, "first", false);
                if matches!(then, Then::AnswersTwice) {
                    memory.append_user_text("a word");
                    memory.set_call_result(&call.id, "second", true);
                }
            }
            if let Then::Dies(_) = then {
                memory = AttemptMemory::from_checkpoint(&memory.to_checkpoint().unwrap()).unwrap();
                memory.repair_conversation();
            }
            memory.append_user_text("go on");
            if let Then::Compacts = then {
                memory.compact_conversation();
            }
            prop_assert_eq!(check(memory.messages(), true), Ok(()), "{:?}", memory.messages());
            prop_assert_eq!(memory.messages().last().unwrap().role, MessageRole::User);
        }
    }
}

#[test]
fn an_interrupted_call_is_answered_with_a_warning() {
    let mut memory = memory();
    let call = |id: &str| MessagePart::Call {
        id: id.into(),
        name: "run_command".into(),
        input: json!({}),
    };
    memory.append_turn(vec![call("a"), call("b")], &Redactor::default());
    memory.set_call_result("a", "fine", false);
    memory.repair_conversation();
    let answers = &memory.messages().last().unwrap().parts;
    let result = |id: &str, output: &str, failed| MessagePart::Result {
        id: id.into(),
        output: output.into(),
        failed,
    };
    assert_eq!(answers[..], [result("a", "fine", false), result("b", prompt::NO_RESULT, true)]);
    let before = memory.messages().to_vec();
    memory.repair_conversation();
    assert_eq!(memory.messages(), before, "once is enough");
}

#[test]
fn a_turn_that_is_not_finished_goes_on_as_one() {
    let mut memory = memory();
    let search = MessagePart::Opaque { value: json!({"type": "server_tool_use"}) };
    let said = |text: &str| MessagePart::Text { text: text.into() };
    let calls =
        memory.append_turn(vec![search.clone(), MessagePart::pause_mark()], &Redactor::default());
    assert!(calls.is_empty() && memory.is_paused());
    let before = memory.messages().to_vec();
    memory = AttemptMemory::from_checkpoint(&memory.to_checkpoint().unwrap()).unwrap();
    memory.repair_conversation();
    assert_eq!(memory.messages(), before, "nothing is said in between, not even after a crash");
    memory.append_turn(vec![said("found")], &Redactor::default());
    assert_eq!(memory.messages().len(), 2);
    assert_eq!(memory.messages()[1].parts, [search, said("found")]);
    assert!(!memory.is_paused());
}

// TX16
#[test]
fn what_is_kept_of_a_turn_holds_no_secret_and_what_is_done_does() {
    let redactor = Redactor::new(["hunter2-hunter2"]);
    let mut memory = memory();
    let input = json!({"command": "login hunter2-hunter2"});
    let said = MessagePart::Text { text: "I use hunter2-hunter2".to_owned() };
    let calls = memory.append_turn(
        vec![
            said,
            MessagePart::Call { id: "a".into(), name: "run_command".into(), input: input.clone() },
        ],
        &redactor,
    );
    assert_eq!(calls[0].input, input);
    assert!(!memory.to_checkpoint().unwrap().as_str().contains("hunter2"));
}

#[test]
fn a_long_conversation_becomes_short_and_keeps_its_task_and_its_end() {
    let mut memory = memory();
    for n in 0..40 {
        let call = MessagePart::Call {
            id: format!("call{n}"),
            name: "read_file".into(),
            input: json!({"path": format!("src/{n}.rs")}),
        };
        memory.append_turn(vec![call], &Redactor::default());
        memory.set_call_result(&format!("call{n}"), &"x".repeat(3_000), n == 7);
    }
    let before = memory.count_bytes();
    memory.compact_conversation();
    assert!(memory.count_bytes() < before / 3, "{} of {before}", memory.count_bytes());
    let first = format!("{:?}", memory.messages()[0]);
    assert!(first.contains("the task") && first.contains("src/3.rs"), "{first}");
    assert!(first.contains(r#"src/7.rs\"}: failed"#), "{first}");
    assert!(
        format!("{:?}", memory.messages()[1]).contains("src/37.rs"),
        "the last turns are whole"
    );
    memory.compact_conversation();
    assert!(format!("{:?}", memory.messages()[0]).contains("src/3.rs"), "the list is kept");
    check(memory.messages(), true).unwrap();
}

#[test]
fn one_huge_result_is_shortened_where_there_is_no_middle() {
    let mut memory = memory();
    let call = MessagePart::Call { id: "a".into(), name: "read_file".into(), input: json!({}) };
    memory.append_turn(vec![call], &Redactor::default());
    memory.set_call_result("a", &"x".repeat(500_000), false);
    memory.compact_conversation();
    assert!(memory.count_bytes() < 10_000, "{}", memory.count_bytes());
    check(memory.messages(), true).unwrap();
}
