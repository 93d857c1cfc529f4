//! Finds the files that define a check: those that its command runs, those that its runner reads by
//! itself, and the scripts of a manifest.
//!
//! A check that an agent can rewrite proves nothing. A file that is run counts only if its name
//! states its purpose (`scripts/check.sh`, a Makefile for `make test`): in
//! `sh shop.sh | grep hello` the script is the work. Scripts and recipes are followed to the files
//! that they run in turn.

mod absent;
mod compared;
mod follow;
mod referenced;
mod tables;

pub use absent::MissingDefinitions;
pub(super) use compared::{list_compared_files, scripts_differ, tool_settings_differ};
pub(super) use follow::checks_something;
pub use follow::{find_defining_files, list_command_lines, list_test_patterns};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn write_in(folder: &Path, file: &str, text: &str) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_file_that_is_run_counts_where_its_name_says_that_it_checks() {
        let folder = tempfile::tempdir().unwrap();
        let files =
            ["Makefile", "scripts/check.sh", "shop.sh", "run-tests", "pytest.ini", "page.txt"];
        fs::create_dir(folder.path().join("scripts")).unwrap();
        for file in files {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let cases: [(&str, &[&str]); 9] = [
            ("make test", &["Makefile"]),
            ("CI=1 make -j4 check", &["Makefile"]),
            ("sh scripts/check.sh", &["scripts/check.sh"]),
            ("bash -c './run-tests && make lint'", &["Makefile", "run-tests"]),
            ("sh shop.sh | grep hello", &[]),
            ("grep -q hello page.txt", &[]),
            ("python3 -m pytest -q", &["pytest.ini"]),
            ("uv run python -m pytest", &["pytest.ini"]),
            ("just test", &[]),
        ];
        for (command, expected) in cases {
            let found = find_defining_files(folder.path(), &[command.to_owned()]);
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{command}");
        }
    }

    #[test]
    fn what_a_recipe_or_a_script_runs_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| write_in(folder.path(), file, text);
        write(
            "Makefile",
            "test: shop.sh\n\t@sh ci/test.sh\n\t$(PYTHON) check_it.py\n# sh lint.sh\n",
        );
        write("ci/test.sh", "set -e\n./ci/verify shop.sh\nmake test\n");
        write("ci/verify", "#!/bin/sh\nsh shop.sh | grep hello\n");
        write(
            "package.json",
            r#"{"scripts": {"test": "npm run unit", "unit": "node run-spec.js"}}"#,
        );
        for file in ["check_it.py", "shop.sh", "lint.sh", "run-spec.js"] {
            write(file, "");
        }
        let found = |command: &str| find_defining_files(folder.path(), &[command.to_owned()]);
        let paths = |files: &[&str]| files.iter().map(PathBuf::from).collect::<Vec<_>>();
        let all = paths(&["Makefile", "check_it.py", "ci/test.sh", "ci/verify"]);
        assert_eq!(found("make test"), all);
        assert_eq!(found("npm test"), paths(&["run-spec.js"]));
    }

    // B15: a check of a package lies in the package's folder
    #[test]
    fn a_check_in_a_folder_is_defined_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write_in(root, "web/Makefile", "test:\n\tsh check.sh\n");
        write_in(root, "web/check.sh", "true\n");
        write_in(root, "Makefile", "all:\n\t$(MAKE) -C web test\n\tcd web && npm test\n");
        let paths = |files: &[&str]| files.iter().map(PathBuf::from).collect::<Vec<_>>();
        for line in [
            "cd web && make test", "make -C web test", "(cd ./web/; make test)",
            "pushd web && make test",
        ] {
            let found = find_defining_files(root, &[line.to_owned()]);
            let found: Vec<_> = found.into_iter().filter(|file| file.starts_with("web")).collect();
            assert_eq!(found, paths(&["web/Makefile", "web/check.sh"]), "{line}");
        }
        let script = |line: &str| {
            let compared = list_compared_files(root, &[line.to_owned()]);
            compared.contains(&(PathBuf::from("web/package.json"), Some("test".to_owned())))
        };
        for line in [
            "npm --prefix web test", "npm --prefix=web test", "yarn --cwd web test",
            "pnpm -C web test", "make all",
        ] {
            assert!(script(line), "{line}");
        }
        let missing = MissingDefinitions::find(root, &["make -C web test".to_owned()]);
        assert!(missing.replacing.contains(&PathBuf::from("web/GNUmakefile")), "{missing:?}");
        assert!(!script("cd ../web && npm test"));
    }

    #[test]
    fn the_limits_of_a_tool_count_and_what_it_reads_elsewhere_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write_in(
            root,
            "tools/check.py",
            "json.load(open('tools/limits.json')); open('prices.json')\n",
        );
        for file in ["tools/limits.json", "tools/other.json", "prices.json"] {
            write_in(root, file, "{}");
        }
        let found = find_defining_files(root, &["python3 tools/check.py".to_owned()]);
        assert_eq!(found, [PathBuf::from("tools/check.py"), PathBuf::from("tools/limits.json")]);
        write_in(root, ".prettierrc.json", "{}");
        write_in(root, "tsconfig.json", "{ // strict\n \"extends\": \"./tsconfig.base\" }");
        write_in(root, "tsconfig.base.json", "{}");
        let found = find_defining_files(root, &["npx tsc --noEmit".to_owned()]);
        assert_eq!(found, [PathBuf::from("tsconfig.base.json"), PathBuf::from("tsconfig.json")]);
        let found = find_defining_files(root, &["npx prettier --check .".to_owned()]);
        assert_eq!(found, [PathBuf::from(".prettierrc.json")]);
    }

    #[test]
    fn a_list_of_tests_and_a_sourced_library_of_assertions_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let recipe =
            "TESTS := $(shell cat tests.list)\ntest:\n\tsh test.sh\n\tsh run.sh $(TESTS)\n";
        write_in(root, "Makefile", recipe);
        write_in(root, "tests.list", "t/one.sh\n");
        write_in(root, "test.sh", ". lib/assert.sh\n. lib/price.sh\n");
        write_in(root, "lib/assert.sh", "equal() { [ \"$1\" = \"$2\" ]; }\n");
        write_in(root, "lib/price.sh", "price() { echo 1; }\n");
        let found = find_defining_files(root, &["make test".to_owned()]);
        let expected = ["Makefile", "lib/assert.sh", "test.sh", "tests.list"];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn what_a_runner_loads_before_the_tests_counts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| write_in(folder.path(), file, text);
        write(
            "package.json",
            r#"{"scripts": {"test": "node -r ./setup.js --test"}, "jest": {"setupFiles": ["./env.js"]}}"#,
        );
        write("vitest.config.ts", "export default { test: { globalSetup: './global.ts' } }\n");
        for file in ["setup.js", "env.js", "global.ts", "sums.js"] {
            write(file, "");
        }
        let found = find_defining_files(folder.path(), &["npm test".to_owned()]);
        let expected = ["env.js", "global.ts", "setup.js", "vitest.config.ts"];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn what_a_pattern_stands_for_and_what_make_includes_counts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| write_in(folder.path(), file, text);
        write(
            "Makefile",
            "-include local.mk\ninclude rules.mk\ntest: unit\n\t@sh test.sh\nunit:\n",
        );
        write("rules.mk", "");
        write("test.sh", "for check in checks/*.sh; do sh \"$check\"; done\nls src/*.c\n");
        for file in ["checks/a.sh", "checks/b.sh", "checks/notes.txt", "src/a.c"] {
            write(file, "");
        }
        write("scripts/lint.sh", "python3 \"$(dirname \"$0\")/lint.py\" src\n");
        write("scripts/lint.py", "");
        write("tools/run.js", "");
        write("package.json", r#"{"scripts": {"test": "node tools/run.js"}}"#);
        let found = |command: &str| find_defining_files(folder.path(), &[command.to_owned()]);
        assert_eq!(found("npm test"), [Path::new("tools/run.js")]);
        assert_eq!(found("node tools/run.js"), [] as [&Path; 0], "it may be the work");
        let both = [Path::new("scripts/lint.py"), Path::new("scripts/lint.sh")];
        assert_eq!(found("sh scripts/lint.sh"), both);
        let commands = ["make test".to_owned()];
        let paths = |files: &[&str]| files.iter().map(PathBuf::from).collect::<Vec<_>>();
        let all = ["Makefile", "checks/a.sh", "checks/b.sh", "rules.mk", "test.sh"];
        assert_eq!(find_defining_files(folder.path(), &commands), paths(&all));
        let missing = MissingDefinitions::find(folder.path(), &commands);
        assert_eq!(missing.additional, paths(&["local.mk"]));
        assert_eq!(missing.replacing, paths(&["GNUmakefile", "makefile", "test", "unit"]));
    }
}
