//! The core from outside: stories of the engine, text rules against the corpus, and properties.

mod boundaries;
mod corpus;
mod engine;
mod faults;
mod text_properties;
mod text_rules;
