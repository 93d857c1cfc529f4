//! Tables of languages and their tools: the signs, and the commands.
//!
//! The first matching row of a language counts. A command is proposed only if its signs are present; a
//! guess that is red, or green for no reason, is worse than none.

use super::when::ProjectSign::{self, Ending, InVenv, Inside, Says, Target, TestScript, There};

/// A language, or the tool by which it is known, and its signs, any of which is enough.
pub(super) struct Language {
    pub(super) name: &'static str,
    pub(super) signs: &'static [ProjectSign],
}

/// A command, or a folder, that belongs to a language if all signs are present.
pub(super) struct LanguageRow {
    pub(super) language: &'static str,
    pub(super) when: &'static [ProjectSign],
    pub(super) what: &'static str,
}

const fn language(name: &'static str, signs: &'static [ProjectSign]) -> Language {
    Language { name, signs }
}

const fn row(
    language: &'static str,
    when: &'static [ProjectSign],
    what: &'static str,
) -> LanguageRow {
    LanguageRow { language, when, what }
}

const RUST: &str = "Rust";
const NODE: &str = "Node.js";
const DENO: &str = "Deno";
const PYTHON: &str = "Python";
const GO: &str = "Go";
const JVM: &str = "Java";
const SCALA: &str = "Scala";
const ELIXIR: &str = "Elixir";
const RUBY: &str = "Ruby";
const PHP: &str = "PHP";
const DOTNET: &str = ".NET";
const SWIFT: &str = "Swift";
const DART: &str = "Dart";
const ZIG: &str = "Zig";
const HASKELL: &str = "Haskell";
const OCAML: &str = "OCaml";
const NATIVE: &str = "C or C++";

pub(super) const LANGUAGES: &[Language] = &[
    language(RUST, &[There("Cargo.toml")]),
    language(NODE, &[There("package.json")]),
    language(DENO, &[There("deno.json"), There("deno.jsonc")]),
    language(
        PYTHON,
        &[
            There("pyproject.toml"),
            There("setup.py"),
            There("setup.cfg"),
            There("requirements.txt"),
            There("Pipfile"),
            There("pytest.ini"),
            There("tox.ini"),
        ],
    ),
    language(GO, &[There("go.mod")]),
    language(JVM, &[There("pom.xml"), There("build.gradle"), There("build.gradle.kts")]),
    language(SCALA, &[There("build.sbt")]),
    language(ELIXIR, &[There("mix.exs")]),
    language(RUBY, &[There("Gemfile")]),
    language(PHP, &[There("composer.json")]),
    language(DOTNET, &[Ending(".sln"), Ending(".slnx"), Ending(".csproj"), Ending(".fsproj")]),
    language(SWIFT, &[There("Package.swift")]),
    language(DART, &[There("pubspec.yaml")]),
    language(ZIG, &[There("build.zig")]),
    language(HASKELL, &[There("stack.yaml"), There("cabal.project"), Ending(".cabal")]),
    language(OCAML, &[There("dune-project")]),
    language(NATIVE, &[There("CMakeLists.txt"), There("meson.build")]),
];

const PYTEST: ProjectSign = Says(
    &[
        "pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini", "conftest.py", "tests/conftest.py",
        "requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "requirements/dev.txt",
        "Pipfile",
    ],
    "pytest",
);
/// The tests run with the packages of `.venv`, so each worktree needs one of its own.
const VENV: ProjectSign = InVenv("pytest");
const RUST_WORKSPACE: ProjectSign = Says(&["Cargo.toml"], "[workspace]");
const NODE_WORKSPACE: ProjectSign = Says(&["package.json"], "\"workspaces\"");
const NODE_TEST: ProjectSign = TestScript("package.json");
const NODE_NEEDS: ProjectSign = Says(&["package.json"], "ependencies\"");
const FLUTTER: ProjectSign = Says(&["pubspec.yaml"], "flutter:");

pub(super) const CHECKS: &[LanguageRow] = &[
    // Without `--workspace` only the package at the root is tested.
    row(RUST, &[RUST_WORKSPACE], "cargo test --workspace"),
    row(RUST, &[], "cargo test"),
    row(NODE, &[NODE_TEST, There("pnpm-lock.yaml")], "pnpm test"),
    row(NODE, &[NODE_TEST, There("yarn.lock")], "yarn test"),
    row(NODE, &[NODE_TEST, There("bun.lock")], "bun run test"),
    row(NODE, &[NODE_TEST, There("bun.lockb")], "bun run test"),
    row(NODE, &[NODE_TEST], "npm test"),
    row(DENO, &[], "deno test"),
    row(PYTHON, &[PYTEST, There("uv.lock")], "uv run pytest"),
    row(PYTHON, &[PYTEST, There("poetry.lock")], "poetry run pytest"),
    row(PYTHON, &[PYTEST, There("pdm.lock")], "pdm run pytest"),
    row(PYTHON, &[PYTEST, There("Pipfile.lock")], "pipenv run pytest"),
    row(PYTHON, &[PYTEST, VENV], ".venv/bin/python -m pytest"),
    row(PYTHON, &[PYTEST], "python3 -m pytest"),
    row(PYTHON, &[There("manage.py")], "python3 manage.py test"),
    row(
        PYTHON,
        &[There("tests/__init__.py"), Inside("tests", ".py", "unittest")],
        "python3 -m unittest discover -s tests -t .",
    ),
    row(PYTHON, &[Inside("tests", ".py", "unittest")], "python3 -m unittest discover -s tests"),
    row(GO, &[], "go test ./..."),
    row(JVM, &[There("mvnw")], "./mvnw --batch-mode test"),
    row(JVM, &[There("pom.xml")], "mvn --batch-mode test"),
    row(JVM, &[There("gradlew")], "./gradlew test"),
    row(JVM, &[], "gradle test"),
    row(SCALA, &[], "sbt test"),
    row(ELIXIR, &[], "mix test"),
    row(RUBY, &[There("spec"), Says(&["Gemfile"], "rspec")], "bundle exec rspec"),
    row(RUBY, &[There("bin/rails"), There("test")], "bin/rails test"),
    row(RUBY, &[There("test"), Says(&["Rakefile"], "test")], "bundle exec rake test"),
    row(PHP, &[TestScript("composer.json")], "composer test"),
    row(PHP, &[There("phpunit.xml")], "vendor/bin/phpunit"),
    row(PHP, &[There("phpunit.xml.dist")], "vendor/bin/phpunit"),
    row(DOTNET, &[], "dotnet test"),
    row(SWIFT, &[], "swift test"),
    row(DART, &[There("test"), FLUTTER], "flutter test"),
    row(DART, &[There("test")], "dart test"),
    row(ZIG, &[Says(&["build.zig"], "\"test\"")], "zig build test"),
    row(HASKELL, &[There("stack.yaml")], "stack test"),
    row(HASKELL, &[], "cabal test all"),
    row(OCAML, &[], "dune test"),
    row(
        NATIVE,
        &[Says(&["CMakeLists.txt"], "enable_testing")],
        "cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure",
    ),
    row(NATIVE, &[Says(&["meson.build"], "test(")], "meson setup build && meson test -C build"),
];

/// Test targets for projects without a command of a language: a target of that name was written for this
/// purpose.
pub(super) const TARGETS: &[(ProjectSign, &str)] = &[
    (Target(&["justfile", "Justfile", ".justfile"], "test"), "just test"),
    (Target(&["Makefile", "makefile", "GNUmakefile"], "test"), "make test"),
    (Target(&["Makefile", "makefile", "GNUmakefile"], "check"), "make check"),
];

/// Commands that prepare a new worktree. They change no file that git tracks, which would look like a
/// change by an agent.
pub(super) const SETUP: &[LanguageRow] = &[
    row(RUST, &[], "cargo fetch"),
    row(NODE, &[There("pnpm-lock.yaml")], "pnpm install --frozen-lockfile"),
    // Yarn refuses the older option since its second version.
    row(NODE, &[Says(&["yarn.lock"], "__metadata:")], "yarn install --immutable"),
    row(NODE, &[There("yarn.lock")], "yarn install --frozen-lockfile"),
    row(NODE, &[There("bun.lock")], "bun install --frozen-lockfile"),
    row(NODE, &[There("bun.lockb")], "bun install --frozen-lockfile"),
    row(NODE, &[There("package-lock.json")], "npm ci"),
    row(NODE, &[There("npm-shrinkwrap.json")], "npm ci"),
    row(NODE, &[NODE_NEEDS], "npm install --no-package-lock"),
    row(PYTHON, &[There("uv.lock")], "uv sync --frozen"),
    row(PYTHON, &[There("poetry.lock")], "poetry install --no-interaction"),
    row(PYTHON, &[There("pdm.lock")], "pdm sync"),
    row(PYTHON, &[There("Pipfile.lock")], "pipenv sync --dev"),
    row(
        PYTHON,
        &[VENV, There("requirements-dev.txt")],
        "python3 -m venv .venv && .venv/bin/pip install -q -r requirements-dev.txt pytest",
    ),
    row(
        PYTHON,
        &[VENV, There("requirements.txt")],
        "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt pytest",
    ),
    row(
        PYTHON,
        &[VENV, There("pyproject.toml")],
        "python3 -m venv .venv && .venv/bin/pip install -q -e . pytest",
    ),
    row(
        PYTHON,
        &[VENV, There("setup.py")],
        "python3 -m venv .venv && .venv/bin/pip install -q -e . pytest",
    ),
    row(GO, &[There("go.sum")], "go mod download"),
    row(ELIXIR, &[There("mix.lock")], "mix deps.get"),
    row(RUBY, &[There("Gemfile.lock")], "bundle install"),
    row(PHP, &[There("composer.lock")], "composer install --no-interaction"),
    row(DART, &[FLUTTER], "flutter pub get"),
    row(DART, &[], "dart pub get"),
];

/// Folders to which these commands download and from which checks read. Each task has its own, so that an
/// agent can add to it and nothing of it reaches the person's.
pub(super) const DOWNLOADS: &[LanguageRow] = &[
    row(RUST, &[], "~/.cargo/git"),
    row(RUST, &[], "~/.cargo/registry"),
    row(GO, &[There("go.sum")], "~/go/pkg"),
    row(JVM, &[There("pom.xml")], "~/.m2/repository"),
    row(DOTNET, &[], "~/.nuget/packages"),
];

/// Languages whose checks download their dependencies themselves.
pub(super) const DOWNLOADING_CHECKS: &[&str] = &[JVM, SCALA, DOTNET];

/// By-products of these commands and of the tests, as lines for `.gitignore`.
pub(super) const BY_PRODUCTS: &[LanguageRow] = &[
    row(RUST, &[], "target/"),
    row(NODE, &[], "node_modules/"),
    row(NODE, &[], "dist/"),
    row(NODE, &[], "coverage/"),
    row(PYTHON, &[], "__pycache__/"),
    row(PYTHON, &[], ".venv/"),
    row(PYTHON, &[], ".pytest_cache/"),
    row(PYTHON, &[], "dist/"),
    row(PYTHON, &[], "*.egg-info/"),
    row(PYTHON, &[], ".coverage"),
    row(PYTHON, &[], "htmlcov/"),
    row(JVM, &[There("pom.xml")], "target/"),
    row(JVM, &[There("build.gradle")], "build/"),
    row(JVM, &[There("build.gradle.kts")], "build/"),
    row(JVM, &[There("build.gradle")], ".gradle/"),
    row(JVM, &[There("build.gradle.kts")], ".gradle/"),
    row(SCALA, &[], "target/"),
    row(ELIXIR, &[], "_build/"),
    row(ELIXIR, &[], "deps/"),
    row(RUBY, &[], "coverage/"),
    row(PHP, &[], "vendor/"),
    row(DOTNET, &[], "bin/"),
    row(DOTNET, &[], "obj/"),
    row(SWIFT, &[], ".build/"),
    row(DART, &[], ".dart_tool/"),
    row(ZIG, &[], ".zig-cache/"),
    row(ZIG, &[], "zig-out/"),
    row(HASKELL, &[There("stack.yaml")], ".stack-work/"),
    row(HASKELL, &[], "dist-newstyle/"),
    row(OCAML, &[], "_build/"),
    row(NATIVE, &[], "build/"),
];

/// Files that determine what runs elsewhere with credentials of its own: a person is asked before a change.
pub(super) const PIPELINES: &[&str] = &[
    ".github/workflows/**", ".circleci/**", ".gitlab-ci.yml", "Jenkinsfile", "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
];

/// Files with tests beside the code, by the names that the languages' tools look for: protected even before
/// there is one.
pub(super) const TEST_FILES: &[LanguageRow] = &[
    row(RUST, &[RUST_WORKSPACE], "**/tests/**"),
    row(RUST, &[Says(&["Cargo.toml"], "insta")], "**/snapshots/*.snap"),
    row(NODE, &[NODE_WORKSPACE], "**/test/**"),
    row(NODE, &[NODE_WORKSPACE], "**/tests/**"),
    row(NODE, &[There("pnpm-workspace.yaml")], "**/test/**"),
    row(NODE, &[There("pnpm-workspace.yaml")], "**/tests/**"),
    row(NODE, &[], "**/*.test.*"),
    row(NODE, &[], "**/*.spec.*"),
    row(NODE, &[], "**/__tests__/**"),
    row(NODE, &[], "**/__snapshots__/**"),
    row(DENO, &[], "**/*_test.*"),
    row(PYTHON, &[], "**/test_*.py"),
    row(PYTHON, &[], "**/*_test.py"),
    row(GO, &[], "**/*_test.go"),
    row(GO, &[], "**/testdata/**"),
    row(JVM, &[], "**/src/test/**"),
    row(ELIXIR, &[], "**/*_test.exs"),
    row(RUBY, &[], "**/*_spec.rb"),
    row(RUBY, &[], "**/*_test.rb"),
    row(PHP, &[], "**/*Test.php"),
    row(DOTNET, &[], "**/*Test.cs"),
    row(DOTNET, &[], "**/*Tests.cs"),
    row(DART, &[], "**/*_test.dart"),
];

/// Paths that only the person's own tree has, and that may be useful in worktrees as well. They are
/// proposed, not set: a shared build folder lets two tasks test each other's programs, and local settings
/// may hold secrets.
pub(super) const SHAREABLE: &[(ProjectSign, &str)] =
    &[(There("Cargo.toml"), "target"), (There(".env"), ".env")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_belongs_to_a_language_and_can_be_reached() {
        for table in [CHECKS, SETUP] {
            for (at, row) in table.iter().enumerate() {
                let known = LANGUAGES.iter().any(|language| language.name == row.language);
                assert!(known, "{}", row.language);
                let before = &table[..at];
                let closed = |before: &LanguageRow| {
                    before.language == row.language && before.when.is_empty()
                };
                assert!(!before.iter().any(closed), "nothing leads to {}", row.what);
            }
        }
    }
}
