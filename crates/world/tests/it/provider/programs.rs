//! Agent programs that misbehave, each a small script under the real guard.

use std::fs;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::{Code, Kind};
use unstuck_testkit::stage::FifoReader;
use unstuck_world::agent::{Activity, AgentAssignment, AgentEnd, AttemptLimits};
use unstuck_world::process::{Connections, EnforcementLevel, Wall};

use crate::provider::agents::{BOTH, KEY, SHORT, Stage, Which, code, fault, work, work_until};

// A program keeps its own state and reaches its service; nothing else outside is its to change.
#[tokio::test]
async fn a_program_works_behind_its_wall() {
    for which in BOTH {
        let stage = Stage::new();
        let agent = stage.fake(which);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = format!(
            "touch inside \"${{CLAUDE_CONFIG_DIR:-$CODEX_HOME}}/own\" \"$HOME/outside\"\n\
             bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && touch reached\n{}",
            replay(which)
        );
        let writable = Some(vec![stage.path("work")]);
        let wall = Wall { writable, network: Connections::Closed(Vec::new()), ..Wall::default() };
        let assignment = AgentAssignment { wall, ..stage.scripted(&script) };
        let held = agent.wall_for(&assignment).try_out();
        let (ended, _) = work(&*agent, assignment).await;
        assert_eq!(code(&ended.end), None, "{which:?}: {ended:?}");
        let own = match which {
            Which::Claude => "home/claude/own",
            Which::Codex => "home/codex/own",
        };
        assert!(stage.path("work/inside").exists() && stage.path(own).exists(), "{which:?}");
        let reached = stage.path("work/reached").exists();
        assert_eq!(reached, held.network != EnforcementLevel::Fully, "{which:?}: {held:?}");
        let outside = stage.path("person/outside").exists();
        assert_eq!(outside, held.files == EnforcementLevel::NotPossible, "{which:?}: {held:?}");
    }
}

/// A capture in which all went well, with a tool in between.
const fn with_tool(which: Which) -> &'static str {
    match which {
        Which::Claude => "claude/ok_tool.jsonl",
        Which::Codex => "codex/tool.jsonl",
    }
}

/// The number of its lines that have come when the tool is running.
const fn lines_until_tool(which: Which) -> u32 {
    match which {
        Which::Claude => 5,
        Which::Codex => 11,
    }
}

/// The number of lines before anything is running.
const fn lines_of_opening(which: Which) -> u32 {
    match which {
        Which::Claude => 1,
        Which::Codex => 4,
    }
}

fn replay(which: Which) -> String {
    format!("cat \"$AGENTS/{}\"", with_tool(which))
}

fn head(which: Which, lines: u32) -> String {
    format!("head -n {lines} \"$AGENTS/{}\"", with_tool(which))
}

#[tokio::test]
async fn what_a_program_says_is_told_and_its_end_believed() {
    for which in BOTH {
        let stage = Stage::new();
        let agent = stage.fake(which);
        agent.check_ready().await.unwrap();
        let (ended, activities) = work(&*agent, stage.scripted(&replay(which))).await;
        assert_eq!(code(&ended.end), None, "{which:?}: {ended:?}");
        let Some(Activity::Began { thread }) = activities.first() else {
            panic!("{which:?}: {activities:?}")
        };
        assert_eq!(ended.thread.as_ref(), Some(thread));
        assert!(activities.iter().any(|told| matches!(told, Activity::Returned { .. })));
        assert!(ended.usage.total_tokens() > 0);
    }
}

/// Sets one limit so that it passes soon.
type Change = fn(&mut AttemptLimits);

// T4.10, B7: silence before the first byte, silence after it, and too long in all.
#[tokio::test]
async fn a_program_that_hangs_is_ended_by_its_deadline() {
    let hang = "exec sleep 1000".to_owned();
    for which in BOTH {
        let opening = format!("{}; {hang}", head(which, lines_of_opening(which)));
        let endless = format!("{}; while :; do echo '{{}}'; done", head(which, 1));
        let cases: [(&str, &String, Change); 3] = [
            ("first byte", &hang, |limits| limits.first_byte = SHORT),
            ("idle", &opening, |limits| limits.idle = SHORT),
            ("total", &endless, |limits| limits.total = SHORT),
        ];
        for (name, script, change) in cases {
            let stage = Stage::new();
            let mut assignment = stage.scripted(script);
            change(&mut assignment.limits);
            let (ended, _) = work(&*stage.fake(which), assignment).await;
            let Kind::IterationTimeout(timeout) = &fault(&ended).kind else {
                panic!("{which:?} {name}: {ended:?}")
            };
            assert_eq!(u128::from(timeout.limit_ms), SHORT.as_millis(), "{which:?} {name}");
        }
    }
}

// B7: a long, quiet command is not silence of the agent. The script is quiet for longer than the
// agent may be, while a tool runs.
#[tokio::test]
async fn a_quiet_tool_is_waited_for() {
    for which in BOTH {
        let stage = Stage::new();
        let begun = lines_until_tool(which);
        let script = format!(
            "{}; sleep {}; tail -n +{} \"$AGENTS/{}\"",
            head(which, begun),
            (SHORT * 3).as_secs_f32(),
            begun + 1,
            with_tool(which)
        );
        let mut assignment = stage.scripted(&script);
        assignment.limits.idle = SHORT;
        let (ended, _) = work(&*stage.fake(which), assignment).await;
        assert_eq!(code(&ended.end), None, "{which:?}: {ended:?}");
    }
}

// T4.5, T4.6, TX13: a program that ends without saying how has not succeeded, whatever its status.
#[tokio::test]
async fn a_program_that_just_ends_has_crashed_or_never_begun() {
    use Code::{ProviderCrash, ProviderNotAvailable};
    for which in BOTH {
        let begun = head(which, 2);
        let half = format!("head -c 3000 \"$AGENTS/{}\"", with_tool(which));
        let cases = [
            ("silent success", "exit 0".to_owned(), ProviderCrash, Some(0), None),
            ("silent failure", "exit 3".to_owned(), ProviderNotAvailable, None, None),
            ("a complaint", "echo no >&2; exit 1".to_owned(), ProviderNotAvailable, None, None),
            ("success in the middle", format!("{begun}; exit 0"), ProviderCrash, Some(0), None),
            ("failure in the middle", format!("{begun}; exit 7"), ProviderCrash, Some(7), None),
            (
                "failure after a change",
                format!("{begun}; echo done > changed; exit 1"),
                ProviderCrash,
                Some(1),
                None,
            ),
            ("half a line", format!("{half}; exit 0"), ProviderCrash, Some(0), None),
            ("killed", format!("{begun}; kill -9 $$"), ProviderCrash, None, Some(9)),
            ("killed at once", "kill -9 $$".to_owned(), ProviderCrash, None, Some(9)),
            ("as a shell says it", "exit 143".to_owned(), ProviderCrash, Some(143), None),
        ];
        for (name, script, expected, exit, signal) in cases {
            let stage = Stage::new();
            let (ended, _) = work(&*stage.fake(which), stage.scripted(&script)).await;
            let fault = fault(&ended);
            assert_eq!(fault.code(), expected, "{which:?} {name}: {fault}");
            if let Kind::ProviderCrash(crash) = &fault.kind {
                assert_eq!((crash.exit, crash.signal), (exit, signal), "{which:?} {name}");
            }
        }
    }
}

#[tokio::test]
async fn a_missing_directory_is_not_the_programs_fault() {
    for which in BOTH {
        let stage = Stage::new();
        let mut assignment = stage.scripted("exit 0");
        assignment.directory = stage.path("nowhere");
        let (ended, _) = work(&*stage.fake(which), assignment).await;
        assert_eq!(fault(&ended).code(), Code::PreconditionMissing, "{which:?}");
    }
}

/// A script that leaves a child in a session of its own and then does nothing.
fn with_child(which: Which) -> String {
    let child = "exec 3>\"$PWD/alive\"; echo up >&3; exec sleep 1000";
    format!("setsid sh -c '{child}' & {}; exec sleep 1000", head(which, 2))
}

// TX15, B13: when it is reported, nothing of the tree is left.
#[tokio::test]
async fn stopping_ends_the_whole_tree() {
    for which in BOTH {
        let stage = Stage::new();
        let (fifo, stop) = (stage.alive(), CancellationToken::new());
        let stopping = stop.clone();
        let up = tokio::task::spawn_blocking(move || {
            let alive = FifoReader::open_and_hear(&fifo);
            stopping.cancel();
            alive
        });
        let (ended, _) =
            work_until(&*stage.fake(which), stage.scripted(&with_child(which)), &stop).await;
        assert_eq!(ended.end, AgentEnd::Stopped, "{which:?}");
        assert!(up.await.unwrap().has_ended(), "{which:?}");
    }
}

// TX15: no child in a session of its own outlives the deadline.
#[tokio::test]
async fn a_deadline_ends_the_whole_tree() {
    for which in BOTH {
        let stage = Stage::new();
        let fifo = stage.alive();
        let up = tokio::task::spawn_blocking(move || FifoReader::open_and_hear(&fifo));
        let mut assignment = stage.scripted(&with_child(which));
        assignment.limits.total = Duration::from_secs(2);
        let (ended, _) = work(&*stage.fake(which), assignment).await;
        assert_eq!(fault(&ended).code(), Code::IterationTimeout, "{which:?}");
        assert!(up.await.unwrap().has_ended(), "{which:?}");
    }
}

#[tokio::test]
async fn stopping_works_while_no_reader_listens() {
    for which in BOTH {
        let stage = Stage::new();
        let (tell, told) = mpsc::channel(1);
        let stop = CancellationToken::new();
        let agent = stage.fake(which);
        let script = format!("{}; exec sleep 1000", replay(which));
        let working = agent.work_on(stage.scripted(&script), tell, stop.clone());
        let stopping = async {
            // One has been told, and the next waits for us.
            while told.is_empty() {
                tokio::task::yield_now().await;
            }
            stop.cancel();
        };
        let (ended, ()) = tokio::join!(working, stopping);
        // Whichever came first; it does not wait for a reader that does not listen.
        assert!(
            matches!(ended.end, AgentEnd::Stopped | AgentEnd::Finished { .. }),
            "{which:?}: {ended:?}"
        );
    }
}

#[tokio::test]
async fn an_agent_that_is_stopped_before_it_began_does_not_begin() {
    for which in BOTH {
        let stage = Stage::new();
        let stop = CancellationToken::new();
        stop.cancel();
        let script = "touch begun";
        let (ended, _) = work_until(&*stage.fake(which), stage.scripted(script), &stop).await;
        assert_eq!(ended.end, AgentEnd::Stopped, "{which:?}");
        assert!(!stage.path("work/begun").exists());
    }
}

// T4.33: a line of any length does no harm.
#[tokio::test]
async fn a_line_of_a_hundred_megabytes_is_skipped() {
    for which in BOTH {
        let stage = Stage::new();
        let script = format!("head -c 100000000 /dev/zero | tr '\\0' x; echo; {}", replay(which));
        let (ended, _) = work(&*stage.fake(which), stage.scripted(&script)).await;
        assert_eq!(code(&ended.end), None, "{which:?}: {ended:?}");
    }
}

/// A program that does not end by itself after its last word.
#[tokio::test]
async fn a_program_that_lingers_is_ended() {
    for which in BOTH {
        let stage = Stage::new();
        let script = format!("{}; exec sleep 1000", replay(which));
        let (ended, _) = work(&*stage.fake(which), stage.scripted(&script)).await;
        assert_eq!(code(&ended.end), None, "{which:?}: {ended:?}");
    }
}

fn resuming(stage: &Stage, script: &str) -> AgentAssignment {
    let thread = Some("11111111-1111-4111-8111-111111111111".to_owned());
    AgentAssignment { thread, ..stage.scripted(script) }
}

#[tokio::test]
async fn an_unknown_conversation_is_begun_anew_and_has_another_name() {
    let claude = r#"
        case "$*" in
        *--resume*) cat "$AGENTS/claude/resume_missing.jsonl"; exit 1 ;;
        *) cat "$AGENTS/claude/ok_text.jsonl" ;;
        esac"#;
    let refused = r#"
        case "$*" in
        *--resume*) echo "no such session" >&2; exit 1 ;;
        *) cat "$AGENTS/claude/ok_text.jsonl" ;;
        esac"#;
    let codex = r#"
        cat "$AGENTS/codex/resume_missing.jsonl"
        sed -e '/^{"id":1,/d' -e 's/^{"id":2,/{"id":4,/' "$AGENTS/codex/ok_text.jsonl""#;
    for (which, script) in
        [(Which::Claude, claude), (Which::Claude, refused), (Which::Codex, codex)]
    {
        let stage = Stage::new();
        let assignment = resuming(&stage, script);
        let asked_for = assignment.thread.clone();
        let (ended, activities) = work(&*stage.fake(which), assignment).await;
        assert_eq!(code(&ended.end), None, "{which:?}: {ended:?}");
        assert!(ended.thread.is_some() && ended.thread != asked_for, "{which:?}: {ended:?}");
        let Some(Activity::Began { thread }) = activities.first() else { panic!("{activities:?}") };
        assert_eq!(ended.thread.as_ref(), Some(thread));
    }
}

#[tokio::test]
async fn a_program_that_never_begins_is_started_twice_at_most() {
    let stage = Stage::new();
    let script = "echo once >> starts; exit 1";
    let (ended, _) = work(&*stage.fake(Which::Claude), resuming(&stage, script)).await;
    assert_eq!(fault(&ended).code(), Code::ProviderNotAvailable);
    assert_eq!(fs::read_to_string(stage.path("work/starts")).unwrap().lines().count(), 2);
}

#[tokio::test]
async fn it_gets_its_prompt_its_environment_and_no_other() {
    for which in BOTH {
        let stage = Stage::new();
        let read = match which {
            Which::Claude => "cat > prompt",
            Which::Codex => "head -n 1 > prompt",
        };
        let script = format!("env > env; {read}; {}", replay(which));
        let (ended, _) = work(&*stage.fake(which), stage.scripted(&script)).await;
        assert_eq!(code(&ended.end), None, "{which:?}: {ended:?}");
        let environment = fs::read_to_string(stage.path("work/env")).unwrap();
        assert!(!environment.contains("CARGO"), "{which:?}: {environment}");
        assert!(environment.contains("UNSTUCK_GUARD="), "{which:?}: {environment}");
        let expected = match which {
            Which::Claude => format!(
                "CLAUDE_CODE_MAX_RETRIES=1\nCLAUDE_CONFIG_DIR={}",
                stage.path("home/claude").display()
            ),
            Which::Codex => format!("CODEX_HOME={}", stage.path("home/codex").display()),
        };
        for line in expected.lines() {
            assert!(environment.lines().any(|found| found == line), "{line} {environment}");
        }
        let prompt = fs::read_to_string(stage.path("work/prompt")).unwrap();
        match which {
            Which::Claude => assert_eq!(prompt, "Do it."),
            Which::Codex => assert!(prompt.contains(r#""method":"initialize""#), "{prompt}"),
        }
    }
}

#[tokio::test]
async fn a_key_that_a_program_repeats_is_not_passed_on() {
    for which in BOTH {
        let stage = Stage::new();
        let script = format!("echo 'key {KEY} is wrong' >&2; exit 1");
        let (ended, _) = work(&*stage.fake(which), stage.scripted(&script)).await;
        let message = &fault(&ended).message;
        assert!(message.ends_with("key [redacted] is wrong"), "{which:?}: {message}");
    }
}
