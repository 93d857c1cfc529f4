//! The parts of the project that a scope reaches, and whether two scopes overlap.
//!
//! Globs are compared by their literal prefix only, so scopes may count as overlapping that do not, and never
//! the other way round.

use serde::{Deserialize, Serialize};

use super::ScopeSpec;

/// Maximum number of parts; a scope with more is widened to the folders at the root that contain them, so
/// that comparing stays cheap for any list.
const PARTS_MAX: usize = 64;

/// The parts of the project that a scope reaches.
///
/// Each ends with a slash, is not part of another one, and they are sorted: so two reaches are compared in
/// one pass over both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScopeReach(Vec<String>);

impl ScopeReach {
    /// Returns the reach of a scope, or `None` if it allows nothing by name.
    pub fn from_scope(scope: &ScopeSpec) -> Option<Self> {
        if scope.allowed.is_empty() {
            return None;
        }
        let parts = keep_outermost(scope.allowed.iter().map(|glob| glob_root(glob)).collect());
        if parts.len() <= PARTS_MAX {
            return Some(Self(parts));
        }
        let roots = keep_outermost(parts.iter().map(|part| root_folder(part)).collect());
        Some(Self(if roots.len() <= PARTS_MAX { roots } else { vec![String::new()] }))
    }

    /// Returns whether both reach into a common part.
    pub fn overlaps(&self, other: &Self) -> bool {
        let mut own = self.0.iter().peekable();
        let mut others = other.0.iter().peekable();
        while let (Some(part), Some(theirs)) = (own.peek(), others.peek()) {
            if part.starts_with(theirs.as_str()) || theirs.starts_with(part.as_str()) {
                return true;
            }
            // Parts below another one follow it directly, so the smaller one cannot overlap any later part.
            let passed = if part < theirs { &mut own } else { &mut others };
            passed.next();
        }
        false
    }
}

/// Returns the folder or file that contains all paths that a glob covers.
fn glob_root(glob: &str) -> String {
    let wild = glob.find(['*', '?', '[', '{', '\\', '!']);
    let literal = match wild {
        None => glob,
        Some(at) => glob[..at].rsplit_once('/').map_or("", |(folder, _)| folder),
    };
    let mut part = String::with_capacity(literal.len() + 1);
    for name in literal.split('/') {
        match name {
            "" | "." => {}
            // The target of `..` is not resolved here.
            ".." => return String::new(),
            name => {
                part.push_str(name);
                part.push('/');
            }
        }
    }
    part
}

fn root_folder(part: &str) -> String {
    part.split_inclusive('/').next().unwrap_or_default().to_owned()
}

/// Returns the parts that are not contained in another one.
fn keep_outermost(mut parts: Vec<String>) -> Vec<String> {
    parts.sort_unstable();
    parts.dedup_by(|next, kept| next.starts_with(kept.as_str()));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(globs: &[&str]) -> Option<ScopeReach> {
        let allowed = globs.iter().map(|&glob| glob.to_owned()).collect();
        ScopeReach::from_scope(&ScopeSpec { allowed, forbidden: vec!["src/**".to_owned()] })
    }

    #[test]
    fn scopes_meet_where_one_reaches_into_the_other() {
        let table: [(&[&str], &[&str], bool); 14] = [
            (&["src/**"], &["src/api/*.rs"], true),
            (&["src/a/**"], &["src/ab/**"], false),
            (&["src/a*/x"], &["src/ab/**"], true),
            (&["src/main.rs"], &["src/main.rs"], true),
            (&["src/main.rs"], &["src/main"], false),
            (&["src"], &["./src/", "docs/**"], true),
            (&["**"], &["docs/a.md"], true),
            (&["*.md"], &["docs/a.md"], true),
            (&["src/a", "src/c"], &["src/b", "src/d"], false),
            (&["src/a", "src-b/x", "src/c"], &["lib", "src-b"], true),
            (&["src/{a,b}/**"], &["src/c"], true),
            (&["src/../docs"], &["lib"], true),
            (&["src-x/**"], &["src/**"], false),
            (&["a/b", "c"], &["a/b/c/d"], true),
        ];
        for (one, other, meet) in table {
            let here = reach(one).unwrap();
            let there = reach(other).unwrap();
            assert_eq!(here.overlaps(&there), meet, "{one:?} {other:?}");
            assert_eq!(there.overlaps(&here), meet, "{other:?} {one:?}");
        }
    }

    #[test]
    fn a_scope_that_allows_nothing_by_name_reaches_nowhere() {
        assert_eq!(reach(&[]), None);
    }

    #[test]
    fn a_part_of_a_part_is_not_kept() {
        assert_eq!(reach(&["a/b/c", "a/b", "a/bc", "a/b/**"]), reach(&["a/b", "a/bc"]));
    }

    #[test]
    fn a_long_list_reaches_into_its_roots() {
        let many = |root: &'static str, count| (0..count).map(move |n| format!("{root}{n}"));
        let of = |globs: Vec<String>| {
            ScopeReach::from_scope(&ScopeSpec { allowed: globs, forbidden: vec![] })
        };
        let files = of(many("src/f", 1_000).chain(["docs/x".to_owned()]).collect()).unwrap();
        assert_eq!(files, reach(&["src", "docs"]).unwrap());
        assert_eq!(of(many("root", 1_000).collect()), reach(&["**"]));
    }
}
