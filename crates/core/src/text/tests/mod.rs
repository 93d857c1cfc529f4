//! Tests over all rules of the linter.

mod linter;
