//! `unstuck init`: a project's first settings.

use serde_json::{Value, json};

use crate::place::Place;
use crate::program::unstuck;

#[test]
fn help_of_init() {
    insta::assert_snapshot!(unstuck(&["init", "--help"]));
}

/// The findings of `init`, by kind.
fn found(place: &Place) -> Value {
    let ran = place.unstuck(&["init", "--json"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{ran}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    report["found"].clone()
}

#[test]
fn in_a_fresh_folder_it_writes_everything_and_offers_a_repository() {
    let place = Place::with(&[]);
    let ran = place.unstuck(&["init"]);
    insta::assert_snapshot!(place.steady(&ran.to_string()));
    insta::assert_snapshot!("the_first_settings_of_a_fresh_folder", place.read("unstuck.toml"));
    insta::assert_snapshot!("the_example_task", place.read("tasks/000-example.md"));
    assert_eq!(place.read(".gitignore"), ".unstuck/\n");
}

#[test]
fn in_a_repository_with_an_agent_it_says_what_it_found() {
    let place = Place::repository(&[
        ("package.json", r#"{"scripts":{"test":"vitest run"},"devDependencies":{"vitest":"1"}}"#),
        ("package-lock.json", "{}"),
        ("tests/login.test.js", ""),
        (".env", "SECRET=canary-4f1d"),
        (".gitignore", ".env"),
    ]);
    place.has_agent();
    let mut init = place.command(&["init"]);
    let output = init.env("OPENAI_API_KEY", "canary-77aa").output().unwrap();
    let ran = crate::program::ran(output);
    insta::assert_snapshot!(place.steady(&ran.to_string()));
    insta::assert_snapshot!("the_first_settings_of_a_node_project", place.read("unstuck.toml"));
    let ignored = ".env\n.unstuck/\ncoverage/\ndist/\nnode_modules/\n";
    assert_eq!(place.read(".gitignore"), ignored);
    for (path, holds) in place.files() {
        let told = String::from_utf8_lossy(&holds).contains("canary");
        assert!(!told || path.ends_with(".env"), "{}", path.display());
    }
    assert!(!ran.stdout.contains("canary"), "{ran}");
}

#[test]
fn what_is_there_is_left_alone_and_a_second_time_changes_nothing() {
    let place = Place::repository(&[
        ("Cargo.toml", "[package]\nname = \"shop\"\n"),
        ("unstuck.toml", "[run]\njobs = 3\n"),
        ("tasks/001-mine.md", "# Mine\n"),
        (".gitignore", "/target\n/.unstuck/\n"),
    ]);
    let before = place.files();
    insta::assert_snapshot!(place.steady(&place.unstuck(&["init"]).to_string()));
    assert_eq!(place.files(), before);

    let fresh = Place::repository(&[("go.mod", "module shop\n")]);
    assert_eq!(fresh.unstuck(&["init"]).exit, 0);
    let once = fresh.files();
    let again = fresh.json(&["init", "--json"]);
    assert_eq!(fresh.files(), once);
    let did: Vec<&Value> =
        again["files"].as_array().unwrap().iter().map(|file| &file["did"]).collect();
    assert_eq!(did, ["left_alone"; 3]);
}

#[test]
fn written_anew_the_old_settings_are_kept_and_never_lost() {
    let place = Place::repository(&[("go.mod", "module shop\n"), ("unstuck.toml", "# mine\n")]);
    let settings = |place: &Place| place.json(&["init", "--force", "--json"])["files"][0].clone();
    let kept = |name: &str| json!({"path": "unstuck.toml", "did": "rewritten", "kept": name});
    assert_eq!(settings(&place), kept("unstuck.toml.bak"));
    assert_eq!(place.read("unstuck.toml.bak"), "# mine\n");
    assert!(place.read("unstuck.toml").contains("pre_commit = [\"go test ./...\"]"));
    assert_eq!(settings(&place)["did"], "left_alone", "it is as it would be written");
    place.write("unstuck.toml", "# mine again\n");
    assert_eq!(settings(&place), kept("unstuck.toml.bak.1"));
    assert_eq!(place.read("unstuck.toml.bak"), "# mine\n");
    assert_eq!(place.read("unstuck.toml.bak.1"), "# mine again\n");
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let place = Place::with(&[("tasks", "a file, where a folder is needed")]);
    let ran = place.unstuck(&["init"]).exits(78);
    assert!(ran.stderr.contains("/shop/tasks"), "{ran}");
}

const VITEST: (&str, &str) = ("package.json", r#"{"scripts":{"test":"vitest run"}}"#);
const NO_TEST: (&str, &str) =
    ("package.json", r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#);
const PYTEST: (&str, &str) = ("pyproject.toml", "[tool.pytest.ini_options]\n");

/// Files of a project; its language, its checks, and what a worktree of it needs.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a [&'a str], &'a [&'a str]);

#[test]
fn each_language_has_its_commands() {
    let cases: &[Case<'_>] = &[
        (&[("Cargo.toml", "[package]")], "Rust", &["cargo test"], &["cargo fetch"]),
        (&[("Cargo.toml", "[workspace]")], "Rust", &["cargo test --workspace"], &["cargo fetch"]),
        (&[VITEST, ("package-lock.json", "")], "Node.js", &["npm test"], &["npm ci"]),
        (
            &[VITEST, ("pnpm-lock.yaml", "")],
            "Node.js",
            &["pnpm test"],
            &["pnpm install --frozen-lockfile"],
        ),
        (
            &[VITEST, ("yarn.lock", "")],
            "Node.js",
            &["yarn test"],
            &["yarn install --frozen-lockfile"],
        ),
        (
            &[VITEST, ("yarn.lock", "__metadata:\n  version: 8\n")],
            "Node.js",
            &["yarn test"],
            &["yarn install --immutable"],
        ),
        (
            &[VITEST, ("bun.lock", "")],
            "Node.js",
            &["bun run test"],
            &["bun install --frozen-lockfile"],
        ),
        (&[VITEST], "Node.js", &["npm test"], &[]),
        (&[NO_TEST], "Node.js", &[], &[]),
        (&[("package.json", "{ broken")], "Node.js", &[], &[]),
        (&[("deno.json", "{}")], "Deno", &["deno test"], &[]),
        (&[PYTEST], "Python", &["python3 -m pytest"], &[]),
        (&[PYTEST, ("uv.lock", "")], "Python", &["uv run pytest"], &["uv sync --frozen"]),
        (
            &[PYTEST, ("poetry.lock", "")],
            "Python",
            &["poetry run pytest"],
            &["poetry install --no-interaction"],
        ),
        (
            &[("setup.py", ""), ("tests/conftest.py", "import pytest")],
            "Python",
            &["python3 -m pytest"],
            &[],
        ),
        (&[("pyproject.toml", "[project]")], "Python", &[], &[]),
        (
            &[("requirements.txt", "django"), ("manage.py", "")],
            "Python",
            &["python3 manage.py test"],
            &[],
        ),
        (&[("go.mod", "module a")], "Go", &["go test ./..."], &[]),
        (&[("go.mod", "module a"), ("go.sum", "")], "Go", &["go test ./..."], &["go mod download"]),
        (&[("pom.xml", "")], "Java", &["mvn --batch-mode test"], &[]),
        (&[("pom.xml", ""), ("mvnw", "")], "Java", &["./mvnw --batch-mode test"], &[]),
        (&[("build.gradle.kts", ""), ("gradlew", "")], "Java", &["./gradlew test"], &[]),
        (&[("build.gradle", "")], "Java", &["gradle test"], &[]),
        (&[("build.sbt", "")], "Scala", &["sbt test"], &[]),
        (&[("mix.exs", ""), ("mix.lock", "")], "Elixir", &["mix test"], &["mix deps.get"]),
        (
            &[("Gemfile", "gem 'rspec'"), ("Gemfile.lock", ""), ("spec/a_spec.rb", "")],
            "Ruby",
            &["bundle exec rspec"],
            &["bundle install"],
        ),
        (
            &[("Gemfile", ""), ("bin/rails", ""), ("test/a_test.rb", "")],
            "Ruby",
            &["bin/rails test"],
            &[],
        ),
        (
            &[("composer.json", r#"{"scripts":{"test":"phpunit"}}"#), ("composer.lock", "")],
            "PHP",
            &["composer test"],
            &["composer install --no-interaction"],
        ),
        (&[("composer.json", "{}"), ("phpunit.xml", "")], "PHP", &["vendor/bin/phpunit"], &[]),
        (&[("Shop.sln", "")], ".NET", &["dotnet test"], &[]),
        (&[("Package.swift", "")], "Swift", &["swift test"], &[]),
        (
            &[("pubspec.yaml", "flutter:\n"), ("test/a_test.dart", "")],
            "Dart",
            &["flutter test"],
            &["flutter pub get"],
        ),
        (&[("stack.yaml", "")], "Haskell", &["stack test"], &[]),
        (&[("shop.cabal", "")], "Haskell", &["cabal test all"], &[]),
        (&[("dune-project", "")], "OCaml", &["dune test"], &[]),
    ];
    for (files, language, checks, setup) in cases {
        let found = found(&Place::with(files));
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        assert_eq!(found["languages"], json!([language]), "{names:?}");
        assert_eq!(found["checks"], json!(checks), "{names:?}");
        assert_eq!(found["setup"], json!(setup), "{names:?}");
    }
}

/// Files, and the checks that are found in them.
type Target<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

#[test]
fn a_target_counts_where_no_language_has_a_command() {
    let makefile = ("Makefile", "all:\n\tcc main.c\n\ntest: all\n\t./run-tests\n");
    let justfile = ("justfile", "test filter='':\n    ./run-tests\n");
    let in_a_folder = ("app/Makefile", makefile.1);
    let cases: [Target<'_>; 6] = [
        (&[makefile], &["make test"]),
        (&[in_a_folder, ("README.md", "")], &["cd app && make test"]),
        (&[makefile, justfile], &["just test"]),
        (&[makefile, ("go.mod", "")], &["go test ./..."]),
        (&[makefile, NO_TEST], &["make test"]),
        (&[("Makefile", "all:\n")], &[]),
    ];
    for (files, checks) in cases {
        assert_eq!(found(&Place::with(files))["checks"], json!(checks), "{files:?}");
    }
}

#[test]
fn several_languages_are_tested_one_after_the_other() {
    let place = Place::with(&[("Cargo.toml", ""), VITEST, ("spec/a", ""), ("src/test/b", "")]);
    let found = found(&place);
    assert_eq!(found["languages"], json!(["Rust", "Node.js"]));
    assert_eq!(found["checks"], json!(["cargo test", "npm test"]));
    let tests = ["spec/**", "src/test/**", "**/*.spec.*", "**/*.test.*"];
    let kept = ["**/__snapshots__/**", "**/__tests__/**", "unstuck.toml"];
    assert_eq!(found["protect"], json!([&tests[..], &kept].concat()));
}

#[test]
fn what_tools_leave_is_ignored_from_then_on_and_that_is_said() {
    let open = Place::repository(&[("Cargo.toml", ""), (".gitignore", "*.log")]);
    let ran = open.unstuck(&["init"]);
    assert!(ran.stdout.contains("git ignores .unstuck/, target/ now"), "{ran}");
    assert_eq!(open.read(".gitignore"), "*.log\n.unstuck/\ntarget/\n");
    let closed = Place::repository(&[("Cargo.toml", ""), (".gitignore", "target/\n")]);
    assert_eq!(found(&closed)["not_ignored"], json!([]));
    let tracked = Place::repository(&[("package.json", "{}"), ("dist/index.js", "")]);
    let lines = json!(["coverage/", "node_modules/"]);
    assert_eq!(found(&tracked)["not_ignored"], lines, "what git tracks is no by-product");
    let new = Place::with(&[("pyproject.toml", ""), (".gitignore", "__pycache__/\n")]);
    assert_eq!(new.unstuck(&["init"]).exit, 0);
    assert_eq!(new.read(".gitignore").matches("__pycache__/").count(), 1);
}

/// Runs the scripted agent with the settings that `init` writes.
fn night(place: &Place, attempt: &str) -> crate::program::Ran {
    assert_eq!(place.unstuck(&["init"]).exit, 0);
    place.write("agent.toml", &format!("[[attempt]]\nsteps = [{attempt}]\n"));
    place.commit();
    let mut unstuck = place.command(&["run", "mend the page", "--max-wait", "0"]);
    unstuck.env("UNSTUCK_AGENT_PROVIDER", "script").env("UNSTUCK_AGENT_SCRIPT", "agent.toml");
    crate::program::ran(unstuck.output().unwrap())
}

// B19: the Makefile, the settings, a script of package.json: with the settings that init writes
#[test]
fn a_check_that_is_green_because_it_was_rewritten_does_not_ship() {
    let make = Place::repository(&[("Makefile", "test:\n\tread page < page.txt\n")]);
    // Runs the lines of the first target.
    make.program(
        "make",
        "{ read -r target; while read -r line; do eval \"$line\" || exit 2; done; } < Makefile",
    );
    let cheats = r#"{ write = "Makefile", text = "test:\n\ttrue\n" }, { write = "unstuck.toml", text = "[validate]\npre_commit = []\n" }, { write = "a", text = "x" }"#;
    let ran = night(&make, cheats);
    assert_ne!(ran.exit, 0, "{ran}");
    assert_eq!(make.git(&["branch", "--list", "unstuck/b0", "--no-merged", "main"]), "");

    let script = Place::repository(&[
        ("Makefile", "test:\n\tsh test.sh\n"),
        ("test.sh", "read page < page.txt\n"),
        ("ok", ""),
    ]);
    script.program("make", "if [ -e GNUmakefile ]; then exit 0; fi; exec sh test.sh");
    let cheats = r#"{ write = "test.sh", text = "exit 0\n" }, { write = "GNUmakefile", text = "test:\n" }, { write = "a", text = "x" }"#;
    let ran = night(&script, cheats);
    assert_ne!(ran.exit, 0, "{ran}");
    assert_eq!(script.git(&["branch", "--list", "unstuck/b0", "--no-merged", "main"]), "");

    let go = Place::repository(&[("go.mod", "module a\n"), ("a_test.go", "fails\n")]);
    go.program("go", "read -r line < a_test.go; case $line in fails) exit 1;; esac");
    let ran = night(&go, r#"{ write = "a_test.go", text = "" }, { write = "a.go", text = "x" }"#);
    assert_ne!(ran.exit, 0, "{ran}");

    let node = Place::repository(&[("package.json", r#"{"scripts":{"test":"sh real"}}"#)]);
    node.program("npm", "read manifest < package.json; case $manifest in *real*) exit 1;; esac");
    let cheats = r#"{ write = "package.json", text = "{\"scripts\":{\"test\":\"true\"}}" }"#;
    let ran = night(&node, cheats);
    assert_ne!(ran.exit, 0, "{ran}");
}

// B19: a file that the runner reads by itself, and that was not there
#[test]
fn a_new_file_that_changes_how_the_check_runs_is_asked_about() {
    let python = Place::repository(&[("pytest.ini", "[pytest]\n"), ("tests/test_a.py", "")]);
    python.program("python3", "if [ -e conftest.py ]; then exit 0; fi; exit 1");
    let ran =
        night(&python, r#"{ write = "conftest.py", text = "import os; os._exit(0)" }"#).exits(3);
    assert!(ran.stderr.contains("conftest.py"), "{ran}");
}

#[test]
fn a_pipeline_is_changed_only_with_a_persons_word() {
    let place = Place::with(&[(".github/workflows/ci.yml", ""), ("Makefile", "test:\n\ttrue\n")]);
    let found = found(&place);
    assert_eq!(found["ask_first"], json!([".github/workflows/**"]));
    assert_eq!(found["protect"], json!(["Makefile", "unstuck.toml"]));
    assert!(place.read("unstuck.toml").contains("ask_first = [\".github/workflows/**\"]"));
}

#[test]
fn how_the_folder_stands_to_git_is_told() {
    let new = Place::with(&[]);
    assert_eq!(found(&new)["git"], "none");
    new.git(&["init", "-q"]);
    assert_eq!(found(&new)["git"], "no_commit");
    let report = new.json(&["init", "--json"]);
    let next = json!([
        "git add -A && git commit -m 'First commit'",
        "unstuck doctor",
        "unstuck run tasks/ --dry-run"
    ]);
    assert_eq!(report["next"], next);
    new.without("git");
    assert_eq!(found(&new)["git"], "no_git");
    assert_eq!(found(&Place::repository(&[]))["git"], "ready");
}

// B53: package managers find a place to download to, and checks what they need
#[test]
fn what_is_downloaded_for_a_task_has_a_place_of_its_own() {
    let cases = [
        ("Cargo.toml", r#"private = ["~/.cargo/git", "~/.cargo/registry"]"#, false),
        ("pom.xml", r#"private = ["~/.m2/repository"]"#, true),
        ("package.json", "", false),
    ];
    for (file, private, downloads) in cases {
        let place = Place::with(&[(file, "")]);
        assert_eq!(place.unstuck(&["init"]).exit, 0);
        let settings = place.read("unstuck.toml");
        assert!(settings.contains(private), "{settings}");
        assert_eq!(settings.contains("[wall]"), !private.is_empty(), "{settings}");
        assert_eq!(settings.contains("\nnetwork = \"registries\"\n"), downloads, "{settings}");
    }
}

#[test]
fn what_it_wrote_is_what_a_run_goes_by() {
    let place = Place::repository(&[
        ("Cargo.toml", ""),
        (".gitignore", "/target\n"),
        ("tests/page.rs", "as it was\n"),
    ]);
    // The check of this project: a page, and tests that the agent did not touch.
    place.program(
        "cargo",
        "[ \"$1\" = fetch ] || read page < page.txt && read test < tests/page.rs && [ \"$test\" = 'as it was' ]",
    );
    assert_eq!(place.unstuck(&["init"]).exit, 0);
    place.write(
        "agent.toml",
        r#"[[attempt]]
steps = [
    { write = "page.txt", text = "hello\n" },
    { write = "tests/page.rs", text = "always green\n" },
]
"#,
    );
    place.commit();
    let agent = |args: &[&str]| {
        let mut unstuck = place.command(args);
        unstuck.env("UNSTUCK_AGENT_PROVIDER", "script").env("UNSTUCK_AGENT_SCRIPT", "agent.toml");
        crate::program::ran(unstuck.output().unwrap())
    };
    agent(&["doctor"]).exits(0);
    let planned = agent(&["run", "write the page", "--dry-run", "--json"]);
    let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!(planned[0]["checks"], json!(["cargo test"]));

    agent(&["run", "write the page"]).exits(0);
    assert_eq!(place.git(&["show", "unstuck/b0:page.txt"]), "hello\n");
    assert_eq!(place.git(&["show", "unstuck/b0:tests/page.rs"]), "as it was\n");
    assert_eq!(place.git(&["status", "--porcelain"]), "", "nothing of ours is seen by git");
}
