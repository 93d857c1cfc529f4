//! Checks that do not start: because a program of the machine is not there, or because of a part of
//! the project that their command names, such as a target of make, a package script or a file.
//!
//! An agent can provide a part of the project. Such a check is red; if the task does not speak of
//! the part, the settings may name it wrongly, and the operator is asked before any money is spent.

use std::path::Path;

use serde_json::Value;
use unstuck_core::nearest::find_nearest;

use crate::commands::{base_name, list_programs};
use crate::regular_file::{is_executable, read_regular};
use crate::workspace::is_own_program;

/// Exit codes of a shell for a program that does not exist, and for one that may not be executed.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;
/// Exit code of a shell for a script that it cannot open or parse.
const BAD_SCRIPT: i32 = 2;
/// Maximum size of a manifest or script that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1_024 * 1_024;
/// Maximum length of the name of a target or script.
const NAME_BYTES_MAX: usize = 200;
/// Shells that run a file.
const SHELLS: [&str; 4] = ["sh", "bash", "dash", "zsh"];
/// Names under which make finds its rules.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// Characters around names in messages.
const QUOTES: &[char] = &['\'', '"', '`', '\u{2018}', '\u{2019}'];

/// Messages about a part that a tool does not find: the beginning of the line, the words before the
/// name, and the kind of the part.
const MESSAGES: [(&str, &str, PartProblem); 10] = [
    ("make", "*** No rule to make target ", PartProblem::NoTarget),
    ("gmake", "*** No rule to make target ", PartProblem::NoTarget),
    ("npm", "issing script: ", PartProblem::NoScript),
    ("ERR_PNPM", "issing script: ", PartProblem::NoScript),
    ("Usage Error:", "Couldn't find a script named ", PartProblem::NoScript),
    ("error:", "Script not found ", PartProblem::NoScript),
    ("error:", "ustfile does not contain recipe ", PartProblem::NoRecipe),
    ("task:", "Task ", PartProblem::NoRecipe),
    ("rake aborted!", "Don't know how to build task ", PartProblem::NoRecipe),
    ("Don't know", "how to build task ", PartProblem::NoRecipe),
];

/// What is wrong with a part of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartProblem {
    NoTarget,
    NoScript,
    NoRecipe,
    NoFile,
    NotExecutable,
    /// Its first line ends in CRLF.
    CrlfEnds,
    /// A file or folder has the name of a target, so make never runs it.
    Shadowed,
}

/// A part of the project that keeps a check from starting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BrokenPart {
    pub(super) name: String,
    pub(super) problem: PartProblem,
}

impl BrokenPart {
    /// Finds the part that kept a check in the folder `root` from starting.
    pub(super) fn find(command: &str, exit: i32, output: &str, root: &Path) -> Option<Self> {
        let files = list_run_files(command);
        let script = files.iter().find(|file| has_crlf_ends(&root.join(file)));
        if matches!(exit, NOT_FOUND | NOT_EXECUTABLE | BAD_SCRIPT)
            && let Some(name) = script
        {
            return Some(Self { name: name.clone(), problem: PartProblem::CrlfEnds });
        }
        if let Some(name) = find_not_executable(output, root) {
            return Some(Self { name, problem: PartProblem::NotExecutable });
        }
        let missing = files.into_iter().find(|file| !root.join(file).exists());
        if matches!(exit, NOT_FOUND | BAD_SCRIPT)
            && let Some(name) = missing.filter(|name| output.contains(name.as_str()))
        {
            return Some(Self { name, problem: PartProblem::NoFile });
        }
        output.lines().find_map(parse_missing_part)
    }

    /// Finds the target that make has not run although it ended well: a file or folder has its name.
    pub(super) fn find_shadowed(output: &str, root: &Path) -> Option<Self> {
        const CHECKS: [&str; 7] = ["test", "tests", "check", "checks", "lint", "ci", "verify"];
        let mut lines = output.lines().filter(|line| !line.trim().is_empty());
        let (line, None) = (lines.next()?, lines.next()) else { return None };
        let (start, rest) = line.split_once(": ")?;
        let name = rest.strip_suffix(" is up to date.")?.trim_matches(QUOTES);
        let is_check = CHECKS.contains(&name) || root.join(name).is_dir();
        (start.starts_with("make") || start == "gmake")
            .then(|| Self { name: name.to_owned(), problem: PartProblem::Shadowed })
            .filter(|_| is_check && root.join(name).exists())
    }

    /// Returns what is wrong, as a part of a sentence.
    pub(super) fn render_fact(&self) -> String {
        let name = &self.name;
        match self.problem {
            PartProblem::NoTarget => format!("the Makefile has no target {name}"),
            PartProblem::NoScript => format!("package.json has no script {name}"),
            PartProblem::NoRecipe => format!("there is no recipe {name}"),
            PartProblem::NoFile => format!("there is no {name} in the project"),
            PartProblem::NotExecutable => format!("{name} is not executable"),
            PartProblem::CrlfEnds => {
                format!("the first line of {name} ends in CRLF, so no program can run it")
            }
            PartProblem::Shadowed => {
                format!(
                    "the project has a file or folder {name}, so make does not run the target {name}"
                )
            }
        }
    }

    /// Returns the file in which the part is defined, if it is not a file itself.
    pub(super) const fn defining_file(&self) -> Option<&'static str> {
        match self.problem {
            PartProblem::NoTarget | PartProblem::Shadowed => Some("Makefile"),
            PartProblem::NoScript => Some("package.json"),
            _ => None,
        }
    }

    /// Returns what the operator can do, as a sentence. `setting` makes the line of the settings
    /// from a command.
    pub(super) fn render_remedy(
        &self,
        command: &str,
        root: &Path,
        setting: impl Fn(&str) -> String,
    ) -> String {
        let name = &self.name;
        match self.problem {
            PartProblem::NotExecutable => {
                let line = setting(&command.replacen(name, &format!("sh {name}"), 1));
                format!(
                    "`git update-index --chmod=+x {name}` and a commit make it executable, or write \
                     {line}."
                )
            }
            PartProblem::CrlfEnds => {
                let path = name.trim_start_matches("./");
                format!(
                    "`sed -i 's/\\r$//' {path}` and a commit mend it; the line `{path} text eol=lf` in \
                     .gitattributes keeps it so."
                )
            }
            PartProblem::Shadowed => {
                format!("The line `.PHONY: {name}` in the Makefile lets make run it always.")
            }
            _ => {
                let known = self.list_known(root);
                let known = known.iter().map(String::as_str);
                let line = match find_nearest(name, known).first() {
                    Some(near) => format!("write {}", setting(&command.replacen(name, near, 1))),
                    None => format!("correct {}", setting(command)),
                };
                format!("If the name is wrong, {line}. If it is to be added, say so in the task.")
            }
        }
    }

    /// Returns the names that the part could have had.
    fn list_known(&self, root: &Path) -> Vec<String> {
        match self.problem {
            PartProblem::NoTarget => MAKEFILES
                .iter()
                .find_map(|name| read_regular(&root.join(name), FILE_BYTES_MAX).ok())
                .map(|rules| list_targets(&String::from_utf8_lossy(&rules)))
                .unwrap_or_default(),
            PartProblem::NoScript => {
                let manifest = read_regular(&root.join("package.json"), FILE_BYTES_MAX);
                let manifest: Option<Value> =
                    serde_json::from_slice(&manifest.unwrap_or_default()).ok();
                let scripts =
                    manifest.as_ref().and_then(|manifest| manifest["scripts"].as_object());
                scripts.into_iter().flat_map(|of| of.keys().cloned()).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Returns what a check needs of the machine and does not find: the program itself, or the part of
/// it that the command names. A missing module of the project is a red check: it may be an agent's
/// task to write it.
pub(super) fn find_missing_program(command: &str, exit: i32, output: &str) -> Option<String> {
    if matches!(exit, NOT_FOUND | NOT_EXECUTABLE) {
        return Some(find_not_found(output).unwrap_or_else(|| name_unfound(command, output)));
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    let modules = words.windows(2).filter(|pair| pair[0] == "-m").map(|pair| pair[1]);
    for module in modules {
        let said = format!("No module named {module}");
        if output.lines().any(|line| line.trim_end().trim_end_matches('\'').ends_with(&said)) {
            return Some(module.to_owned());
        }
    }
    let starts = |prefix: &str| output.lines().find(|line| line.trim_start().starts_with(prefix));
    let line = starts("error: no such command: `")
        .or_else(|| starts("npm error could not determine executable"))?;
    Some(line.trim().to_owned())
}

/// Parses `sh: 1: pytest: not found` and `bash: line 1: pytest: command not found`.
fn find_not_found(output: &str) -> Option<String> {
    let ends = [": not found", "command not found", ": Permission denied"];
    let line = output.lines().rev().find(|line| ends.iter().any(|end| line.ends_with(end)))?;
    let (before, _) = line.rsplit_once(": ")?;
    Some(before.rsplit(": ").next().unwrap_or(before).to_owned())
}

/// Returns the program of a command; the whole command, if it could be one of several. A shell that says
/// something runs, so it does not find another program.
fn name_unfound(command: &str, output: &str) -> String {
    let last = output.lines().rev().find(|line| !line.trim().is_empty());
    match (&list_programs(command)[..], last) {
        ([words], Some(line)) if words.first().is_some_and(|word| SHELLS.contains(&&**word)) => {
            format!("the program of “{}”", line.trim())
        }
        ([words], _) => words.first().map_or(command, String::as_str).to_owned(),
        _ => command.to_owned(),
    }
}

/// Returns the files of the project that a command runs by itself: programs with a path, and the
/// scripts of shells.
fn list_run_files(command: &str) -> Vec<String> {
    let file = |words: Vec<String>| {
        let mut words = words.into_iter();
        let program = words.next()?;
        let is_shell = SHELLS.contains(&base_name(&program));
        let file =
            if is_shell { words.next().filter(|word| !word.starts_with('-'))? } else { program };
        let is_path = is_shell && !file.starts_with('/') || file.contains('/');
        (is_path && !file.contains('$') && is_own_program(&path_name(&file), Path::new("")))
            .then_some(file)
    };
    list_programs(command).into_iter().filter_map(file).collect()
}

/// Returns a name as a path: `check.sh` as `./check.sh`.
fn path_name(file: &str) -> String {
    if file.contains('/') { file.to_owned() } else { format!("./{file}") }
}

/// Returns whether a file is a script whose first line ends in CRLF.
fn has_crlf_ends(file: &Path) -> bool {
    let text = read_regular(file, FILE_BYTES_MAX).unwrap_or_default();
    text.split(|byte| *byte == b'\n').next().is_some_and(|line| line.ends_with(b"\r"))
}

/// Parses `sh: 1: ./check.sh: Permission denied`, if the file is one of the project and is not
/// executable.
fn find_not_executable(output: &str, root: &Path) -> Option<String> {
    output.lines().rev().find_map(|line| {
        let before = line.strip_suffix(": Permission denied")?;
        let name = before.rsplit(": ").next().unwrap_or(before);
        let file = root.join(name);
        let is_closed = file.is_file() && !is_executable(&file);
        (is_closed && is_own_program(&path_name(name), root)).then(|| name.to_owned())
    })
}

/// Parses `make: *** No rule to make target 'lint'.  Stop.`, `npm error Missing script: "lint"` and
/// others.
fn parse_missing_part(line: &str) -> Option<BrokenPart> {
    let line = line.trim();
    if line.starts_with("make") && line.contains("No targets specified and no makefile found") {
        return Some(BrokenPart { name: "Makefile".to_owned(), problem: PartProblem::NoFile });
    }
    let yarn =
        line.strip_prefix("error Command \"").and_then(|rest| rest.strip_suffix("\" not found."));
    if let Some(name) = yarn {
        return Some(BrokenPart { name: name.to_owned(), problem: PartProblem::NoScript });
    }
    MESSAGES.iter().find_map(|(start, before, problem)| {
        let rest = line.strip_prefix(start)?.split_once(before)?.1;
        let is_quoted = rest.starts_with(QUOTES);
        let rest = rest.trim_start_matches(QUOTES);
        let name = rest.split(if is_quoted { QUOTES } else { &[' ', ','] }).next()?;
        let is_name = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains(' ');
        is_name.then(|| BrokenPart { name: name.to_owned(), problem: *problem })
    })
}

/// Returns the targets that a Makefile names as such.
fn list_targets(rules: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || "._-/".contains(c);
    let named = rules.lines().filter_map(|line| {
        let (names, after) = line.split_once(':')?;
        (!after.starts_with('=')).then_some(names)
    });
    let targets = named.flat_map(str::split_whitespace);
    targets
        .filter(|name| !name.starts_with('.') && name.chars().all(is_part))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::PartProblem::{CrlfEnds, NoFile, NoRecipe, NoScript, NoTarget, NotExecutable};
    use super::*;

    fn part(name: &str, problem: PartProblem) -> BrokenPart {
        BrokenPart { name: name.to_owned(), problem }
    }

    // B15: a target, a script or a file of the project that is not there can be the task.
    #[test]
    fn a_part_of_the_project_is_told_from_a_program_of_the_machine() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("closed.sh"), "#!/bin/sh\n").unwrap();
        fs::write(root.join("crlf.sh"), "#!/bin/sh\r\nexit 0\r\n").unwrap();
        let cases = [
            (
                "make lint",
                2,
                "make: *** No rule to make target 'lint'.  Stop.",
                Some(part("lint", NoTarget)),
            ),
            (
                "make all",
                2,
                "make[1]: *** No rule to make target `x.c', needed by `x'.  Stop.",
                Some(part("x.c", NoTarget)),
            ),
            (
                "make",
                2,
                "make: *** No targets specified and no makefile found.  Stop.",
                Some(part("Makefile", NoFile)),
            ),
            ("npm run lint", 1, "npm error Missing script: \"lint\"", Some(part("lint", NoScript))),
            ("npm test", 1, "npm ERR! missing script: test", Some(part("test", NoScript))),
            (
                "pnpm lint",
                1,
                " ERR_PNPM_NO_SCRIPT  Missing script: lint",
                Some(part("lint", NoScript)),
            ),
            ("yarn lint", 1, "error Command \"lint\" not found.", Some(part("lint", NoScript))),
            (
                "just lint",
                1,
                "error: Justfile does not contain recipe `lint`",
                Some(part("lint", NoRecipe)),
            ),
            (
                "./scripts/check.sh",
                127,
                "sh: 1: ./scripts/check.sh: not found",
                Some(part("./scripts/check.sh", NoFile)),
            ),
            (
                "sh check.sh",
                2,
                "sh: 0: cannot open check.sh: No such file",
                Some(part("check.sh", NoFile)),
            ),
            (
                "./closed.sh",
                126,
                "sh: 1: ./closed.sh: Permission denied",
                Some(part("./closed.sh", NotExecutable)),
            ),
            (
                "make test",
                2,
                "make: ./closed.sh: Permission denied\nmake: *** [Makefile:2: test] Error 127",
                Some(part("./closed.sh", NotExecutable)),
            ),
            ("./crlf.sh", 127, "sh: 1: ./crlf.sh: not found", Some(part("./crlf.sh", CrlfEnds))),
            (
                "bash crlf.sh",
                2,
                "crlf.sh: line 2: exit: 0: numeric argument required",
                Some(part("crlf.sh", CrlfEnds)),
            ),
            ("pytest -q", 127, "sh: 1: pytest: not found", None),
            ("/opt/lint", 127, "sh: 1: /opt/lint: not found", None),
            (".venv/bin/pytest", 127, "sh: 1: .venv/bin/pytest: not found", None),
            ("./crlf.sh", 1, "1 failed in 0.1s", None),
            ("make test", 2, "cat: secret: Permission denied\nmake: *** [test] Error 1", None),
            ("make test", 2, "expected: make: *** No rule to make target 'x'", None),
        ];
        for (command, exit, output, expected) in cases {
            assert_eq!(
                BrokenPart::find(command, exit, output, root),
                expected,
                "{command}: {output}"
            );
        }
    }

    #[test]
    fn the_line_to_write_has_the_name_that_was_meant() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Makefile"), "X := 1\n.PHONY: test\ntest: a.o\n\t@true\n")
            .unwrap();
        let setting = |command: &str| format!("`pre_commit = [\"{command}\"]`");
        let remedy = |name: &str, problem, command: &str| {
            part(name, problem).render_remedy(command, folder.path(), setting)
        };
        let said = remedy("tset", NoTarget, "make tset");
        assert!(said.contains("write `pre_commit = [\"make test\"]`"), "{said}");
        let said = remedy("deploy", NoTarget, "make deploy");
        assert!(said.contains("correct `pre_commit = [\"make deploy\"]`"), "{said}");
        let said = remedy("./a.sh", NotExecutable, "./a.sh --all");
        assert!(
            said.contains("--chmod=+x ./a.sh") && said.contains("\"sh ./a.sh --all\""),
            "{said}"
        );
        let said = remedy("./a.sh", CrlfEnds, "./a.sh");
        assert!(said.contains("eol=lf"), "{said}");
    }
}
