//! Globs over paths of a repository.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The error for an invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPattern {
    /// The text of the pattern.
    pub pattern: String,
    /// The error in words.
    pub why: String,
}

impl BadPattern {
    fn new(pattern: String, error: &globset::Error) -> Self {
        Self { pattern, why: error.kind().to_string() }
    }
}

/// A list of globs. `*` stays within one folder and `**` does not; a plain name matches that file,
/// or that folder and everything in it.
#[derive(Clone, Debug)]
pub(crate) struct PathPatterns {
    set: GlobSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaseMatching {
    /// Upper and lower case differ.
    Matters,
    /// Upper and lower case are the same.
    Folds,
}

impl PathPatterns {
    pub(crate) fn parse(patterns: &[String], case: CaseMatching) -> Result<Self, BadPattern> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let bad = |error: globset::Error| BadPattern::new(pattern.clone(), &error);
            let trimmed = pattern.trim_start_matches("./").trim_end_matches('/');
            for glob in [trimmed.to_owned(), format!("{trimmed}/**")] {
                let mut builder = GlobBuilder::new(&glob);
                builder.literal_separator(true).case_insensitive(case == CaseMatching::Folds);
                set.add(builder.build().map_err(bad)?);
            }
        }
        let set = set.build().map_err(|error| BadPattern::new(patterns.join(", "), &error))?;
        Ok(Self { set })
    }

    pub(crate) fn covers_path(&self, path: &Path) -> bool {
        self.set.is_match(path)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty()
    }
}

/// Returns patterns that are relative to `folder` as patterns from the root of the repository.
pub fn place_patterns(folder: &Path, patterns: &[String]) -> Vec<String> {
    patterns.iter().map(|pattern| place_pattern(folder, pattern)).collect()
}

fn place_pattern(folder: &Path, pattern: &str) -> String {
    let mut folder = folder;
    let mut pattern = pattern.trim_start_matches("./");
    while let (Some(rest), Some(above)) = (pattern.strip_prefix("../"), folder.parent()) {
        (folder, pattern) = (above, rest);
    }
    let folder = globset::escape(&folder.to_string_lossy());
    match pattern {
        pattern if folder.is_empty() => pattern.to_owned(),
        "" | "." => folder,
        pattern => format!("{folder}/{pattern}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_a_project_covers_paths_of_its_folder() {
        let covers = |folder: &str, pattern: &str, path: &str| {
            let placed = place_patterns(Path::new(folder), &[pattern.to_owned()]);
            let patterns = PathPatterns::parse(&placed, CaseMatching::Matters).unwrap();
            patterns.covers_path(Path::new(path))
        };
        assert!(covers("", "src/**", "src/a.rs"));
        assert!(covers("packages/web", "src/**", "packages/web/src/a.rs"));
        assert!(!covers("packages/web", "src/**", "src/a.rs"));
        assert!(covers("packages/web", "./**/*.md", "packages/web/a/b.md"));
        assert!(!covers("packages/web", "**", "packages/api/a"));
        assert!(covers("packages/web", ".", "packages/web/a"));
        assert!(covers("packages/web", "../api/**", "packages/api/a"));
        assert!(covers("packages/web", "../../Makefile", "Makefile"));
        assert!(!covers("", "../Makefile", "Makefile"));
        assert!(covers("a[b]", "src", "a[b]/src/x"));
        assert!(!covers("a[b]", "src", "ab/src/x"));
    }

    #[test]
    fn a_pattern_covers_what_it_says_and_no_more() {
        let cases: [(&str, &[&str], &[&str]); 7] = [
            ("src", &["src", "src/a.rs", "src/b/c.rs"], &["src2", "lib/src"]),
            ("src/", &["src/a.rs"], &["srca"]),
            ("./src/*.rs", &["src/a.rs"], &["src/b/c.rs", "src/a.txt"]),
            ("**/*.md", &["a.md", "b/c.md"], &["a.mdx"]),
            ("tests/**", &["tests/a", "tests/b/c"], &["atests/a"]),
            ("a[!b]c", &["axc"], &["abc"]),
            ("{x,y}/z", &["x/z", "y/z"], &["x/y"]),
        ];
        for (pattern, inside, outside) in cases {
            let patterns =
                PathPatterns::parse(&[pattern.to_owned()], CaseMatching::Matters).unwrap();
            for path in inside {
                assert!(patterns.covers_path(Path::new(path)), "{pattern} does not cover {path}");
            }
            for path in outside {
                assert!(!patterns.covers_path(Path::new(path)), "{pattern} covers {path}");
            }
        }
    }

    #[test]
    fn a_broken_pattern_is_named() {
        let bad = PathPatterns::parse(&["ok".to_owned(), "a[".to_owned()], CaseMatching::Matters)
            .unwrap_err();
        assert_eq!(bad.pattern, "a[");
    }
}
