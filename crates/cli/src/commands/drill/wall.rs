//! The check of the sandbox: a hostile agent in a project that `unstuck init` has just set up.

use serde::Serialize;
use unstuck_world::process::attack::{ATTACKS, Attack, AttackedPart, AttackerWall};

use super::place::DrillProject;
use crate::commands::target::SandboxTestTarget;

/// The file in which the agent records the result of each attack.
const CAME: &str = "came.txt";
/// The agent's regular work, beside the attacks.
const WORK: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;

#[derive(Serialize)]
pub(super) struct DrillAttackResult {
    pub(super) attack: &'static str,
    pub(super) tries: &'static str,
    pub(super) held: bool,
}

/// Carries out all attacks in one build; returns their results, and the failure, if there is one.
pub(super) async fn run_attacks(place: &DrillProject) -> (Vec<DrillAttackResult>, Option<String>) {
    match attack_from_build(place).await {
        Ok((tried, true)) => {
            let through: Vec<_> = tried.iter().filter(|tried| !tried.held).collect();
            let names: Vec<_> = through.iter().map(|tried| tried.tries).collect();
            let seen = (!through.is_empty()).then(|| {
                format!(
                    "got through: {}\n`unstuck doctor --wall` says what to do",
                    names.join(", ")
                )
            });
            (tried, seen)
        }
        Ok((tried, false)) => (tried, Some("something outside was changed or reached".to_owned())),
        Err(seen) => (Vec::new(), Some(seen)),
    }
}

/// Returns the results of the attacks, and whether everything outside is unchanged.
async fn attack_from_build(place: &DrillProject) -> Result<(Vec<DrillAttackResult>, bool), String> {
    let failed = |error: std::io::Error| error.to_string();
    let target =
        SandboxTestTarget::create(place.home_path("outside"), place.home_path("home/.ssh"))
            .map_err(failed)?;
    let script = place.home_path("agent.toml");
    let lines = attack_script(&target)?;
    let steps = format!("[[attempt]]\nsteps = [{WORK}, {{run = {}}}]\n", quote_toml(&lines));
    std::fs::write(&script, steps).map_err(failed)?;
    let home = place.home_path("home");
    let script = script.display().to_string();
    let home = home.display().to_string();
    let variables = [
        ("HOME", &*home),
        ("UNSTUCK_AGENT_PROVIDER", "script"),
        ("UNSTUCK_AGENT_SCRIPT", &*script),
    ];
    place.write_file("Makefile", "test:\n\t@sh check.sh\n")?;
    place.commit_all()?;
    place.expect_exit_with(&["init"], &variables, 0).await?;
    place.commit_all()?;
    place.expect_exit_with(&["run", "write a", "--max-wait", "0"], &variables, 0).await?;
    let came = place.run_git(&["show", &format!("unstuck/b0:{CAME}")])?;
    let tried = agent_attacks().map(|attack| {
        let status =
            came.lines().find_map(|line| line.strip_prefix(attack.name)?.strip_prefix(' '));
        let status = status.and_then(|status| status.parse().ok());
        let held = status.is_some_and(Attack::is_refused_by);
        DrillAttackResult { attack: attack.name, tries: attack.tries, held }
    });
    Ok((tried.collect(), target.is_untouched()))
}

/// Returns the attacks of an agent that make sense with the limits of a build.
fn agent_attacks() -> impl Iterator<Item = &'static Attack> {
    let by_agents = ATTACKS.iter().filter(|attack| attack.behind == AttackerWall::Command);
    let of_limits = [AttackedPart::Limits, AttackedPart::Memory, AttackedPart::FileSize];
    by_agents.filter(move |attack| !of_limits.contains(&attack.against))
}

/// Returns the shell script that the agent runs.
fn attack_script(target: &SandboxTestTarget) -> Result<String, String> {
    let executable = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for attack in agent_attacks() {
        let words = target
            .attack_arguments(attack)
            .map_err(|error| error.to_string())?
            .into_iter()
            .map(|word| quote_shell(&word.to_string_lossy()));
        let words: Vec<String> = words.collect();
        let program = quote_shell(&executable.to_string_lossy());
        let name = attack.name;
        lines.push(format!("{program} {}; echo {name} $? >> {CAME}", words.join(" ")));
        lines.push("rm -f taken linked pointer".to_owned());
    }
    Ok(lines.join("\n"))
}

fn quote_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Quotes a text for TOML, whose escapes include those of JSON.
fn quote_toml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
