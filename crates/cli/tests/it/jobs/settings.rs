//! Jobs in the settings: everything that is wrong is told at once, with its place.

use std::fs;

use super::{jobs, project};
use crate::project::Project;

const WRONG: &str = r#"
[[job]]
name = "mail"
run = ""
schedule = "0 0 31 2 *"

[[job]]
name = "mail"
run = "true"
scheduled = "5m"

[[job]]
run = ["sh", "-c", "true"]
time_zone = "Europe/Berlinn"
timeout = "soon"

[[job]]
name = "two words"
budget = "$0"
schedule = "61 * * * *"
repair = { attempts = "many", mod = "off" }
"#;

#[test]
fn everything_that_is_wrong_with_jobs_is_told_at_once() {
    let stage = Project::new();
    fs::write(stage.path("unstuck.toml"), WRONG).unwrap();
    fs::create_dir(stage.path("jobs")).unwrap();
    fs::write(stage.path("jobs/a.md"), "---\nschedule: every 5 minuets\nrnu: x\n---\nIt is\n")
        .unwrap();
    fs::write(stage.path("jobs/b.md"), "---\nrun: [\n---\n").unwrap();
    let told = jobs(&stage, &[]).exits(78);
    let root = stage.path("").display().to_string();
    insta::assert_snapshot!(told.to_string().replace(&root, ""));
}

#[test]
fn a_file_of_its_own_has_the_same_keys_and_its_text_is_the_goal() {
    let stage = project("[[job]]\nname = \"one\"\nrun = \"true\"\n");
    fs::create_dir(stage.path("jobs")).unwrap();
    let file = "---\nrun: [echo, \"${SAYS}\"]\nschedule: \"@daily\"\ntime_zone: UTC\n\
                repair: { attempts: 2, mode: propose, scope: [\"sync/**\"] }\nbudget: { time: 5m }\n---\n\
                Fetch the mail\n";
    fs::write(stage.path("jobs/two.md"), file).unwrap();
    let shown = stage.unstuck(&["config", "job"]).env("SAYS", "sesame").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let root = stage.path("").display().to_string();
    assert!(!shown.contains("sesame"), "what a variable holds is not shown: {shown}");
    insta::assert_snapshot!(shown.replace(&root, ""));
    let twice = "---\nrun: \"true\"\nname: one\n---\n";
    fs::write(stage.path("jobs/two.md"), twice).unwrap();
    let told = jobs(&stage, &[]);
    assert!(told.exit == 78 && told.stderr.contains("two jobs called one"), "{told}");
}
