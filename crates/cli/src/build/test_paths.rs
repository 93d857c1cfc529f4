//! Finds the tests of a project by the names of its files, as globs for `validate.protect`.
//!
//! The names are those by which the tools of a language find tests. A file in the source code of a program
//! that only resembles a test stays out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use unstuck_world::git::Git;

/// Maximum number of file names that are examined.
const FILES_MAX: usize = 200_000;
/// Maximum number of folders that are listed one by one; more of them become one glob for each name.
const FOLDERS_MAX: usize = 5;
/// Maximum number of levels of folders outside a repository.
const LEVELS_MAX: usize = 8;

/// Folders that hold tests by convention, directly below the project.
pub(crate) const TEST_FOLDERS: [&str; 8] =
    ["tests", "test", "spec", "__tests__", "e2e", "src/test", "Tests", "Test"];
/// Folders that hold tests wherever they are.
const NESTED_FOLDERS: [&str; 6] = ["tests", "test", "__tests__", "__snapshots__", "e2e", "Tests"];
/// Folders of packages of others.
const OTHERS: [&str; 4] = ["node_modules", "vendor", "third_party", "target"];

const SCRIPTS: &[&str] = &["js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx", "vue", "svelte"];
const NATIVE: &[&str] = &["c", "cc", "cpp", "cxx"];

/// A name of test files.
struct TestName {
    before: &'static str,
    after: &'static str,
    /// Endings that the names may have after both parts; without any, the second part is the end.
    endings: &'static [&'static str],
    /// The glob that covers the names.
    glob: &'static str,
}

const fn name(before: &'static str, after: &'static str, glob: &'static str) -> TestName {
    TestName { before, after, endings: &[], glob }
}

const fn names(
    before: &'static str,
    after: &'static str,
    endings: &'static [&'static str],
    glob: &'static str,
) -> TestName {
    TestName { before, after, endings, glob }
}

const TEST_NAMES: &[TestName] = &[
    names("", ".test", SCRIPTS, "**/*.test.*"),
    names("", ".spec", SCRIPTS, "**/*.spec.*"),
    names("", "_test", SCRIPTS, "**/*_test.*"),
    names("", "-test", SCRIPTS, "**/*-test.*"),
    names("test-", "", SCRIPTS, "**/test-*.*"),
    names("", "_spec", SCRIPTS, "**/*_spec.*"),
    names("", "-spec", SCRIPTS, "**/*-spec.*"),
    names("", ".cy", SCRIPTS, "**/*.cy.*"),
    name("test_", ".py", "**/test_*.py"),
    name("", "_test.py", "**/*_test.py"),
    name("", "_test.go", "**/*_test.go"),
    name("", "Test.java", "**/*Test.java"),
    name("", "Tests.java", "**/*Tests.java"),
    name("", "TestCase.java", "**/*TestCase.java"),
    name("", "IT.java", "**/*IT.java"),
    name("Test", ".java", "**/Test*.java"),
    name("", "Test.kt", "**/*Test.kt"),
    name("", "Tests.kt", "**/*Tests.kt"),
    name("", "Spec.kt", "**/*Spec.kt"),
    name("", "Test.groovy", "**/*Test.groovy"),
    name("", "Spec.groovy", "**/*Spec.groovy"),
    name("", "Test.scala", "**/*Test.scala"),
    name("", "Spec.scala", "**/*Spec.scala"),
    name("", "Suite.scala", "**/*Suite.scala"),
    name("", "_test.exs", "**/*_test.exs"),
    name("", "_spec.rb", "**/*_spec.rb"),
    name("", "_test.rb", "**/*_test.rb"),
    name("test_", ".rb", "**/test_*.rb"),
    name("", ".t", "**/*.t"),
    name("", "_test.rs", "**/*_test.rs"),
    name("", "_tests.rs", "**/*_tests.rs"),
    name("", "Test.php", "**/*Test.php"),
    name("", ".phpt", "**/*.phpt"),
    name("", "Test.cs", "**/*Test.cs"),
    name("", "Tests.cs", "**/*Tests.cs"),
    name("", "Tests.fs", "**/*Tests.fs"),
    name("", "Test.swift", "**/*Test.swift"),
    name("", "Tests.swift", "**/*Tests.swift"),
    name("", "_test.dart", "**/*_test.dart"),
    name("test_", ".zig", "**/test_*.zig"),
    name("", "_test.zig", "**/*_test.zig"),
    name("", "Spec.hs", "**/*Spec.hs"),
    name("", "Test.hs", "**/*Test.hs"),
    name("", "_test.lua", "**/*_test.lua"),
    name("", "_spec.lua", "**/*_spec.lua"),
    name("test_", ".sh", "**/test_*.sh"),
    name("", "_test.sh", "**/*_test.sh"),
    name("", ".bats", "**/*.bats"),
    name("", ".feature", "**/*.feature"),
    name("", ".robot", "**/*.robot"),
    names("test_", "", NATIVE, "**/test_*.{c,cc,cpp,cxx}"),
    names("", "_test", NATIVE, "**/*_test.{c,cc,cpp,cxx}"),
    names("", "_unittest", NATIVE, "**/*_unittest.{c,cc,cpp,cxx}"),
];

/// Names that are tests as a whole.
const WHOLE_NAMES: [(&str, &str); 8] = [
    ("test.py", "**/test.py"),
    ("tests.py", "**/tests.py"),
    ("test.rs", "**/test.rs"),
    ("tests.rs", "**/tests.rs"),
    ("test.js", "**/test.js"),
    ("test.cjs", "**/test.cjs"),
    ("test.mjs", "**/test.mjs"),
    ("test.ts", "**/test.ts"),
];

impl TestName {
    fn matches_file(&self, file: &str) -> bool {
        let stem = match self.endings {
            [] => Some(file),
            endings => file
                .rsplit_once('.')
                .and_then(|(stem, ending)| endings.contains(&ending).then_some(stem)),
        };
        // Something has to stand between both parts.
        let rest = stem.and_then(|stem| stem.strip_prefix(self.before));
        rest.and_then(|rest| rest.strip_suffix(self.after)).is_some_and(|rest| !rest.is_empty())
    }
}

/// Returns the globs that cover the tests among the files of the project at `root`.
pub(crate) async fn find_test_globs(root: &Path) -> Vec<String> {
    let git = Git::new("git", root);
    match git.list_known_files().await {
        Ok(files) => compose_globs(files.iter().filter_map(|file| file.to_str())),
        Err(_) => {
            let mut files = Vec::new();
            list_files(root, "", LEVELS_MAX, &mut files);
            compose_globs(files.iter().map(String::as_str))
        }
    }
}

/// Lists the files below a folder that is in no repository.
fn list_files(root: &Path, below: &str, levels: usize, files: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
        let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
            continue;
        };
        if files.len() >= FILES_MAX {
            return;
        }
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if kind.is_file() {
            files.push(path);
        } else if kind.is_dir() && levels > 0 && !name.starts_with('.') {
            list_files(root, &path, levels - 1, files);
        }
    }
}

fn compose_globs<'a>(files: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut globs = BTreeSet::new();
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for path in files.take(FILES_MAX) {
        if path.split('/').any(|part| OTHERS.contains(&part) || part.starts_with('.')) {
            continue;
        }
        if let Some((folder, name)) = find_test_folder(path) {
            folders.entry(name).or_default().insert(folder);
            continue;
        }
        let file = path.rsplit('/').next().unwrap_or(path);
        let fitting = TEST_NAMES.iter().filter(|name| name.matches_file(file));
        let whole = WHOLE_NAMES.iter().filter(|(name, _)| *name == file).map(|(_, glob)| *glob);
        globs.extend(fitting.map(|name| name.glob).chain(whole).map(str::to_owned));
    }
    // Files with which the tests of Go compare, anywhere beside them.
    if globs.contains("**/*_test.go") {
        globs.insert("**/testdata/**".to_owned());
    }
    let mut found: Vec<String> = Vec::new();
    for (name, there) in folders {
        if there.len() > FOLDERS_MAX {
            found.push(format!("**/{name}/**"));
        } else {
            found.extend(there.iter().map(|folder| format!("{}/**", escape_glob(folder))));
        }
    }
    found.extend(globs);
    found
}

/// Returns the outermost folder of tests that a file is in, and the name by which it is one.
fn find_test_folder(path: &str) -> Option<(&str, &'static str)> {
    let (above, _) = path.rsplit_once('/')?;
    let at_root = TEST_FOLDERS.iter().find(|name| {
        above.strip_prefix(**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    if let Some(name) = at_root {
        return Some((&above[..name.len()], name));
    }
    let mut end = 0;
    for part in above.split('/') {
        end += part.len();
        if let Some(name) = NESTED_FOLDERS.iter().find(|name| **name == part) {
            return Some((&above[..end], name));
        }
        end += 1;
    }
    None
}

/// Returns a path as a glob for exactly that path.
pub(super) fn escape_glob(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for letter in path.chars() {
        match letter {
            '*' | '?' | '[' | ']' | '{' | '}' => text.extend(['[', letter, ']']),
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_by_the_names_that_their_tools_look_for() {
        let cases: &[(&[&str], &[&str])] = &[
            (&["calc.py", "test_calc.py"], &["**/test_*.py"]),
            (&["py/calc.py", "py/test_a.py", "js/a.test.js"], &["**/*.test.*", "**/test_*.py"]),
            (&["Tests/ShopTests/A.swift"], &["Tests/**"]),
            (&["web/src/test/a.js", "web/test/b.js"], &["web/src/test/**", "web/test/**"]),
            (&["src/a_test.cc"], &["**/*_test.{c,cc,cpp,cxx}"]),
            (&["lib/test_a.c"], &["**/test_*.{c,cc,cpp,cxx}"]),
            (&["a/XSpec.scala"], &["**/*Spec.scala"]),
            (&["a_test.go"], &["**/*_test.go", "**/testdata/**"]),
            (&["shop/tests.py"], &["**/tests.py"]),
            (&["t/add.t", "t/lib/Shop.pm"], &["**/*.t"]),
            (&["sums-test.js", "test-sums.mjs"], &["**/*-test.*", "**/test-*.*"]),
            (&["src/tests.rs", "src/cart_test.rs"], &["**/*_test.rs", "**/tests.rs"]),
            (
                &["a/tests/x", "b/tests/x", "c/tests/x", "d/tests/x", "e/tests/x", "f/tests/x"],
                &["**/tests/**"],
            ),
            (&["a[1]/tests/x"], &["a[[]1[]]/tests/**"]),
            (&["vendor/a/a_test.go", "node_modules/a/test/b.js", ".x/test_a.py"], &[]),
            (
                &[
                    "latest.py", "contest.js", "shop.spec", "api.spec.yaml", "testing.py",
                    "spec.c", "test-plan.md",
                ],
                &[],
            ),
            (&["contest/a.py", "lib/spec/model.yaml", "Test.java", "_test.py"], &[]),
        ];
        for (files, globs) in cases {
            assert_eq!(compose_globs(files.iter().copied()), *globs, "{files:?}");
        }
    }
}
