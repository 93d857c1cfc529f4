//! Both stores against one set of rules, and damaged files.

mod conformance;
mod damage;
