//! Splits a line of shell into its simple commands.
//!
//! It knows enough of the shell's grammar to find program names: quoting, separators of commands,
//! substitutions, redirections and here-documents. It expands nothing. Text that is no proper shell
//! gives whatever can be recognized in it, and never fails.

use std::iter::Peekable;
use std::str::Chars;

/// Maximum depth to which nested commands are followed.
pub(super) const DEPTH_MAX: usize = 8;

/// A program with its arguments, as they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// The program and its arguments, without quotes.
    pub(super) words: Vec<String>,
    /// The files to which redirections send its output.
    pub(super) writes: Vec<String>,
}

impl SimpleCommand {
    pub(super) fn from_words(words: &[String]) -> Self {
        Self { words: words.to_vec(), writes: Vec::new() }
    }
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
            WordRole::Word if self.command.words.is_empty() && is_no_program(&word) => {}
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

/// Returns whether a word before the program is part of the grammar, or an assignment.
fn is_no_program(word: &str) -> bool {
    RESERVED.contains(&word) || is_assignment(word)
}

pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    })
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
}
