//! All keys of the settings, derived from the schema, so that no second list is needed.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::sections::Settings;

/// Returns the JSON schema of the settings, without references: each key holds its own description.
pub(crate) fn settings_schema() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<Settings>().to_value()
}

/// A group of keys, or a single value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SettingKeys {
    keys: BTreeMap<String, SettingKeys>,
    /// The keys of each table, for a list of tables.
    items: Option<Box<SettingKeys>>,
}

impl SettingKeys {
    /// Returns all keys of the settings.
    pub(super) fn all() -> Self {
        Self::from_schema(&settings_schema())
    }

    fn from_schema(schema: &Value) -> Self {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let items = schema.get("items").map(Self::from_schema).filter(|items| !items.is_value());
        Self {
            keys: properties
                .iter()
                .map(|(name, of)| (name.clone(), Self::from_schema(of)))
                .collect(),
            items: items.map(Box::new),
        }
    }

    /// Returns the keys of each table, for a list of tables.
    pub(super) fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// Returns the group under a name; a key that holds a value has an empty group.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.keys.get(name)
    }

    /// Returns whether the key holds a value.
    pub(super) fn is_value(&self) -> bool {
        self.keys.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    /// Returns the paths of all values, such as `run.jobs`.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths("", &mut paths);
        paths
    }

    fn collect_paths(&self, before: &str, paths: &mut Vec<String>) {
        for (name, under) in &self.keys {
            let path = if before.is_empty() { name.clone() } else { format!("{before}.{name}") };
            if under.is_value() {
                paths.push(path);
            } else {
                under.collect_paths(&path, paths);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_there_and_has_its_words() {
        let paths = SettingKeys::all().paths();
        for known in ["agent.provider", "run.jobs", "budget.per_day.money", "retry.transient_for"] {
            assert!(paths.iter().any(|path| path == known), "{known} in {paths:?}");
        }
        let schema = settings_schema();
        for path in paths {
            let mut here = &schema;
            for name in path.split('.') {
                here = &here["properties"][name];
            }
            assert!(here["description"].is_string(), "{path} has no words: {here}");
        }
    }
}
