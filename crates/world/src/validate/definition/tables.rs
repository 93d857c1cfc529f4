//! Tables of the programs that check projects: the files they read, and the names of the files they
//! run.

/// Rows of programs and of files or patterns that belong to them.
pub(super) type ProgramTable = &'static [(&'static [&'static str], &'static [&'static str])];

/// Programs, and patterns of the files that they take as tests.
pub(super) const TESTS: ProgramTable = &[
    (&["hurl"], &["**/*.hurl"]),
    (&["newman"], &["**/*.postman_collection.json", "**/*.postman_environment.json"]),
    (&["bats"], &["**/*.bats"]),
    (&["opa", "conftest", "regal"], &["**/*_test.rego"]),
    (&["terraform", "tofu"], &["**/*.tftest.hcl"]),
    (&["goss", "dgoss"], &["**/goss*.yaml", "**/goss*.yml"]),
    (&["cypress"], &["cypress/**", "**/*.cy.*"]),
    (&["gauge"], &["specs/**"]),
    (
        &["behave", "cucumber", "cucumber-js", "cucumberjs", "godog"],
        &["features/**", "**/*.feature"],
    ),
    (&["robot", "pabot"], &["**/*.robot"]),
    (&["promtool"], &["**/*test*.yml", "**/*test*.yaml"]),
    (&["venom"], &["**/*.venom.yml", "**/*.venom.yaml"]),
    (&["busted"], &["**/*_spec.lua"]),
    (&["shellspec"], &["**/*_spec.sh"]),
    (&["helm"], &["**/tests/*_test.yaml"]),
    (&["forge"], &["**/*.t.sol"]),
    (&["molecule"], &["molecule/**"]),
    (&["swift"], &["Tests/**"]),
    (&["prove"], &["**/*.t"]),
    (&["ginkgo"], &["**/*_test.go"]),
    (&["rspec"], &["**/*_spec.rb"]),
];

/// Programs, and the files of a project that configure them. The program reads them by itself, so a
/// new one counts as well.
pub(super) const FILES: ProgramTable = &[
    (&["make", "gmake"], &["GNUmakefile", "makefile", "Makefile"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml"]),
    (&["rake"], &["Rakefile"]),
    (&["tox"], &["tox.ini"]),
    (&["nox"], &["noxfile.py"]),
    (
        &["pytest", "py.test"],
        &["pytest.ini", ".pytest.ini", "tox.ini", "conftest.py", "**/conftest.py"],
    ),
    (
        &["python", "python3", "pytest", "py.test", "tox", "nox"],
        &[
            "sitecustomize.py", "sitecustomize/**", "usercustomize.py", "usercustomize/**",
            "unittest.py", "unittest/**", "pytest.py", "pytest/**",
        ],
    ),
    (&["python", "python3", "pytest", "py.test", "tox", "nox"], STANDARD_MODULES),
    (&["npm", "pnpm", "yarn", "bun", "npx"], &[".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml"]),
    (
        &["jest", "npm", "pnpm", "yarn", "bun", "npx"],
        &[
            "jest.config.js", "jest.config.ts", "jest.config.mjs", "jest.config.cjs",
            "jest.config.json",
        ],
    ),
    (
        &["vitest", "npm", "pnpm", "yarn", "bun", "npx"],
        &[
            "vitest.config.js", "vitest.config.ts", "vitest.config.mjs", "vitest.config.mts",
            "vitest.workspace.js", "vitest.workspace.ts",
        ],
    ),
    (
        &["mocha", "npm", "pnpm", "yarn", "bun", "npx"],
        &[
            ".mocharc.js", ".mocharc.cjs", ".mocharc.json", ".mocharc.jsonc", ".mocharc.yml",
            ".mocharc.yaml",
        ],
    ),
    (&["cargo"], &[".cargo/config.toml", ".cargo/config", ".config/nextest.toml"]),
    (&["mvn", "mvnw"], &[".mvn/jvm.config", ".mvn/maven.config", ".mvn/extensions.xml"]),
    (&["rspec"], &[".rspec"]),
    (&["phpunit", "composer"], &["phpunit.xml", "phpunit.xml.dist"]),
    (&["ruff"], &["ruff.toml", ".ruff.toml"]),
    (&["flake8"], &[".flake8"]),
    (&["pylint"], &[".pylintrc", "pylintrc"]),
    (&["mypy"], &["mypy.ini", ".mypy.ini"]),
    (
        &["eslint"],
        &[
            ".eslintrc", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml",
            ".eslintrc.yaml", "eslint.config.js", "eslint.config.mjs", "eslint.config.cjs",
            ".eslintignore",
        ],
    ),
    (&["playwright"], &["playwright.config.js", "playwright.config.ts"]),
    (&["biome"], &["biome.json", "biome.jsonc"]),
    (&["tsc", "vue-tsc"], &["tsconfig.json"]),
    (&["golangci-lint"], &[".golangci.yml", ".golangci.yaml", ".golangci.toml"]),
    (&["rubocop"], &[".rubocop.yml"]),
    (&["phpstan"], &["phpstan.neon", "phpstan.neon.dist"]),
    (&["shellcheck"], &[".shellcheckrc"]),
    (&["clippy"], &["clippy.toml", ".clippy.toml"]),
    (
        &["prettier"],
        &[
            ".prettierrc", ".prettierrc.json", ".prettierrc.json5", ".prettierrc.yml",
            ".prettierrc.yaml", ".prettierrc.js", ".prettierrc.cjs", ".prettierrc.mjs",
            ".prettierrc.toml", "prettier.config.js", "prettier.config.cjs", "prettier.config.mjs",
            ".prettierignore", ".editorconfig",
        ],
    ),
    (
        &["stylelint"],
        &[
            ".stylelintrc", ".stylelintrc.json", ".stylelintrc.yml", ".stylelintrc.yaml",
            ".stylelintrc.js", ".stylelintrc.cjs", ".stylelintrc.mjs", "stylelint.config.js",
            "stylelint.config.cjs", "stylelint.config.mjs", ".stylelintignore",
        ],
    ),
    (
        &["markdownlint", "markdownlint-cli2"],
        &[
            ".markdownlint.json", ".markdownlint.jsonc", ".markdownlint.yml", ".markdownlint.yaml",
            ".markdownlintrc", ".markdownlintignore", ".markdownlint-cli2.jsonc",
            ".markdownlint-cli2.yaml",
        ],
    ),
    (
        &["cspell"],
        &[
            "cspell.json", ".cspell.json", "cspell.config.json", "cspell.config.yaml",
            "cspell.yaml", "cspell.config.js", "cspell.config.cjs",
        ],
    ),
    (&["oxlint"], &[".oxlintrc.json"]),
    (&["knip"], &["knip.json", "knip.jsonc", "knip.ts"]),
    (&["deno"], &["deno.json", "deno.jsonc"]),
    (&["pyright", "basedpyright"], &["pyrightconfig.json"]),
    (&["pyre"], &[".pyre_configuration"]),
    (&["bandit"], &[".bandit"]),
    (&["coverage", "pytest", "py.test"], &[".coveragerc"]),
    (&["isort"], &[".isort.cfg"]),
    (&["yapf"], &[".style.yapf", ".yapfignore"]),
    (&["pre-commit"], &[".pre-commit-config.yaml"]),
    (&["codespell"], &[".codespellrc"]),
    (&["typos"], &["typos.toml", "_typos.toml", ".typos.toml"]),
    (&["vale"], &[".vale.ini"]),
    (&["yamllint"], &[".yamllint", ".yamllint.yml", ".yamllint.yaml"]),
    (&["ansible-lint"], &[".ansible-lint", ".ansible-lint.yml"]),
    (&["actionlint"], &[".github/actionlint.yaml", ".github/actionlint.yml"]),
    (&["hadolint"], &[".hadolint.yaml", ".hadolint.yml"]),
    (&["tflint"], &[".tflint.hcl"]),
    (&["checkov"], &[".checkov.yml", ".checkov.yaml"]),
    (&["gitleaks"], &[".gitleaks.toml", ".gitleaksignore"]),
    (&["trivy"], &["trivy.yaml", ".trivyignore"]),
    (&["semgrep"], &[".semgrep.yml", ".semgrepignore"]),
    (&["buf"], &["buf.yaml", "buf.work.yaml"]),
    (&["staticcheck"], &["staticcheck.conf"]),
    (&["rustfmt", "fmt"], &["rustfmt.toml", ".rustfmt.toml"]),
    (&["cargo-deny", "deny"], &["deny.toml"]),
    (&["clang-tidy"], &[".clang-tidy"]),
    (&["clang-format"], &[".clang-format", ".clang-format-ignore"]),
    (&["cppcheck"], &[".cppcheck"]),
    (&["cpplint"], &["CPPLINT.cfg"]),
    (&["swiftlint"], &[".swiftlint.yml"]),
    (&["swiftformat"], &[".swiftformat"]),
    (&["ktlint"], &[".editorconfig"]),
    (&["detekt"], &["detekt.yml", "config/detekt/detekt.yml"]),
    (&["scalafmt"], &[".scalafmt.conf"]),
    (&["credo", "mix"], &[".credo.exs", ".formatter.exs"]),
    (&["psalm"], &["psalm.xml", "psalm.xml.dist"]),
    (&["phpcs"], &["phpcs.xml", "phpcs.xml.dist", ".phpcs.xml"]),
    (&["php-cs-fixer"], &[".php-cs-fixer.php", ".php-cs-fixer.dist.php"]),
    (&["standardrb"], &[".standard.yml"]),
    (&["luacheck"], &[".luacheckrc"]),
    (&["sqlfluff"], &[".sqlfluff", ".sqlfluffignore"]),
    (&["spectral"], &[".spectral.yaml", ".spectral.yml", ".spectral.json"]),
    (&["cypress"], &["cypress.config.js", "cypress.config.ts", "cypress.json"]),
    (&["karma"], &["karma.conf.js"]),
    (&["nyc", "c8"], &[".nycrc", ".nycrc.json", ".c8rc.json"]),
    (&["lychee"], &["lychee.toml", ".lycheeignore"]),
];
/// Modules that test runners load: a file of that name in the root is loaded instead.
pub(super) const STANDARD_MODULES: &[&str] = &[
    "argparse.py", "ast.py", "collections.py", "contextlib.py", "copy.py", "datetime.py",
    "difflib.py", "dis.py", "enum.py", "fnmatch.py", "functools.py", "gc.py", "glob.py",
    "importlib.py", "inspect.py", "io.py", "itertools.py", "json.py", "keyword.py", "linecache.py",
    "logging.py", "operator.py", "os.py", "pathlib.py", "pickle.py", "platform.py", "pprint.py",
    "re.py", "runpy.py", "shutil.py", "signal.py", "stat.py", "string.py", "struct.py",
    "subprocess.py", "sys.py", "tempfile.py", "textwrap.py", "threading.py", "time.py", "token.py",
    "tokenize.py", "traceback.py", "types.py", "typing.py", "warnings.py", "weakref.py",
];
/// Maximum number of missing Go modules that are listed.
pub(super) const GO_FOLDERS_MAX: usize = 500;
/// Folders whose scripts are tools of the project, not its work.
pub(super) const TOOL_FOLDERS: [&str; 5] = ["tools", "scripts", "script", "hack", "ci"];
pub(super) const INTERPRETERS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "ksh", ".", "source", "python", "python3", "node", "ruby", "perl",
    "php", "bats",
];
/// Parts of a name that say that a file checks something.
pub(super) const CHECKING: [&str; 9] =
    ["check", "test", "spec", "verify", "valid", "lint", "assert", "expect", "gradlew"];
pub(super) const CHECKING_WHOLE: [&str; 4] = ["ci", "qa", "mvnw", "gate"];

/// Package managers that run scripts of a manifest, and the manifest.
pub(super) const MANAGERS: &[(&str, &str)] = &[
    ("npm", "package.json"),
    ("pnpm", "package.json"),
    ("yarn", "package.json"),
    ("bun", "package.json"),
    ("composer", "composer.json"),
];

/// Files whose indented lines are commands.
pub(super) const RECIPES: [&str; 6] =
    ["GNUmakefile", "makefile", "Makefile", "justfile", "Justfile", ".justfile"];
/// Keys of a manifest that configure test runners.
pub(super) const RUNNERS: [&str; 4] = ["jest", "vitest", "mocha", "ava"];
/// Maximum number of files that are followed, and maximum size of one: a longer one is no script.
pub(super) const FOLLOWED_MAX: usize = 64;
pub(super) const FOLLOWED_BYTES_MAX: u64 = 256 * 1_024;
