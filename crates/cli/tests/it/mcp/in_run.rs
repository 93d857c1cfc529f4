//! Inside a task of `unstuck run`: the holder of the project knows secrets that the agent's own
//! process does not.

use serde_json::json;

use super::client::lines;
use crate::program::ran;
use crate::project::Project;

const SECRET: &str = "canary-4711-in-the-mine";

// TX16: what an agent says over the socket is kept without the secrets of the run's environment
#[test]
fn a_secret_of_the_run_reaches_no_record_however_an_agent_got_it() {
    let stage = Project::with_agents();
    let program = env!("CARGO_BIN_EXE_unstuck");
    let said = lines(&[("narrate", json!({"text": format!("I use {SECRET}.")}))]);
    stage.write("in", &said);
    let (input, output) = (stage.path("in"), stage.path("out"));
    let mcp = format!("{program} mcp < {} > {}", input.display(), output.display());
    stage.agent(
        "write-a",
        &[&format!(r#"{{run = "{mcp}"}}, {{write = "work/a.txt", text = "fine\n"}}"#)],
    );
    let mut run = stage.unstuck(&["run", "write a"]);
    let ran = ran(run.env("SHOP_TOKEN", SECRET).output().unwrap()).exits(0);
    assert!(std::fs::read_to_string(output).unwrap().contains("said."), "{ran}");
    let kept = format!("{:?} {ran}", stage.events());
    assert!(kept.contains("I use [redacted].") && !kept.contains("-4711"), "{kept}");
}
