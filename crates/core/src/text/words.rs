//! The word lists of the linter. All in lower case and sorted, so that a lookup is a binary search.

/// Words that people outside the field do not use.
pub(super) const JARGON: &[&str] = &[
    "argv", "async", "backtrace", "bool", "boolean", "breakpoint", "callback", "checksum", "chmod",
    "chown", "coredump", "cron", "crontab", "ctrl", "daemon", "deadlock", "deserialise",
    "deserialize", "dns", "enum", "env", "errno", "exe", "filesystem", "fsync", "gid", "grep",
    "hostname", "http", "https", "idempotence", "idempotency", "idempotent", "indeterminate",
    "inode", "ioctl", "ipv4", "ipv6", "jwt", "kernel", "localhost", "malloc", "middleware",
    "mutex", "namespace", "nil", "noop", "null", "nullpointer", "nullptr", "oom", "param",
    "params", "pid", "posix", "ppid", "preflight", "regex", "regexes", "regexp", "repl",
    "resolver", "runtime", "segfault", "semaphore", "serialise", "serialize", "shim", "sigabrt",
    "sighup", "sigint", "sigkill", "sigpipe", "sigsegv", "sigterm", "sqlstate", "ssh", "ssl",
    "stacktrace", "stderr", "stdin", "stdlib", "stdout", "strace", "struct", "subprocess", "sudo",
    "symlink", "syscall", "tcp", "tls", "traceback", "tty", "udp", "uid", "undefined", "utf8",
    "uuid", "worktree", "worktrees",
];

/// Jargon of two plain words, sorted by both.
pub(super) const JARGON_PAIRS: &[(&str, &str)] = &[
    ("access", "denied"),
    ("assertion", "failed"),
    ("broken", "pipe"),
    ("call", "stack"),
    ("connection", "refused"),
    ("connection", "reset"),
    ("core", "dumped"),
    ("environment", "variable"),
    ("environment", "variables"),
    ("error", "code"),
    ("exit", "code"),
    ("exit", "status"),
    ("file", "descriptor"),
    ("name", "resolution"),
    ("null", "pointer"),
    ("race", "condition"),
    ("return", "code"),
    ("segmentation", "fault"),
    ("stack", "frame"),
    ("stack", "overflow"),
    ("stack", "trace"),
    ("status", "code"),
    ("status", "codes"),
    ("syntax", "error"),
    ("type", "error"),
    ("unhandled", "exception"),
    ("working", "directory"),
];

/// Commonly known names that look like identifiers or file names.
pub(super) const FAMILIAR: &[&str] = &[
    "airbnb", "bigquery", "bitbucket", "chatgpt", "cloudflare", "devops", "digitalocean",
    "doordash", "dropbox", "ebay", "facebook", "fedex", "github", "gitlab", "graphql", "hubspot",
    "icloud", "ios", "ipad", "iphone", "javascript", "linkedin", "macbook", "macos", "mailchimp",
    "mongodb", "mysql", "next.js", "node.js", "nuxt.js", "oauth", "openai", "openapi", "paypal",
    "phd", "postgresql", "powerpoint", "quickbooks", "saas", "sendgrid", "sharepoint", "sqlite",
    "tiktok", "typescript", "vue.js", "whatsapp", "wifi", "woocommerce", "wordpress", "youtube",
];

/// Two words separated by a slash that are not a path.
pub(super) const STROKES: &[&str] = &[
    "a/b", "and/or", "ci/cd", "he/she", "i/o", "input/output", "n/a", "on/off", "pass/fail",
    "read/write", "true/false", "w/o", "yes/no",
];

/// File name extensions.
pub(super) const EXTENSIONS: &[&str] = &[
    "bak", "bash", "bat", "bin", "bz2", "c", "cc", "cfg", "class", "cmd", "conf", "cpp", "cs",
    "css", "csv", "db", "dll", "doc", "docx", "dylib", "env", "exe", "gif", "go", "gz", "h", "hpp",
    "htm", "html", "ico", "ini", "ipynb", "jar", "java", "jpeg", "jpg", "js", "json", "jsx", "key",
    "kt", "lock", "log", "lua", "map", "md", "mjs", "o", "patch", "pdf", "pem", "php", "pl", "png",
    "ps1", "py", "pyc", "rb", "rs", "scss", "sh", "so", "sql", "sqlite", "svg", "swift", "tar",
    "tf", "tmp", "toml", "ts", "tsx", "txt", "vue", "wasm", "xls", "xlsx", "xml", "yaml", "yml",
    "zip", "zsh",
];

/// Countable nouns: a number before one of these is an amount, not a status.
pub(super) const COUNTED: &[&str] = &[
    "approaches", "attempts", "cents", "commands", "customers", "days", "different", "dollars",
    "emails", "euros", "files", "hours", "items", "jobs", "lines", "messages", "minutes", "more",
    "orders", "other", "page", "pages", "people", "percent", "questions", "rows", "seconds",
    "steps", "tasks", "tests", "times", "tries", "users", "words",
];

/// Numbered nouns: a number after one of these is an ordinal, not a status.
pub(super) const NUMBERED: &[&str] =
    &["approach", "attempt", "bill", "invoice", "of", "order", "part", "repair", "room", "step"];

/// Returns whether `word`, in lower case, is in a sorted list.
pub(super) fn is_listed(list: &[&str], word: &str) -> bool {
    list.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_in_lower_case() {
        for list in [JARGON, FAMILIAR, STROKES, EXTENSIONS, COUNTED, NUMBERED] {
            assert!(list.is_sorted(), "{:?}", list.windows(2).find(|pair| pair[0] > pair[1]));
            assert!(list.iter().all(|word| *word == word.to_lowercase()));
        }
        assert!(JARGON_PAIRS.is_sorted());
    }
}
