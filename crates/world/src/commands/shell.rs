//! Splits a line of shell into its simple commands, and looks through programs that start other
//! programs, for the commands that a line really runs.
//!
//! It knows enough of the shell's grammar to find program names: quoting, separators of commands,
//! substitutions, redirections and here-documents. It expands nothing. Text that is no proper shell
//! gives whatever can be recognized in it, and never fails.

use std::iter::Peekable;
use std::str::Chars;

/// Maximum depth to which nested commands are followed.
const DEPTH_MAX: usize = 8;

/// A program with its arguments, as they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// The program and its arguments, without quotes.
    pub(super) words: Vec<String>,
    /// The files to which redirections send its output.
    pub(super) writes: Vec<String>,
    /// `true` if a pipe leads its output to another program, whose exit code is then the line's.
    is_piped: bool,
}

impl SimpleCommand {
    fn from_words(words: &[String]) -> Self {
        Self { words: words.to_vec(), ..Self::default() }
    }

    /// Formats the command as a shell would accept it: with quotes, and with the files it writes.
    pub(super) fn render_line(&self) -> String {
        let words = self.words.iter().map(|word| quote_word(word));
        let writes = self.writes.iter().map(|file| format!("> {}", quote_word(file)));
        words.chain(writes).collect::<Vec<_>>().join(" ")
    }
}

/// Quotes a word, if a shell would not take it as it is.
fn quote_word(word: &str) -> String {
    let is_plain =
        |letter: char| letter.is_alphanumeric() || "-_./=:,@%+~$*?[]{}!^".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Reserved words that precede a command.
const RESERVED: &[&str] =
    &["{", "}", "!", "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "esac"];

/// Returns the simple commands of `text`, in the order they end in, including those within
/// substitutions.
pub(super) fn split_commands(text: &str, depth: usize) -> Vec<SimpleCommand> {
    let mut reader = ShellLexer {
        rest: text.chars().peekable(),
        depth,
        word: None,
        target: WordRole::Word,
        here: Vec::new(),
        command: SimpleCommand::default(),
        found: Vec::new(),
    };
    if depth < DEPTH_MAX {
        reader.read_commands();
    }
    reader.found
}

struct ShellLexer<'t> {
    rest: Peekable<Chars<'t>>,
    depth: usize,
    word: Option<String>,
    /// The role of the word that is being read.
    target: WordRole,
    /// The delimiters of here-documents whose text begins after this line.
    here: Vec<String>,
    command: SimpleCommand,
    found: Vec<SimpleCommand>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordRole {
    Word,
    Write,
    Read,
    HereEnd,
}

impl ShellLexer<'_> {
    fn read_commands(&mut self) {
        while let Some(letter) = self.rest.next() {
            match letter {
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(next) => self.push_letter(next),
                },
                '\'' => {
                    let text = self.take_until('\'');
                    self.push_text(&text);
                }
                '"' => self.read_quoted(),
                '$' => self.read_dollar(),
                '`' => {
                    let inner = self.take_until('`');
                    self.read_substitution(&inner);
                }
                '#' if self.word.is_none() => self.skip_line(),
                '<' | '>' => self.read_redirection(letter),
                '\n' => {
                    self.end_command();
                    self.skip_here_documents();
                }
                '|' if self.rest.next_if_eq(&'|').is_none() => self.end_piped_command(),
                ';' | '&' | '|' | '(' | ')' => self.end_command(),
                blank if blank.is_whitespace() => self.end_word(),
                other => self.push_letter(other),
            }
        }
        self.end_command();
    }

    fn push_letter(&mut self, letter: char) {
        self.word.get_or_insert_default().push(letter);
    }

    fn push_text(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn take_until(&mut self, end: char) -> String {
        self.rest.by_ref().take_while(|letter| *letter != end).collect()
    }

    fn read_quoted(&mut self) {
        self.push_text("");
        while let Some(letter) = self.rest.next() {
            match letter {
                '"' => return,
                '\\' => {
                    if let Some(next) = self.rest.next() {
                        self.push_letter(next);
                    }
                }
                '$' => self.read_dollar(),
                '`' => {
                    let inner = self.take_until('`');
                    self.read_substitution(&inner);
                }
                other => self.push_letter(other),
            }
        }
    }

    /// Reads a `$`: `$(…)` holds commands; any other text stays as it is written.
    fn read_dollar(&mut self) {
        self.push_letter('$');
        if self.rest.next_if_eq(&'(').is_none() {
            return;
        }
        let mut inner = String::new();
        let mut open = 1;
        for letter in self.rest.by_ref() {
            match letter {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                break;
            }
            inner.push(letter);
        }
        self.read_substitution(&inner);
        self.push_text("()");
    }

    fn read_substitution(&mut self, inner: &str) {
        self.push_text("");
        self.found.extend(split_commands(inner, self.depth + 1));
    }

    fn read_redirection(&mut self, sign: char) {
        // A descriptor number before it is no word.
        if self.word.as_deref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        let mut signs = 1;
        while self.rest.next_if_eq(&sign).is_some() {
            signs += 1;
        }
        let to_descriptor = self.rest.next_if_eq(&'&').is_some();
        self.rest.next_if(|next| "|-".contains(*next));
        self.target = match (sign, signs) {
            ('>', _) if !to_descriptor => WordRole::Write,
            ('<', 2) => WordRole::HereEnd,
            _ => WordRole::Read,
        };
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.target, WordRole::Word) {
            WordRole::Write => self.command.writes.push(word),
            WordRole::Read => {}
            WordRole::HereEnd => self.here.push(word),
            // Part of the grammar, or an assignment before the program.
            WordRole::Word
                if self.command.words.is_empty()
                    && (RESERVED.contains(&word.as_str()) || is_assignment(&word)) => {}
            WordRole::Word => self.command.words.push(word),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.target = WordRole::Word;
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() || !command.writes.is_empty() {
            self.found.push(command);
        }
    }

    /// Ends a command, or a group that has just ended, whose output goes through a pipe.
    fn end_piped_command(&mut self) {
        self.end_command();
        if let Some(before) = self.found.last_mut() {
            before.is_piped = true;
        }
    }

    fn skip_line(&mut self) {
        while self.rest.next_if(|letter| *letter != '\n').is_some() {}
    }

    /// Skips the text of here-documents, which holds no commands.
    fn skip_here_documents(&mut self) {
        for end in std::mem::take(&mut self.here) {
            while self.rest.peek().is_some() {
                let line = self.take_until('\n');
                if line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

/// Builtins of the shell; an allowlist of programs need not name them.
pub(super) const BUILT_IN: &[&str] = &[
    "cd", "echo", "printf", "test", "[", "[[", "true", "false", "export", "set", "unset", "read",
    "pwd", "wait", "exit", "return", "local", "shift", "trap", "umask", ":", "for", "case", "eval",
    "exec", "command", "builtin", "type", "source", ".",
];
/// Shells, whose `-c` holds commands.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// A program that runs the rest of its words, and those of its options that take a value.
struct CommandWrapper {
    name: &'static str,
    with_value: &'static [&'static str],
    /// Number of its own words after its options.
    own_words: usize,
}

const fn plain_wrapper(name: &'static str, with_value: &'static [&'static str]) -> CommandWrapper {
    CommandWrapper { name, with_value, own_words: 0 }
}

const WRAPPERS: &[CommandWrapper] = &[
    plain_wrapper("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t"]),
    plain_wrapper("doas", &["-u", "-C"]),
    plain_wrapper("env", &["-u", "-C", "--unset", "--chdir"]),
    plain_wrapper("nohup", &[]),
    plain_wrapper("setsid", &[]),
    plain_wrapper("time", &["-f", "-o"]),
    plain_wrapper("exec", &["-a"]),
    plain_wrapper("command", &[]),
    plain_wrapper("builtin", &[]),
    plain_wrapper("nice", &["-n"]),
    plain_wrapper("ionice", &["-c", "-n", "-p"]),
    plain_wrapper("stdbuf", &["-i", "-o", "-e"]),
    plain_wrapper("xargs", &["-n", "-I", "-P", "-L", "-d", "-s", "-a", "-E"]),
    CommandWrapper { name: "timeout", with_value: &["-s", "-k"], own_words: 1 },
];

/// Returns every simple command that `text` starts, however it is wrapped.
pub(super) fn find_commands(text: &str) -> Vec<SimpleCommand> {
    let mut found = Vec::new();
    for simple in split_commands(text, 0) {
        unwrap_command(simple, 0, &mut found);
    }
    found
}

/// Returns every program that a line of shell starts, with its arguments; leaves out the shell's
/// builtins.
pub fn list_programs(line: &str) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    for SimpleCommand { words, .. } in find_commands(line) {
        let words: Vec<String> = words.into_iter().skip_while(|word| is_assignment(word)).collect();
        let own = words.first().is_none_or(|first| BUILT_IN.contains(&first.as_str()));
        if !own || words.first().is_some_and(|first| first == "." || first == "source") {
            found.push(words);
        }
    }
    found
}

/// Returns the program that is all that a line of shell runs, apart from `cd`.
pub(crate) fn find_only_program(line: &str) -> Option<String> {
    let mut commands = split_commands(line, 0);
    commands.retain(|command| command.words.first().is_none_or(|word| word != "cd"));
    let [SimpleCommand { words, writes, .. }] = &commands[..] else { return None };
    let program = words.iter().find(|word| !is_assignment(word))?;
    writes.is_empty().then(|| program.clone())
}

/// Returns whether a failure of a program of this line is lost in a pipe, because the line ends with
/// the exit code of the pipe's last program.
pub(crate) fn loses_exit_code(line: &str) -> bool {
    let keeps = ["pipefail", "PIPESTATUS", "pipestatus"];
    !keeps.iter().any(|word| line.contains(word))
        && find_commands(line).iter().any(|command| command.is_piped)
}

/// Returns a line of shell without the redirections of its output; `None` if it has none.
pub(crate) fn strip_redirections(line: &str) -> Option<String> {
    let mut kept = String::new();
    let mut letters = line.chars().peekable();
    let mut quote = None;
    let mut has_any = false;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) => {
                kept.push(letter);
                if letter == '\\' && open == '"' {
                    kept.extend(letters.next());
                } else if letter == open {
                    quote = None;
                }
            }
            (None, '\'' | '"') => {
                quote = Some(letter);
                kept.push(letter);
            }
            (None, '\\') => {
                kept.push(letter);
                kept.extend(letters.next());
            }
            (None, '>') => {
                has_any = true;
                // A descriptor number before it belongs to it.
                kept.truncate(kept.trim_end_matches(|digit: char| digit.is_ascii_digit()).len());
                while letters.next_if(|next| ">&| ".contains(*next)).is_some() {}
                while letters
                    .next_if(|next| !next.is_whitespace() && !";&|)".contains(*next))
                    .is_some()
                {}
            }
            (None, _) => kept.push(letter),
        }
    }
    has_any.then(|| kept.trim().to_owned())
}

/// Returns the name of a program without its folder.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn unwrap_command(simple: SimpleCommand, depth: usize, found: &mut Vec<SimpleCommand>) {
    let inner = if depth < DEPTH_MAX { find_started(&simple.words) } else { Vec::new() };
    found.push(simple);
    for simple in inner {
        unwrap_command(simple, depth + 1, found);
    }
}

/// Returns the commands that a program starts according to its arguments.
fn find_started(words: &[String]) -> Vec<SimpleCommand> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let name = base_name(program);
    if SHELLS.contains(&name) {
        return find_shell_script(arguments)
            .map(|script| split_commands(script, 0))
            .unwrap_or_default();
    }
    match name {
        "eval" => split_commands(&arguments.join(" "), 0),
        "find" => find_executed(arguments),
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) => {
                vec![SimpleCommand::from_words(skip_wrapper_words(wrapper, arguments))]
            }
            None => Vec::new(),
        },
    }
}

/// Returns whether a command is a shell that runs the script in its arguments and nothing else: `-rcfile` is
/// an option with a `c` too, and a file follows it.
pub(super) fn runs_script_of_arguments(words: &[String]) -> bool {
    let [program, option, script, ..] = words else { return false };
    SHELLS.contains(&base_name(program))
        && ["-c", "-lc"].contains(&option.as_str())
        && !script.starts_with(['-', '+'])
}

/// Returns the commands of `sh -c`: the word after the options that hold a `c`.
fn find_shell_script(arguments: &[String]) -> Option<&str> {
    let at = arguments
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))?;
    let after = arguments.get(at + 1..)?;
    after.iter().find(|word| !word.starts_with('-')).map(String::as_str)
}

/// Returns the commands that `find` runs for each file.
fn find_executed(arguments: &[String]) -> Vec<SimpleCommand> {
    let runs = |word: &String| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let starts = arguments.iter().enumerate().filter(|(_, word)| runs(word));
    let ends = |word: &String| word == ";" || word == "+";
    starts
        .map(|(at, _)| {
            let command = &arguments[at + 1..];
            let end = command.iter().position(ends).unwrap_or(command.len());
            SimpleCommand::from_words(&command[..end])
        })
        .collect()
}

/// Returns the words after a wrapper's own.
fn skip_wrapper_words<'w>(wrapper: &CommandWrapper, arguments: &'w [String]) -> &'w [String] {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        if wrapper.with_value.contains(&word.as_str()) {
            at += 2;
        } else if word.starts_with('-') || is_assignment(word) {
            at += 1;
        } else {
            break;
        }
    }
    arguments.get(at + wrapper.own_words..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(text: &str) -> Vec<String> {
        split_commands(text, 0).into_iter().map(|simple| simple.words.join(" ")).collect()
    }

    #[test]
    fn every_program_of_a_line_is_found() {
        let table: [(&str, &[&str]); 14] = [
            ("ls -l", &["ls -l"]),
            ("a && b || c; d | e & f", &["a", "b", "c", "d", "e", "f"]),
            ("a\nb", &["a", "b"]),
            ("echo 'a; b' \"c && d\" e\\;f", &["echo a; b c && d e;f"]),
            ("echo $(rm -rf x) `git push`", &["rm -rf x", "git push", "echo $() "]),
            ("echo \"$(a $(b))\"", &["b", "a $()", "echo $()"]),
            ("X=1 Y=2 make all", &["make all"]),
            ("if test -f a; then b; else c; fi", &["test -f a", "b", "c"]),
            ("( cd x && make ) 2>&1", &["cd x", "make"]),
            ("a # b; c\nd", &["a", "d"]),
            ("cat <<EOF\nrm -rf /\nEOF\nls", &["cat", "ls"]),
            ("cat <<-'END' > f\n\trm\n\tEND\nls", &["cat", "ls"]),
            ("{ a; }", &["a"]),
            ("a 'unfinished", &["a unfinished"]),
        ];
        for (text, expected) in table {
            assert_eq!(seen(text), expected, "{text}");
        }
    }

    #[test]
    fn a_pipe_loses_the_exit_code_of_all_but_its_last_program() {
        for line in [
            "make test | tail -3", "make test 2>&1 | tee log", "make test |& cat", "(a; b) | cat",
            "{ a; } | cat", "sh -c 'a | b'", "a || b | c", "a && b | c; d",
        ] {
            assert!(loses_exit_code(line), "{line}");
        }
        for line in [
            "make test",
            "a || b",
            "echo 'a | b'",
            "grep \"a|b\" c",
            "a > b",
            "a >| b",
            "a # b | c",
            "bash -o pipefail -c 'a | b'",
            "set -o pipefail; a | b",
            "bash -c 'a | b; exit ${PIPESTATUS[0]}'",
            "",
        ] {
            assert!(!loses_exit_code(line), "{line}");
        }
    }

    #[test]
    fn where_output_goes_is_seen() {
        let writes =
            |text: &str| split_commands(text, 0).into_iter().flat_map(|s| s.writes).collect();
        let cases: [(&str, &[&str]); 4] = [
            ("a > b", &["b"]),
            ("a 2>>b <c", &["b"]),
            ("a >|'b c'", &["b c"]),
            ("> /dev/sda", &["/dev/sda"]),
        ];
        for (text, expected) in cases {
            let found: Vec<String> = writes(text);
            assert_eq!(found, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_to_an_end(text in any::<String>()) {
            let _ = split_commands(&text, 0);
        }

        #[test]
        fn any_shell_comes_to_an_end(text in "[a$(){}`'\"<>|&;#\\\\ \n=]{0,80}") {
            let _ = split_commands(&text, 0);
        }
    }

    #[test]
    fn a_program_is_found_behind_others() {
        let table = [
            ("sudo -u root rm -rf /", "rm -rf /"),
            ("env -u A B=1 git push", "git push"),
            ("sh -c 'cd x && git push'", "git push"),
            ("bash -lc \"npm publish\"", "npm publish"),
            ("/usr/bin/env bash -e -c 'gh pr create'", "gh pr create"),
            ("nohup timeout 5 nice -n 3 make", "make"),
            ("timeout -s KILL 5 make", "make"),
            ("echo x | xargs -n 1 rm -r", "rm -r"),
            ("find . -name x -exec rm -rf {} \\;", "rm -rf {}"),
            ("eval git push", "git push"),
            ("sh -c \"sh -c 'sh -c reboot'\"", "reboot"),
        ];
        for (text, expected) in table {
            let found: Vec<String> =
                find_commands(text).iter().map(|s| s.words.join(" ")).collect();
            assert!(found.iter().any(|found| found == expected), "{text}: {found:?}");
        }
    }

    #[test]
    fn commands_within_commands_are_not_followed_for_ever() {
        let mut text = "reboot".to_owned();
        for _ in 0..40 {
            text = format!("eval eval {text}");
        }
        assert!(find_commands(&text).len() < 100);
    }
}
