//! What is wrong with a scenario file is told with its file and field.

use unstuck_testkit::healing::parse_scenario;

const SOUND: &str = r#"
about = "A charge."

[[task]]
name = "work"
takes = ["first", "second"]

[[task.trouble]]
at = "check"
code = "LOGIC_ERROR"
ends = { approach = "second" }

[[task.action]]
key = "charge"

[oracle]
completable = ["work"]
least_calls = 2
questions = 0
least_seconds = 143
effects = { "work.charge" = 1 }
"#;

#[test]
fn a_sound_file_is_read() {
    let scenario = parse_scenario("a-charge.toml", SOUND).unwrap();
    assert_eq!(scenario.name, "a-charge");
    assert_eq!(scenario.slot_count(), 1);
}

#[test]
fn a_wrong_file_is_told_with_its_name_and_field() {
    let cases = [
        ("LOGIC_ERROR", "LOGIC_EROR", "unknown variant `LOGIC_EROR`"),
        ("least_calls = 2", "", "missing field `least_calls`"),
        ("about =", "abuot =", "unknown field `abuot`"),
        ("at = \"check\"", "at = \"chekc\"", "\"chekc\" is no place"),
        (
            "at = \"check\"",
            "at = \"act pay\"",
            "task \"work\": trouble.at: there is no action \"pay\"",
        ),
        ("approach = \"second\"", "approach = \"third\"", "task \"work\": trouble.ends: \"third\""),
        ("code =", "happened = true\ncode =", "task \"work\": trouble.happened: nothing happens"),
        ("takes =", "needs = [\"other\"]\ntakes =", "task \"work\": needs: there is no task"),
        ("takes =", "needs = [\"work\"]\ntakes =", "task: "),
        ("completable = [\"work\"]", "completable = [\"play\"]", "oracle.completable: there is no"),
        ("work.charge", "charge", "oracle.effects: there is no action \"charge\""),
    ];
    for (sound, wrong, expected) in cases {
        let error =
            parse_scenario("a-charge.toml", &SOUND.replace(sound, wrong)).unwrap_err().to_string();
        assert!(error.starts_with("a-charge.toml: "), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    let killed = format!("{SOUND}\n[[kill]]\ntask = \"play\"\nat = \"call\"\nwhen = \"begun\"\n");
    let error = parse_scenario("a-charge.toml", &killed).unwrap_err().to_string();
    assert_eq!(error, "a-charge.toml: kill.task: there is no task \"play\"");
}
