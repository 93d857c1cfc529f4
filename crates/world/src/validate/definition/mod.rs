//! Finds the files that define a check: those that its command runs, those that its runner reads by
//! itself, and the scripts of a manifest.
//!
//! A check that an agent can rewrite proves nothing. A file that is run counts only if its name
//! states its purpose (`scripts/check.sh`, a Makefile for `make test`): in
//! `sh shop.sh | grep hello` the script is the work. Scripts and recipes are followed to the files
//! that they run in turn.

mod referenced;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::commands::{base_name, list_programs};
use referenced::{
    Makefile, find_extended, find_loaded_by_command, find_loaded_by_settings, is_runner_settings,
};
use tables::{
    CHECKING, CHECKING_WHOLE, FILES, FOLLOWED_BYTES_MAX, FOLLOWED_MAX, GO_FOLDERS_MAX,
    INTERPRETERS, MANAGERS, ProgramTable, RECIPES, RUNNERS, STANDARD_MODULES, TESTS, TOOL_FOLDERS,
};

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
fn list_lines_of_folders(root: &Path, lines: &[String]) -> Vec<(PathBuf, String)> {
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

fn follow_in_folder(root: &Path, commands: &[String]) -> (BTreeSet<PathBuf>, Vec<String>) {
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
fn find_make_includes(root: &Path, command: &str) -> Vec<PathBuf> {
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

/// Files that a project does not have and that programs of its checks look for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingDefinitions {
    /// Files that would be used instead of existing ones: a `GNUmakefile` beside a `Makefile`, a
    /// file or folder with the name of a target.
    pub replacing: Vec<PathBuf>,
    /// Files that would be read as well: a `conftest.py`.
    pub additional: Vec<PathBuf>,
}

impl MissingDefinitions {
    /// Finds the missing files for commands that run in the project at `root`, and for the scripts
    /// that those run in turn.
    pub fn find(root: &Path, commands: &[String]) -> Self {
        let mut found = Self::find_in_folder(root, commands);
        let (_, lines) = follow_in_folder(root, commands);
        for (folder, line) in list_lines_of_folders(root, &lines) {
            let inside = Self::find_in_folder(&root.join(&folder), &[line]);
            let place = |files: Vec<PathBuf>| files.into_iter().map(|file| folder.join(file));
            found.replacing.extend(place(inside.replacing));
            found.additional.extend(place(inside.additional));
        }
        found
    }

    fn find_in_folder(root: &Path, commands: &[String]) -> Self {
        let mut found = Self::default();
        let (_, lines) = follow_in_folder(root, commands);
        let kinds: BTreeSet<_> = lines.iter().flat_map(|line| find_file_kinds(line)).collect();
        for kind in kinds {
            let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) =
                kind.iter().map(PathBuf::from).partition(|file| root.join(file).is_file());
            if there.iter().any(|file| RECIPES.iter().any(|name| Path::new(name) == file)) {
                found.replacing.extend(missing);
            } else {
                found.additional.extend(missing);
            }
        }
        let runs_go = |line: &String| {
            list_programs(line).iter().any(|words| words.first().is_some_and(|word| word == "go"))
        };
        if lines.iter().any(runs_go) {
            found.additional.extend(find_missing_go_modules(root));
        }
        if let Some(makefile) = Makefile::read_from(root) {
            let is_missing = |file: &PathBuf| !root.join(file).exists();
            let standing = makefile.find_shadowing_files(&lines);
            found.replacing.extend(standing.into_iter().filter(is_missing));
            let runs_make = lines.iter().any(|line| !find_make_includes(root, line).is_empty());
            let included = if runs_make { makefile.includes } else { Vec::new() };
            found.additional.extend(included.into_iter().filter(is_missing));
        }
        found
    }
}

/// Returns `go.mod` files that would exclude folders with Go code from `./...`.
fn find_missing_go_modules(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        if found.len() >= GO_FOLDERS_MAX {
            break;
        }
        let Ok(entries) = fs::read_dir(root.join(&folder)) else { continue };
        let mut has_code = false;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !name.starts_with(['.', '_']) && name != "vendor" {
                open.push(folder.join(&*name));
            }
            has_code |= name.ends_with(".go");
        }
        let module = folder.join("go.mod");
        if has_code && folder != Path::new("") && !root.join(&module).exists() {
            found.push(module);
        }
    }
    found
}

/// Returns the files that the programs of a command read by themselves.
fn list_files_read(command: &str) -> impl Iterator<Item = PathBuf> {
    // An existing module is work, even under the name of a standard module.
    let kinds = find_file_kinds(command).into_iter().filter(|kind| *kind != STANDARD_MODULES);
    kinds.flatten().map(PathBuf::from)
}

/// Returns the rows of [`FILES`] that the programs of a command read.
fn find_file_kinds(command: &str) -> Vec<&'static [&'static str]> {
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
pub(super) fn checks_something(file: &Path) -> bool {
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

/// Returns the manifests whose scripts these commands run in the project at `root`, with the names of the
/// scripts, and the files with the settings of tools.
pub(super) fn list_compared_files(
    root: &Path,
    commands: &[String],
) -> Vec<(PathBuf, Option<String>)> {
    let mut places = vec![(PathBuf::new(), commands.to_vec())];
    let lines = follow_in_folder(root, commands).1;
    places.extend(
        list_lines_of_folders(root, &lines).into_iter().map(|(folder, line)| (folder, vec![line])),
    );
    let mut compared = Vec::new();
    for (folder, commands) in places {
        let scripts = find_scripts_run(&commands).into_iter();
        compared.extend(scripts.map(|(file, script)| (folder.join(file), Some(script))));
        compared.extend(SHARED_SETTINGS.map(|file| (folder.join(file), None)));
    }
    compared
}

/// Returns whether a manifest defines a script, or one that it runs in turn, differently from its
/// base.
pub(super) fn scripts_differ(script: &str, base: &[u8], now: &[u8]) -> bool {
    let read = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).unwrap_or_default() };
    let base = read(base);
    let now = read(now);
    if RUNNERS.iter().any(|runner| base[runner] != now[runner]) {
        return true;
    }
    let mut wanted = vec![script.to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        for name in [format!("pre{name}"), name.clone(), format!("post{name}")] {
            let was = &base["scripts"][&name];
            if *was != now["scripts"][&name] {
                return true;
            }
            if let Value::String(line) = was {
                wanted.extend(
                    find_scripts_run(std::slice::from_ref(line)).into_iter().map(|(_, s)| s),
                );
            }
        }
    }
    false
}

/// Files with the settings of many tools, beside what the project is.
const SHARED_SETTINGS: [&str; 3] = ["pyproject.toml", "setup.cfg", "package.json"];
/// Keys of `package.json` with the settings of a tool, each with its program.
const PACKAGE_SETTINGS: [(&str, &str); 8] = [
    ("eslintConfig", "eslint"),
    ("eslintIgnore", "eslint"),
    ("prettier", "prettier"),
    ("stylelint", "stylelint"),
    ("nyc", "nyc"),
    ("c8", "c8"),
    ("xo", "xo"),
    ("commitlint", "commitlint"),
];

/// Returns whether such a file has other settings than its base for a tool that one of these commands names.
pub(super) fn tool_settings_differ(
    file: &Path,
    lines: &[String],
    (base, now): (&[u8], &[u8]),
) -> bool {
    let base = read_tool_settings(file, base);
    let now = read_tool_settings(file, now);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let named: BTreeSet<&str> = lines.iter().flat_map(|line| line.split(|c| !is_part(c))).collect();
    let tools: BTreeSet<&String> = base.keys().chain(now.keys()).collect();
    tools.into_iter().any(|tool| named.contains(tool.as_str()) && base.get(tool) != now.get(tool))
}

/// Reads the settings of each tool: the tables below `[tool]`, or the sections of a file in the older form.
fn read_tool_settings(file: &Path, bytes: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let ending = file.extension().and_then(|ending| ending.to_str());
    if ending == Some("toml") {
        let settings = text.parse::<toml::Table>().unwrap_or_default();
        let tools = settings.get("tool").and_then(toml::Value::as_table).into_iter().flatten();
        return tools.map(|(name, table)| (name.clone(), table.to_string())).collect();
    }
    if ending == Some("json") {
        let manifest: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let text = |key: &str| manifest.get(key).map(Value::to_string).unwrap_or_default();
        let mut tools: BTreeMap<String, String> = BTreeMap::new();
        for (key, tool) in PACKAGE_SETTINGS {
            tools.entry(tool.to_owned()).or_default().push_str(&text(key));
        }
        return tools;
    }
    let mut sections: BTreeMap<String, String> = BTreeMap::new();
    let mut tool = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let name = name.strip_prefix("tool:").unwrap_or(name);
            name.split([':', '-', '.']).next().unwrap_or_default().clone_into(&mut tool);
        }
        let section = sections.entry(tool.clone()).or_default();
        section.push_str(line.trim_end());
        section.push('\n');
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    // B2: a dependency is work, and a setting of the tool that judges it is none
    #[test]
    fn only_the_settings_of_a_named_tool_differ() {
        let lines =
            ["make lint".to_owned(), "ruff check .".to_owned(), "python3 -m flake8".to_owned()];
        let differ = |base: &str, now: &str| {
            let file = if base.contains("[flake8]") { "setup.cfg" } else { "pyproject.toml" };
            tool_settings_differ(Path::new(file), &lines, (base.as_bytes(), now.as_bytes()))
        };
        let base =
            "[project]\nname = \"x\"\n[tool.ruff]\nline-length = 80\n[tool.mypy]\nstrict = true\n";
        assert!(differ(base, &base.replace("80", "800")));
        assert!(differ("[project]\nname = \"x\"\n", base));
        assert!(!differ(base, &base.replace("true", "false")), "no check runs mypy");
        assert!(!differ(base, &base.replace("\"x\"", "\"y\"")));
        let base = "[metadata]\nname = x\n\n[flake8]\nmax-line-length = 80\n";
        assert!(differ(base, &base.replace("80", "800")));
        assert!(!differ(base, &base.replace("name = x", "name = y")));
        let package = |now: &str| {
            let base = r#"{"name": "x", "eslintConfig": {"rules": {}}}"#;
            tool_settings_differ(
                Path::new("package.json"),
                &["eslint .".to_owned()],
                (base.as_bytes(), now.as_bytes()),
            )
        };
        assert!(package(r#"{"name": "x", "eslintConfig": {"rules": {"x": 0}}}"#));
        assert!(!package(r#"{"name": "y", "prettier": {}, "eslintConfig": {"rules": {}}}"#));
    }

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

    #[test]
    fn a_file_that_a_runner_would_read_by_itself_is_known_before_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Makefile"), "").unwrap();
        let missing = |line: &str| MissingDefinitions::find(folder.path(), &[line.to_owned()]);
        let make = missing("make test");
        assert_eq!(make.replacing, [Path::new("GNUmakefile"), Path::new("makefile")]);
        assert!(make.additional.is_empty());
        let pytest = missing("python3 -m pytest -q");
        for file in ["conftest.py", "pytest.ini", "sitecustomize.py"] {
            assert!(pytest.additional.contains(&PathBuf::from(file)), "{file}");
        }
        assert_eq!(missing("sh shop.sh | grep hello"), MissingDefinitions::default());
        let recipe = "test:\n\t@python3 -m unittest -q\n";
        fs::write(folder.path().join("Makefile"), recipe).unwrap();
        fs::create_dir(folder.path().join("sum")).unwrap();
        fs::write(folder.path().join("sum/sum.go"), "package sum\n").unwrap();
        assert_eq!(missing("go test ./...").additional, [Path::new("sum/go.mod")]);
        let shadowing = PathBuf::from("unittest.py");
        assert!(missing("make test").additional.contains(&shadowing), "what a recipe runs counts");
    }

    #[test]
    fn a_script_that_is_run_may_not_change_and_others_may() {
        let base = br#"{"scripts":{"test":"npm run unit","unit":"vitest run","build":"tsc"}}"#;
        let table = [
            (&br#"{"scripts":{"test":"npm run unit","unit":"vitest run","build":"tsc -b"},"dependencies":{"a":"1"}}"#[..], false),
            (br#"{"scripts":{"test":"true","unit":"vitest run","build":"tsc"}}"#, true),
            (br#"{"scripts":{"test":"npm run unit","unit":"true","build":"tsc"}}"#, true),
            (br#"{"jest":{"testMatch":[]},"scripts":{"test":"npm run unit","unit":"vitest run","build":"tsc"}}"#, true),
            (br#"{"scripts":{"pretest":"exit 0","test":"npm run unit","unit":"vitest run"}}"#, true),
            (b"{", true),
        ];
        for (now, differ) in table {
            assert_eq!(scripts_differ("test", base, now), differ, "{}", now.escape_ascii());
        }
        let run = |line: &str| find_scripts_run(&[line.to_owned()]);
        let test = vec![("package.json", "test".to_owned())];
        for line in ["npm test", "npm run test", "CI=1 pnpm -s test", "yarn test --ci", "npm t"] {
            assert_eq!(run(line), test, "{line}");
        }
    }
}
