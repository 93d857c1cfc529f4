//! Follows the commands of a check to the files that they run, read and load.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::referenced::{
    Makefile, find_extended, find_loaded_by_command, find_loaded_by_settings, is_runner_settings,
};
use super::tables::{
    CHECKING, CHECKING_WHOLE, FILES, FOLLOWED_BYTES_MAX, FOLLOWED_MAX, INTERPRETERS, MANAGERS,
    ProgramTable, RECIPES, RUNNERS, STANDARD_MODULES, TESTS, TOOL_FOLDERS,
};
use crate::commands::{base_name, list_programs};

/// Returns the files of the project at `root` that these commands run or are configured by.
pub fn find_defining_files(root: &Path, commands: &[String]) -> Vec<PathBuf> {
    follow_commands(root, commands).0.into_iter().collect()
}

/// Returns patterns of the files that the programs of these commands take as tests, in the project at `root`.
pub fn list_test_patterns(root: &Path, commands: &[String]) -> Vec<String> {
    let (_, lines) = follow_commands(root, commands);
    let rows: BTreeSet<_> = lines.iter().flat_map(|line| find_rows(TESTS, line)).collect();
    rows.into_iter().flatten().map(|pattern| (*pattern).to_owned()).collect()
}

/// Returns the command lines that these commands run in the project at `root`: their own, and those of the
/// recipes, package scripts and shell scripts that they start.
pub fn list_command_lines(root: &Path, commands: &[String]) -> Vec<String> {
    follow_commands(root, commands).1
}

/// A line of shell, and its location.
struct ShellLine {
    text: String,
    /// The folder of the file that contains it.
    folder: PathBuf,
    /// `true` if a file that a check runs contains it, `false` if the settings do.
    is_inside: bool,
}

impl ShellLine {
    fn from_settings(text: &str) -> Self {
        Self { text: text.to_owned(), folder: PathBuf::new(), is_inside: false }
    }

    fn from_file(text: String, file: &Path) -> Self {
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        Self { text, folder, is_inside: true }
    }
}

/// Returns the files that a script runs in its own folder: `"$(dirname "$0")/lint.py"`,
/// `"${0%/*}/lint.py"`.
fn find_files_beside(folder: &Path, line: &str) -> Vec<PathBuf> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let ends = [")/", ")\"/", "%/*}/", "%/*}\"/"];
    let parts = ends.iter().flat_map(|end| line.split(end).skip(1));
    let names = parts.map(|rest| rest.split(|c| !is_part(c)).next().unwrap_or_default());
    let files =
        names.filter(|name| !name.is_empty() && !name.contains("..")).map(|name| folder.join(name));
    files.filter(|file| checks_something(file) || is_project_tool(file)).collect()
}

/// Returns whether a file is a tool of the project, by its folder.
fn is_project_tool(file: &Path) -> bool {
    let first = file.iter().next().filter(|_| file.iter().count() > 1);
    first.is_some_and(|folder| TOOL_FOLDERS.iter().any(|known| folder == *known))
}

/// Returns the files that commands run or are configured by, and all command lines on the way: the
/// commands themselves, and those of the scripts and recipes that they run, also in the folders that they go to.
fn follow_commands(root: &Path, commands: &[String]) -> (BTreeSet<PathBuf>, Vec<String>) {
    let (mut found, mut lines) = follow_in_folder(root, commands);
    for (folder, line) in list_lines_of_folders(root, &lines) {
        let (files, inside) = follow_in_folder(&root.join(&folder), &[line]);
        found.extend(files.into_iter().map(|file| folder.join(file)));
        lines.extend(inside);
    }
    (found, lines)
}

/// Returns the lines that go to a folder of the project, without the options for that: `cd web && npm test`,
/// `make -C web test`, `npm --prefix web test`.
pub(super) fn list_lines_of_folders(root: &Path, lines: &[String]) -> Vec<(PathBuf, String)> {
    const GOING: [&str; 8] =
        ["cd", "pushd", "-C", "--prefix", "--cwd", "--dir", "--directory", "--chdir"];
    let is_inside = |folder: &Path| {
        folder.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
            && folder.components().any(|part| matches!(part, Component::Normal(_)))
            && root.join(folder).is_dir()
    };
    let mut found = Vec::new();
    for line in lines {
        let mut folders = Vec::new();
        let mut rest: Vec<&str> = Vec::new();
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let bare = word.trim_start_matches(['(', '{', '@']);
            let (option, value) = bare.split_once('=').unwrap_or((bare, ""));
            if GOING.contains(&bare) {
                folders.extend(words.next());
            } else if GOING.contains(&option) && !value.is_empty() {
                folders.push(value);
            } else {
                rest.push(word);
            }
        }
        let rest = rest.join(" ");
        let rest = rest.trim_start_matches(['&', ';', ' ']);
        for folder in folders {
            let folder = folder.trim_matches(['"', '\'', ';', ')', '&']).trim_end_matches('/');
            let folder = Path::new(folder.trim_start_matches("./"));
            if is_inside(folder) {
                found.push((folder.to_owned(), rest.to_owned()));
            }
        }
    }
    found
}

pub(super) fn follow_in_folder(
    root: &Path,
    commands: &[String],
) -> (BTreeSet<PathBuf>, Vec<String>) {
    let mut found = BTreeSet::new();
    let mut lines = Vec::new();
    let mut commands: Vec<ShellLine> =
        commands.iter().map(|line| ShellLine::from_settings(line)).collect();
    let mut followed = 0;
    while let Some(ShellLine { text: command, folder, is_inside }) = commands.pop() {
        for (manifest, script) in find_scripts_run(std::slice::from_ref(&command)) {
            // A script may run itself.
            followed += 1;
            if followed < FOLLOWED_MAX {
                let path = root.join(manifest);
                let loaded = find_files_loaded_by_manifest(&path).into_iter();
                found.extend(loaded.filter(|file| root.join(file).is_file()));
                let line = read_script(&path, &script);
                commands.extend(line.map(|line| ShellLine::from_file(line, Path::new(manifest))));
            }
        }
        let run = find_files_run(&command, is_inside).into_iter().chain(list_files_read(&command));
        let run =
            run.chain(find_files_beside(&folder, &command)).chain(find_loaded_by_command(&command));
        let run = run.chain(if is_inside { find_files_named(&command) } else { Vec::new() });
        for file in
            run.chain(expand_patterns(root, &command)).chain(find_make_includes(root, &command))
        {
            let path = root.join(&file);
            if path.is_file() && found.insert(file.clone()) && followed < FOLLOWED_MAX {
                followed += 1;
                found.extend(find_loaded_files(root, &file));
                found.extend(find_limits_beside(root, &file));
                let inside = read_commands(&path).into_iter();
                commands.extend(inside.map(|line| ShellLine::from_file(line, &file)));
            }
        }
        lines.push(command);
    }
    (found, lines)
}

/// Returns the files that a runner loads before the tests because its settings, in this file, say
/// so.
fn find_loaded_files(root: &Path, settings: &Path) -> Vec<PathBuf> {
    let name = settings.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let extends = name.starts_with("tsconfig") || name.starts_with(".eslintrc");
    if !is_runner_settings(name) && !extends {
        return Vec::new();
    }
    let text = fs::read_to_string(root.join(settings)).unwrap_or_default();
    if extends {
        let base = find_extended(&text).into_iter();
        let base = base.map(|file| settings.parent().unwrap_or(Path::new("")).join(file));
        return base.filter(|file| root.join(file).is_file()).collect();
    }
    find_loaded_by_settings(&text).into_iter().filter(|file| root.join(file).is_file()).collect()
}

/// Returns the files beside a tool of the project that its text names: the limits and lists by which it judges,
/// and modules in its own language.
fn find_limits_beside(root: &Path, tool: &Path) -> Vec<PathBuf> {
    const DATA: [&str; 8] = ["json", "yml", "yaml", "toml", "ini", "cfg", "txt", "list"];
    let path = root.join(tool);
    let is_small = fs::metadata(&path).is_ok_and(|file| file.len() <= FOLLOWED_BYTES_MAX);
    let Some(folder) = tool.parent().filter(|_| is_project_tool(tool) && is_small) else {
        return Vec::new();
    };
    let text = fs::read_to_string(&path).unwrap_or_default();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let names: BTreeSet<&str> =
        text.split(|c| !is_part(c)).filter_map(|word| word.rsplit('/').next()).collect();
    let is_data = |name: &&str| {
        let end = Path::new(name).extension().and_then(|end| end.to_str());
        end.is_some_and(|end| DATA.contains(&end))
    };
    let module = |name: &&str| {
        let own = tool.extension().filter(|_| !name.is_empty() && !name.contains('.'))?;
        Some(folder.join(name).with_extension(own)).filter(|file| file != tool)
    };
    let modules: Vec<PathBuf> = names.iter().filter_map(module).collect();
    let files = names.into_iter().filter(is_data).map(|name| folder.join(name)).chain(modules);
    files.filter(|file| root.join(file).is_file()).collect()
}

/// Returns the files that the runners' settings in a manifest name to be loaded before the tests.
fn find_files_loaded_by_manifest(manifest: &Path) -> Vec<PathBuf> {
    let manifest = fs::read(manifest).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let manifest: Value = manifest.unwrap_or_default();
    let settings = RUNNERS.iter().map(|runner| manifest[runner].to_string());
    settings.flat_map(|text| find_loaded_by_settings(&text)).collect()
}

/// Returns the files that a Makefile includes, if a command runs `make`.
pub(super) fn find_make_includes(root: &Path, command: &str) -> Vec<PathBuf> {
    let runs_make = find_file_kinds(command).iter().any(|kind| kind.contains(&"Makefile"));
    let makefile = if runs_make { Makefile::read_from(root) } else { None };
    makefile.map(|makefile| makefile.includes).unwrap_or_default()
}

/// Returns the files that match a pattern in a command (`for check in checks/*.sh`), if their names
/// say that they check something.
fn expand_patterns(root: &Path, command: &str) -> Vec<PathBuf> {
    let words = command.split(|c: char| c.is_whitespace() || ";\"'`()".contains(c));
    let patterns = words.map(|word| word.trim_start_matches("./")).filter(|word| {
        word.contains('/') && word.contains('*') && !word.starts_with('/') && !word.contains('$')
    });
    let mut found = Vec::new();
    for pattern in patterns {
        let Some((folder, name)) = pattern.rsplit_once('/') else { continue };
        let Some((begins, ends)) = name.split_once('*') else { continue };
        if folder.contains('*') || ends.contains('*') {
            continue;
        }
        let Ok(entries) = fs::read_dir(root.join(folder)) else { continue };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let fits = |name: &String| {
            !name.starts_with('.')
                && name.len() >= begins.len() + ends.len()
                && name.starts_with(begins)
                && name.ends_with(ends)
        };
        let files = names.filter(fits).map(|name| Path::new(folder).join(name));
        found.extend(files.filter(|file| checks_something(file)));
    }
    found.sort();
    found
}

/// Returns the files that the programs of a command read by themselves.
fn list_files_read(command: &str) -> impl Iterator<Item = PathBuf> {
    // An existing module is work, even under the name of a standard module.
    let kinds = find_file_kinds(command).into_iter().filter(|kind| *kind != STANDARD_MODULES);
    kinds.flatten().map(PathBuf::from)
}

/// Returns the rows of [`FILES`] that the programs of a command read.
pub(super) fn find_file_kinds(command: &str) -> Vec<&'static [&'static str]> {
    find_rows(FILES, command)
}

/// Returns the rows of a table for the programs of a command.
fn find_rows(table: ProgramTable, command: &str) -> Vec<&'static [&'static str]> {
    let mut found = Vec::new();
    for words in list_programs(command) {
        let Some((program, arguments)) = words.split_first() else { continue };
        let name = base_name(program);
        let module = find_module(name, arguments);
        let reads = |programs: &[&str]| {
            programs.contains(&name) || module.is_some_and(|module| programs.contains(&module))
        };
        found.extend(table.iter().filter(|(programs, _)| reads(programs)).map(|(_, files)| *files));
    }
    found
}

/// Returns the files that a command runs and whose names say that they check something; in a file
/// that a check runs, the project's tools as well.
fn find_files_run(command: &str, is_inside: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for words in list_programs(command) {
        let Some((program, arguments)) = words.split_first() else { continue };
        // A variable usually stands for an interpreter.
        let interprets = INTERPRETERS.contains(&base_name(program)) || program.starts_with('$');
        let run = if interprets {
            arguments.iter().find(|word| !word.starts_with('-'))
        } else {
            Some(program).filter(|program| program.contains('/'))
        };
        let file = run.map(|file| PathBuf::from(file.trim_start_matches("./")));
        let counts = |file: &PathBuf| checks_something(file) || is_inside && is_project_tool(file);
        found.extend(file.filter(|file| file.is_relative() && counts(file)));
    }
    found
}

/// Returns the files that a line of a check names and whose own names say that they check something:
/// `cat tests.list`, `done < tests.list`.
fn find_files_named(line: &str) -> Vec<PathBuf> {
    let words = line.split(|c: char| c.is_whitespace() || ";\"'`()<>|&=".contains(c));
    let words = words.map(|word| word.trim_start_matches("./"));
    let files = words.filter(|word| !word.is_empty() && !word.contains(['$', '*', '~']));
    files
        .map(PathBuf::from)
        .filter(|file| file.is_relative() && !file.starts_with("..") && checks_something(file))
        .collect()
}

/// Returns the lines of a file that are commands: all of a shell script, the indented ones of a
/// recipe file and those that ask the shell.
fn read_commands(path: &Path) -> Vec<String> {
    if fs::metadata(path).is_ok_and(|file| file.len() > FOLLOWED_BYTES_MAX) {
        return Vec::new();
    }
    let Ok(text) = fs::read_to_string(path) else { return Vec::new() };
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_shell = matches!(path.extension().and_then(|end| end.to_str()), Some("sh" | "bash"))
        || text.lines().next().is_some_and(|first| first.starts_with("#!") && first.contains("sh"));
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    if RECIPES.contains(&name) {
        let runs = |line: &&str| line.starts_with(['\t', ' ']) || line.contains("$(shell ");
        let below = lines.filter(runs);
        below.map(|line| line.trim_start().trim_start_matches(['@', '-', '+']).to_owned()).collect()
    } else if is_shell {
        lines.map(str::to_owned).collect()
    } else {
        Vec::new()
    }
}

/// Returns the command of a script in a manifest.
fn read_script(manifest: &Path, script: &str) -> Option<String> {
    let manifest: Value = serde_json::from_slice(&fs::read(manifest).ok()?).ok()?;
    Some(manifest["scripts"][script].as_str()?.to_owned())
}

/// Returns the module that `python -m` runs, the program that `bundle exec` and the like run, or
/// the subcommand of cargo.
fn find_module<'w>(name: &str, arguments: &'w [String]) -> Option<&'w str> {
    let first = arguments.first()?.as_str();
    let rest = arguments.get(1..).unwrap_or_default();
    match (name, first) {
        ("python" | "python3", "-m")
        | ("bundle", "exec")
        | ("uv" | "poetry" | "pdm" | "pipenv" | "hatch", "run") => {
            let module = rest.iter().find(|word| !word.starts_with('-'))?;
            if base_name(module).starts_with("python") {
                return find_module("python", rest.get(1..).unwrap_or_default());
            }
            Some(module)
        }
        ("npx" | "cargo", first) => Some(first),
        _ => None,
    }
}

/// Returns whether the name of a file or of one of its folders says that it checks something.
pub(in crate::validate) fn checks_something(file: &Path) -> bool {
    file.iter().any(|part| {
        let part = part.to_string_lossy().to_lowercase();
        let stem = part.split('.').next().unwrap_or_default();
        CHECKING.iter().any(|known| part.contains(known)) || CHECKING_WHOLE.contains(&stem)
    })
}

/// Returns the manifests whose scripts these commands run, with the names of the scripts.
pub(super) fn find_scripts_run(commands: &[String]) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for words in commands.iter().flat_map(|command| list_programs(command)) {
        let Some((program, arguments)) = words.split_first() else { continue };
        let manager = MANAGERS.iter().find(|(name, _)| *name == base_name(program));
        let Some((_, manifest)) = manager else { continue };
        let mut plain = arguments.iter().filter(|word| !word.starts_with('-'));
        let first = plain.next().map(String::as_str);
        let script = match first {
            Some("run" | "run-script") => plain.next().map(String::as_str),
            Some("t" | "tst") => Some("test"),
            first => first,
        };
        found.extend(script.map(|script| (*manifest, script.to_owned())));
    }
    found
}
