//! Finds packages that a check needs and that are not installed, in the output of the check.
//!
//! A module that the project does not have yet is another matter: it may be an agent's task to
//! write it. So a name counts as a package only if the project declares it, or if it is a
//! well-known one.

use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::INSTALLED;

/// Files in which Python projects declare their packages.
const PYTHON_FILES: [&str; 5] =
    ["pyproject.toml", "setup.cfg", "setup.py", "Pipfile", "environment.yml"];
/// Maximum number of entries of a folder that are looked at.
const ENTRIES_MAX: usize = 1_000;
/// Maximum size of such a file, in bytes.
const FILE_BYTES_MAX: u64 = 1_024 * 1_024;

/// Widely used Python packages, by the name that they are imported by.
const PYTHON_PACKAGES: [&str; 40] = [
    "aiohttp", "attr", "boto3", "bs4", "celery", "click", "cryptography", "dateutil", "django",
    "dotenv", "fastapi", "flask", "httpx", "hypothesis", "jinja2", "jwt", "lxml", "matplotlib",
    "mock", "networkx", "nose", "numpy", "openai", "pandas", "psycopg2", "pydantic", "pytest",
    "redis", "requests", "rich", "scipy", "setuptools", "six", "sklearn", "sqlalchemy", "tomli",
    "torch", "tqdm", "urllib3", "yaml",
];
/// Packages that are installed under another name than they are imported by.
const PYTHON_NAMES: [(&str, &str); 9] = [
    ("attr", "attrs"),
    ("bs4", "beautifulsoup4"),
    ("dateutil", "python-dateutil"),
    ("dotenv", "python-dotenv"),
    ("jwt", "pyjwt"),
    ("pil", "pillow"),
    ("psycopg2", "psycopg2-binary"),
    ("sklearn", "scikit-learn"),
    ("yaml", "pyyaml"),
];

/// Programs of the machine or of setup, which no task is to write even if it names them.
const TOOLS: [&str; 32] = [
    "ava", "black", "bundle", "cargo", "cmake", "composer", "coverage", "ctest", "deno", "docker",
    "dotnet", "eslint", "flake8", "go", "gradle", "jest", "mocha", "mvn", "mypy", "node", "nox",
    "npm", "npx", "phpunit", "pnpm", "prettier", "rspec", "ruff", "tox", "tsc", "vitest", "yarn",
];

/// Messages of tools about packages that are not installed, for any project.
const UNINSTALLED: [&str; 5] = [
    "in locally installed gems",
    "run `bundle install`",
    "no required module provides package",
    "missing go.sum entry",
    "vendor/autoload.php",
];

/// Messages of tools about a program or a service of the machine that they need, with its name.
const NEEDED: [(&str, &str); 8] = [
    ("Please run: npx playwright install", "a browser for Playwright (`npx playwright install`)"),
    (
        "npx playwright install-deps",
        "what the browsers of Playwright need (`npx playwright install-deps`)",
    ),
    ("Could not find Chrome (ver.", "a browser for Puppeteer (`npx puppeteer browsers install`)"),
    ("Cypress by running: cypress install", "the program of Cypress (`npx cypress install`)"),
    ("Please reinstall Cypress", "the program of Cypress (`npx cypress install`)"),
    ("Cannot connect to the Docker daemon", "a running Docker"),
    ("Could not find a valid Docker environment", "a running Docker"),
    ("Cannot connect to Podman", "a running Podman"),
];

/// Returns the package that a check in the folder `root` misses, as its output names it.
pub(super) fn find_missing_package(output: &str, root: &Path) -> Option<String> {
    output.lines().find_map(|line| {
        find_missing_python(line, root).or_else(|| find_missing_node(line, root)).or_else(|| {
            let said = UNINSTALLED.iter().any(|said| line.contains(said));
            said.then(|| line.trim().to_owned())
        })
    })
}

/// Returns the program or service of the machine that a tool of a check needs, as a part of a sentence.
pub(super) fn find_needed_of_machine(output: &str) -> Option<&'static str> {
    NEEDED.iter().find(|(said, _)| output.contains(said)).map(|(_, needed)| *needed)
}

/// Parses `ModuleNotFoundError: No module named 'requests'`.
fn find_missing_python(line: &str, root: &Path) -> Option<String> {
    let (_, name) = line.split_once("ModuleNotFoundError: No module named ")?;
    let module = name.trim().trim_matches(['\'', '"']).split('.').next()?;
    let own = is_own_module(module, root);
    let known = module.to_ascii_lowercase();
    let installed_as = PYTHON_NAMES.iter().find(|(imported, _)| *imported == known);
    let installed_as = installed_as.map_or(known.as_str(), |(_, name)| name);
    let is_package = PYTHON_PACKAGES.contains(&known.as_str())
        || find_manifests(root, is_python_manifest)
            .iter()
            .any(|file| declares_package(file, installed_as));
    (!own && is_package).then(|| module.to_owned())
}

/// Returns whether a program or module is a well-known tool.
pub(super) fn is_known_tool(name: &str) -> bool {
    TOOLS.contains(&name) || PYTHON_PACKAGES.contains(&name)
}

/// Returns whether the project at `root` has a module of this name.
pub(super) fn is_own_module(module: &str, root: &Path) -> bool {
    let file = format!("{module}.py");
    let mut folders = list_package_folders(root);
    folders.push(root.to_owned());
    folders
        .iter()
        .flat_map(|folder| [folder.clone(), folder.join("src")])
        .any(|folder| folder.join(module).exists() || folder.join(&file).exists())
}

/// Parses `Error: Cannot find module 'express'` and
/// `Cannot find package 'express' imported from …`. A name without a leading dot or slash is a
/// package, and the project's own are declared as well.
fn find_missing_node(line: &str, root: &Path) -> Option<String> {
    let said = ["Cannot find module ", "Cannot find package "];
    let rest = said.iter().find_map(|said| line.split_once(said).map(|(_, rest)| rest))?;
    let quote = rest.chars().next().filter(|first| matches!(first, '\'' | '"'))?;
    let name = rest[1..].split(quote).next()?;
    let scoped = name.starts_with('@');
    let package: Vec<&str> = name.split('/').take(if scoped { 2 } else { 1 }).collect();
    let package = package.join("/");
    let is_path = package.is_empty() || name.starts_with(['.', '/']);
    let declares = || {
        let manifests = find_manifests(root, |name| name == "package.json");
        manifests.iter().any(|file| declares_package(file, &package))
    };
    (!is_path && declares()).then_some(package)
}

/// Returns whether a Python project declares packages in a file of this name.
fn is_python_manifest(name: &str) -> bool {
    let rest = name.strip_prefix("requirements");
    let is_list = rest.is_some_and(|rest| [".txt", ".in"].iter().any(|end| rest.ends_with(end)));
    is_list || PYTHON_FILES.contains(&name)
}

/// Returns the manifests in the folder `root`, in its `requirements` folder and in the folders one level below,
/// where the packages of a repository have them.
fn find_manifests(root: &Path, is_manifest: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    folders.extend(list_package_folders(root));
    for folder in folders {
        let is_requirements = folder.file_name().is_some_and(|name| name == "requirements");
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten().take(ENTRIES_MAX) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // `requirements/dev.txt`
            let is_list =
                is_requirements && name.ends_with(".txt") && is_manifest("requirements.txt");
            if is_manifest(&name) || is_list {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Returns the folders one level below `root`, except hidden ones and those that tools fill.
fn list_package_folders(root: &Path) -> Vec<PathBuf> {
    let skips = |name: &str| {
        name.starts_with('.') || INSTALLED.contains(&&*format!("{name}/")) || name == "target"
    };
    let entries = fs::read_dir(root).into_iter().flatten().flatten().take(ENTRIES_MAX);
    let folders = entries.filter(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && !skips(&entry.file_name().to_string_lossy())
    });
    folders.map(|entry| entry.path()).collect()
}

/// Returns whether a file holds a name as a whole word, regardless of case and separators.
fn declares_package(file: &Path, name: &str) -> bool {
    let small = fs::metadata(file).is_ok_and(|found| found.len() <= FILE_BYTES_MAX);
    let Some(text) = small.then(|| fs::read_to_string(file).ok()).flatten() else { return false };
    let text = normalize_name(&text);
    let name = normalize_name(name);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '/' | '@');
    text.match_indices(&name).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
    })
}

fn normalize_name(text: &str) -> String {
    text.to_ascii_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of the project by name, the output of a check, and the expected missing package.
    type Case<'a> = (&'a [(&'a str, &'a str)], String, Option<&'a str>);

    fn missing(files: &[(&str, &str)], output: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            fs::write(folder.path().join(name), text).unwrap();
        }
        find_missing_package(output, folder.path())
    }

    #[test]
    fn what_a_tool_needs_of_the_machine_has_a_name() {
        let said = "Error: browserType.launch: Executable doesn't exist at /home/a/chrome\n\
                    ║ Please run: npx playwright install ║";
        let named = find_needed_of_machine(said).unwrap_or_default();
        assert!(named.contains("npx playwright install"), "{named}");
        assert_eq!(find_needed_of_machine("expected the docker daemon to answer"), None);
    }

    #[test]
    fn a_package_is_told_from_a_module_that_is_to_be_written() {
        let python = |name: &str| format!("E   ModuleNotFoundError: No module named '{name}'\n");
        let node = |name: &str| format!("Error: Cannot find module '{name}'\nRequire stack:\n");
        let package = "{\"dependencies\": {\"express\": \"4\", \"@scope/x\": \"1\"}}";
        let cases: [Case<'_>; 22] = [
            (&[], python("requests"), Some("requests")),
            (&[], python("yaml.constructor"), Some("yaml")),
            (&[], python("wordcount"), None),
            (&[("requests/a.py", "")], python("requests.b"), None),
            (&[("src/redis/a.py", "")], python("redis.b"), None),
            (&[("requirements.txt", "Odd_Name>=2\n")], python("odd_name"), Some("odd_name")),
            (&[("requirements.txt", "odd-name-2\n")], python("odd_name"), None),
            (&[("pyproject.toml", "dependencies = [\"pillow\"]")], python("PIL"), Some("PIL")),
            (&[("package.json", package)], node("express"), Some("express")),
            (&[("package.json", package)], node("@scope/x/deep"), Some("@scope/x")),
            (&[("package.json", package)], node("./cart"), None),
            (&[("api/requirements.txt", "odd-name\n")], python("odd_name"), Some("odd_name")),
            (&[("requirements/dev.txt", "odd-name\n")], python("odd_name"), Some("odd_name")),
            (&[("requirements-test.txt", "odd-name\n")], python("odd_name"), Some("odd_name")),
            (
                &[("api/pyproject.toml", "name = \"shop\""), ("api/src/shop/a.py", "")],
                python("shop"),
                None,
            ),
            (&[("docs/notes.txt", "odd-name\n")], python("odd_name"), None),
            (&[("a/b/requirements.txt", "odd-name\n")], python("odd_name"), None),
            (&[("web/package.json", package)], node("express"), Some("express")),
            (&[("node_modules/package.json", package)], node("express"), None),
            (&[("package.json", package)], node("cart"), None),
            (
                &[],
                "Could not find rake-13.0 in locally installed gems\n".to_owned(),
                Some("Could not find rake-13.0 in locally installed gems"),
            ),
            (&[], "1 failed: assert 1 == 2\n".to_owned(), None),
        ];
        for (files, output, expected) in cases {
            assert_eq!(missing(files, &output).as_deref(), expected, "{files:?} {output}");
        }
    }
}
