//! `unstuck schema events`: whatever is really written fits it, and nothing in a line is unknown to
//! it.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::program::unstuck;
use crate::project::Project;
use crate::report::Night;

/// The one pattern there is: a code and a hash.
const SIGNATURE: &str = "^[A-Z_]+:[0-9a-f]{12}$";
/// Words about a schema, which no value can break.
const SILENT: [&str; 6] = ["$schema", "$defs", "title", "description", "default", "format"];

/// The names in an object that a schema speaks of.
type Known = BTreeSet<String>;

/// A schema, and whether values fit it. It knows the words that the schema uses and no others.
struct Schema(Value);

impl Schema {
    fn of_events() -> Self {
        Self(serde_json::from_str(&unstuck(&["schema", "events"]).stdout).unwrap())
    }

    /// The reason that a line does not fit; none where it fits.
    fn wrong(&self, line: &Value) -> Option<String> {
        self.whole(&self.0, line).err()
    }

    /// Fits, and has no name that the schema does not speak of.
    fn whole(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let known = self.fits(schema, value)?;
        match value.as_object().and_then(|map| map.keys().find(|name| !known.contains(*name))) {
            Some(name) => Err(format!("nothing is said about {name} in {value}")),
            None => Ok(()),
        }
    }

    fn fits(&self, schema: &Value, value: &Value) -> Result<Known, String> {
        let Some(words) = schema.as_object() else {
            assert_eq!(schema, &json!(true), "a schema that is no schema");
            return Ok(value.as_object().map(names).unwrap_or_default());
        };
        let mut known = Known::new();
        for (word, says) in words {
            known.extend(self.word(word, says, words, value)?);
        }
        Ok(known)
    }

    fn word(
        &self,
        word: &str,
        says: &Value,
        words: &Map<String, Value>,
        value: &Value,
    ) -> Result<Known, String> {
        let is = |fits: bool| {
            if fits { Ok(Known::new()) } else { Err(format!("{word} {says}: {value}")) }
        };
        match word {
            "$ref" => {
                let name = says.as_str().unwrap().strip_prefix('#').unwrap();
                self.fits(self.0.pointer(name).unwrap(), value)
            }
            "type" => {
                let kinds = says.as_array().cloned().unwrap_or_else(|| vec![says.clone()]);
                is(kinds.iter().any(|kind| is_a(kind.as_str().unwrap(), value)))
            }
            "const" => is(value == says),
            "enum" => is(says.as_array().unwrap().contains(value)),
            "minimum" => is(value.as_f64().is_none_or(|value| value >= says.as_f64().unwrap())),
            "maximum" => is(value.as_f64().is_none_or(|value| value <= says.as_f64().unwrap())),
            "pattern" => {
                assert_eq!(says, SIGNATURE);
                is(value.as_str().is_none_or(is_signature))
            }
            "required" => {
                let has = |name: &Value| value.get(name.as_str().unwrap()).is_some();
                is(says.as_array().unwrap().iter().all(has))
            }
            "properties" => self.properties(says, value),
            "additionalProperties" => self.more(says, words, value),
            "items" => {
                let mut items = value.as_array().into_iter().flatten();
                items.try_for_each(|item| self.whole(says, item))?;
                Ok(Known::new())
            }
            "oneOf" | "anyOf" => self.one_of(word == "oneOf", says, value),
            "allOf" => {
                let each = says.as_array().unwrap().iter().map(|each| self.fits(each, value));
                each.collect::<Result<Vec<_>, _>>()
                    .map(|known| known.into_iter().flatten().collect())
            }
            silent if SILENT.contains(&silent) => Ok(Known::new()),
            other => panic!("the schema says {other}, which this test does not understand"),
        }
    }

    fn properties(&self, says: &Value, value: &Value) -> Result<Known, String> {
        let says = says.as_object().unwrap();
        for (name, schema) in says {
            if let Some(value) = value.get(name) {
                self.whole(schema, value).map_err(|wrong| format!("{name}: {wrong}"))?;
            }
        }
        Ok(names(says))
    }

    fn more(
        &self,
        says: &Value,
        words: &Map<String, Value>,
        value: &Value,
    ) -> Result<Known, String> {
        let own = words.get("properties").and_then(Value::as_object).map(names).unwrap_or_default();
        let Some(object) = value.as_object() else { return Ok(Known::new()) };
        let rest: Vec<_> = object.iter().filter(|(name, _)| !own.contains(*name)).collect();
        if says == &json!(false) {
            return if rest.is_empty() { Ok(Known::new()) } else { Err(format!("more: {value}")) };
        }
        rest.iter().try_for_each(|(_, value)| self.whole(says, value))?;
        Ok(names(object))
    }

    fn one_of(&self, only: bool, says: &Value, value: &Value) -> Result<Known, String> {
        let tried = says.as_array().unwrap().iter().map(|each| self.fits(each, value));
        let (fitting, wrong): (Vec<_>, Vec<_>) = tried.partition(Result::is_ok);
        if fitting.is_empty() {
            let wrong: Vec<String> = wrong.into_iter().filter_map(Result::err).collect();
            return Err(wrong.join(" | "));
        }
        assert!(!only || fitting.len() == 1, "{value} fits more than one");
        Ok(fitting.into_iter().flatten().flatten().collect())
    }
}

fn names(map: &Map<String, Value>) -> Known {
    map.keys().cloned().collect()
}

fn is_a(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("no kind {other}"),
    }
}

fn is_signature(text: &str) -> bool {
    let Some((code, hash)) = text.split_once(':') else { return false };
    code.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        && hash.len() == 12
        && hash.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
}

fn lines(written: &str) -> Vec<Value> {
    written.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_event_of_a_whole_night_fits_the_schema() {
    let (night, schema) = (Night::played(), Schema::of_events());
    let root = night.root().to_str().unwrap();
    let events = lines(&unstuck(&["-C", root, "log", "--json", "--after", "0"]).stdout);
    assert!(events.len() > 200, "{}", events.len());
    for event in &events {
        assert_eq!(schema.wrong(event), None, "{event}");
    }
    let kinds: BTreeSet<&str> =
        events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert!(kinds.len() > 30, "too few kinds to prove anything: {kinds:?}");
}

#[test]
fn what_a_run_writes_while_it_goes_fits_the_schema() {
    let stage = Project::with_agents();
    stage.agent(
        "mend-a",
        &[
            r#"{say = "I try."}, {write = "work/a.txt", text = "broken\n"}"#,
            r#"{write = "work/a.txt", text = "fine\n"}"#,
        ],
    );
    let ran = stage.run(&["run", "mend a", "--json"]).exits(0);
    let (events, schema) = (lines(&ran.stdout), Schema::of_events());
    assert!(events.iter().any(|event| event["type"] == "agent.retrying"), "{ran}");
    for event in &events {
        assert_eq!(schema.wrong(event), None, "{event}");
    }
}

#[test]
fn what_is_no_event_does_not_fit() {
    let schema = Schema::of_events();
    let event = |type_: &str, data: Value| json!({"seq": 1, "at": 2, "project": "shop", "type": type_, "data": data});
    assert_eq!(schema.wrong(&event("build.waiting", json!({"build": 3}))), None);
    let mut without_seq = event("build.waiting", json!({"build": 3}));
    without_seq.as_object_mut().unwrap().remove("seq");
    for wrong in [
        event("build.asleep", json!({"build": 3})),
        event("build.waiting", json!({})),
        event("build.waiting", json!({"build": "b3"})),
        event("build.waiting", json!({"build": -3})),
        event("build.waiting", json!({"build": 3, "more": 1})),
        event("signature.forgotten", json!({"signature": "LOGIC_ERROR:xyz"})),
        without_seq,
    ] {
        assert!(schema.wrong(&wrong).is_some(), "{wrong}");
    }
}

#[test]
fn without_a_name_it_is_the_schema_of_the_settings() {
    assert_eq!(unstuck(&["schema"]).stdout, unstuck(&["schema", "settings"]).stdout);
    insta::assert_snapshot!("help_of_schema", unstuck(&["schema", "--help"]).stdout);
}
