//! The border between an agent's repository and the operator's.
//!
//! An agent's repository takes over settings about how files are written, filters, and the names of
//! remotes. It gets no setting that runs a program by itself, and no credential. Objects of it are
//! brought into the operator's repository as data that is checked.

use std::fmt::Write as _;
use std::path::Path;

use unstuck_core::fault::Fault;

use super::fail::GitAction;
use super::git::Git;
use super::object::Oid;

/// Settings below `core` that say how files and objects are written.
const CORE: [&str; 18] = [
    "abbrev", "autocrlf", "bigfilethreshold", "commentchar", "compression", "eol", "filemode",
    "ignorecase", "longpaths", "precomposeunicode", "protecthfs", "protectntfs", "quotepath",
    "safecrlf", "sparsecheckout", "sparsecheckoutcone", "symlinks", "whitespace",
];
/// Sections that are taken over completely.
const WHOLE: [&str; 5] = ["diff", "filter", "i18n", "merge", "user"];
/// Settings of a remote about fetching. Its push address is replaced.
const REMOTE: [&str; 5] = ["fetch", "partialclonefilter", "promisor", "tagopt", "url"];
const BRANCH: [&str; 2] = ["merge", "remote"];
/// Formats of objects that every repository which reads them has to name.
const EXTENSIONS: [&str; 2] = ["objectformat", "partialclone"];

#[derive(Clone, Debug, PartialEq, Eq)]
struct RepositorySetting {
    section: String,
    subsection: Option<String>,
    key: String,
    value: String,
}

impl Git {
    /// Returns the settings for an agent's repository, as the text of a file. Pushing to any remote
    /// leads to `refused`, an address that no transport knows.
    pub(crate) async fn render_agent_settings(&self, refused: &str) -> Result<String, Fault> {
        let call = self.call(GitAction::Look).args(["config", "--null", "--list", "--show-scope"]);
        let listed = call.run().await?.stdout;
        Ok(render_settings(&parse_own_settings(&String::from_utf8_lossy(&listed)), refused))
    }
}

/// Parses the settings of the repository itself, without those of the user or the machine.
fn parse_own_settings(listed: &str) -> Vec<RepositorySetting> {
    let mut found = Vec::new();
    let mut records = listed.split('\0');
    while let (Some(scope), Some(record)) = (records.next(), records.next()) {
        if scope != "local" && scope != "worktree" {
            continue;
        }
        // A key without a value means true.
        let (name, value) = record.split_once('\n').unwrap_or((record, "true"));
        let Some((section, rest)) = name.split_once('.') else { continue };
        let (subsection, key) = match rest.rsplit_once('.') {
            Some((subsection, key)) => (Some(subsection.to_owned()), key),
            None => (None, rest),
        };
        let section = section.to_owned();
        let key = key.to_owned();
        found.push(RepositorySetting { section, subsection, key, value: value.to_owned() });
    }
    found
}

fn is_kept_for_agent(setting: &RepositorySetting) -> bool {
    let has = |list: &[&str]| list.contains(&setting.key.as_str());
    match setting.section.as_str() {
        "core" => has(&CORE),
        "remote" => has(&REMOTE),
        "branch" => has(&BRANCH),
        "extensions" => has(&EXTENSIONS),
        "url" => {
            let address = setting.subsection.as_deref();
            setting.key == "insteadof" && address.and_then(find_login).is_none()
        }
        section => WHOLE.contains(&section),
    }
}

fn render_settings(settings: &[RepositorySetting], refused: &str) -> String {
    let wanted: Vec<&RepositorySetting> =
        settings.iter().filter(|setting| is_kept_for_agent(setting)).collect();
    let extended = wanted.iter().any(|setting| setting.section == "extensions");
    let mut text = format!(
        "[core]\n\trepositoryformatversion = {}\n\tbare = false\n\tlogallrefupdates = true\n\
         [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n",
        u8::from(extended)
    );
    for setting in wanted {
        let value = match (setting.section.as_str(), setting.key.as_str()) {
            ("remote", "url") => strip_password(&setting.value),
            _ => setting.value.clone(),
        };
        let section = &setting.section;
        let subsection = setting.subsection.as_deref();
        render_setting(&mut text, (section, subsection), &setting.key, &value);
        if (section.as_str(), setting.key.as_str()) == ("remote", "url") {
            render_setting(&mut text, (section, subsection), "pushurl", refused);
        }
    }
    text
}

fn render_setting(
    text: &mut String,
    (section, subsection): (&str, Option<&str>),
    key: &str,
    value: &str,
) {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"");
    let _ = match subsection {
        Some(subsection) => writeln!(text, "[{section} \"{}\"]", escaped(subsection)),
        None => writeln!(text, "[{section}]"),
    };
    let value = escaped(value).replace('\n', "\\n").replace('\t', "\\t");
    let _ = writeln!(text, "\t{key} = \"{value}\"");
}

/// Returns the part of an HTTP address before the host, which may be a credential.
fn find_login(address: &str) -> Option<&str> {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
    let host = rest.split('/').next().unwrap_or_default();
    host.rsplit_once('@').map(|(user, _)| user)
}

fn strip_password(address: &str) -> String {
    match find_login(address) {
        Some(user) => address.replacen(&format!("{user}@"), "", 1),
        None => address.to_owned(),
    }
}

impl Git {
    /// Returns whether an object is in this repository.
    pub(crate) async fn has_object(&self, object: &Oid) -> Result<bool, Fault> {
        let call = self.call(GitAction::Look).args(["cat-file", "-e", object.as_str()]);
        Ok(call.run_expecting(&[0, 1, 128]).await?.status == 0)
    }

    /// Brings `object` and all that it needs beyond `known` into this repository from the folder
    /// `objects`, which an agent has written. Reads only data from there: no settings, no refs and
    /// no hooks. Each object's hash is computed anew, and a malformed one is refused.
    pub(crate) async fn import_objects(
        &self,
        objects: &Path,
        object: &Oid,
        known: &Oid,
    ) -> Result<(), Fault> {
        let call = self.call(GitAction::Look).args(["pack-objects", "--quiet", "--revs"]);
        let call = call.args(["--stdout", "--no-reuse-object", "--threads=1"]);
        let call = call.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
        let pack = call.input(format!("{object}\n^{known}\n")).run().await?.stdout;
        let call = self.call(GitAction::Commit).args(["unpack-objects", "-q", "--strict"]);
        call.input(pack).with_reference(object.as_str()).run().await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(listed: &[(&str, &str, &str)]) -> String {
        let record =
            |(scope, name, value): &(&str, &str, &str)| format!("{scope}\0{name}\n{value}\0");
        render_settings(
            &parse_own_settings(&listed.iter().map(record).collect::<String>()),
            "nowhere::",
        )
    }

    #[test]
    fn what_runs_by_itself_and_credentials_stay_behind() {
        let text = made(&[
            ("global", "filter.lfs.clean", "git-lfs clean"),
            ("local", "core.filemode", "false"),
            ("local", "core.hookspath", "/hooks"),
            ("local", "core.fsmonitor", "./planted"),
            ("local", "core.sshcommand", "./planted"),
            ("local", "alias.x", "!./planted"),
            ("local", "credential.helper", "store"),
            ("local", "include.path", "/etc/more"),
            ("local", "http.https://x/.extraheader", "AUTHORIZATION: basic secret"),
            ("local", "url.https://secret@x/.insteadof", "short:"),
            ("local", "remote.origin.url", "https://me:secret@example.org/a.git"),
            ("local", "remote.origin.pushurl", "ssh://git@example.org/a.git"),
            ("local", "remote.a \"b\\.url", "git@example.org:a.git"),
            ("local", "filter.crypt.clean", "crypt \"%f\""),
            ("local", "extensions.objectformat", "sha256"),
            ("local", "extensions.refstorage", "reftable"),
        ]);
        for gone in ["planted", "secret", "hooks", "lfs", "include", "credential", "reftable"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        for there in [
            "repositoryformatversion = 1\n",
            "[core]\n\tfilemode = \"false\"\n",
            "[remote \"origin\"]\n\turl = \"https://example.org/a.git\"\n",
            "[remote \"origin\"]\n\tpushurl = \"nowhere::\"\n",
            "[remote \"a \\\"b\\\\\"]\n\turl = \"git@example.org:a.git\"\n",
            "[filter \"crypt\"]\n\tclean = \"crypt \\\"%f\\\"\"\n",
        ] {
            assert!(text.contains(there), "{there}: {text}");
        }
    }
}
