//! The certificates of authorities by which a server is recognised. The TLS library loads them: from
//! what `SSL_CERT_FILE` and `SSL_CERT_DIR` name in the environment of the process, or else from the
//! system. It makes no client without any, and does not say why there are none.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use unstuck_core::fault::{Config, Fault};

const FILE: &str = "SSL_CERT_FILE";
const FOLDERS: &str = "SSL_CERT_DIR";

/// Returns the fault of an environment from which no certificate can be loaded.
pub(super) fn missing_certificates_fault(source: &str, error: reqwest::Error) -> Fault {
    let file = env::var_os(FILE);
    let folders = env::var_os(FOLDERS);
    let (field, message) = describe_environment(file.as_deref(), folders.as_deref());
    let config = Config { field: Some(field.to_owned()), ..Config::default() };
    Fault::config_invalid(source, message, config).with_cause(error)
}

/// Returns the variable to correct, and what is wrong with the values of both.
fn describe_environment(file: Option<&OsStr>, folders: Option<&OsStr>) -> (&'static str, String) {
    let folders = folders.filter(|folders| env::split_paths(folders).any(|path| !is_empty(&path)));
    let named = [file.map(describe_file), folders.map(describe_folders)];
    let named: Vec<String> = named.into_iter().flatten().collect();
    let field = if file.is_some() || folders.is_none() { FILE } else { FOLDERS };
    let message = if named.is_empty() {
        format!(
            "this system has no certificates of authorities: install the package ca-certificates, \
             or name a file that has them with {FILE}"
        )
    } else {
        let named = named.join(", and ");
        format!("{named}: correct it, or unset it to use the certificates of the system")
    };
    (field, message)
}

fn describe_file(value: &OsStr) -> String {
    let path = Path::new(value);
    if is_empty(path) {
        return format!("{FILE} is set but empty");
    }
    let why = describe_content(fs::read(path).map(|_| ()));
    format!("{FILE} names the file {}, {why}", path.display())
}

fn describe_folders(value: &OsStr) -> String {
    let paths = env::split_paths(value).filter(|path| !is_empty(path));
    let folders: Vec<String> = paths
        .map(|path| {
            let why = describe_content(fs::read_dir(&path).map(|_| ()));
            format!("the folder {}, {why}", path.display())
        })
        .collect();
    format!("{FOLDERS} names {}", folders.join(", and "))
}

fn describe_content(read: io::Result<()>) -> String {
    match read {
        Ok(()) => "which holds no certificate".to_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => "which does not exist".to_owned(),
        Err(error) => format!("which cannot be read ({error})"),
    }
}

fn is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_with_the_variable_and_the_path() {
        let cases = [
            (
                Some("/nowhere.pem"),
                None,
                FILE,
                "SSL_CERT_FILE names the file /nowhere.pem, which does not exist: correct it",
            ),
            (Some("/dev/null"), None, FILE, "the file /dev/null, which holds no certificate: "),
            (Some("/"), None, FILE, "the file /, which cannot be read ("),
            (Some(""), Some(""), FILE, "SSL_CERT_FILE is set but empty: "),
            (
                None,
                Some("/nowhere:/proc/self/task"),
                FOLDERS,
                "SSL_CERT_DIR names the folder /nowhere, which does not exist, and the folder /proc/self/task, which holds no certificate: ",
            ),
            (
                Some("/nowhere.pem"),
                Some("/nowhere"),
                FILE,
                "which does not exist, and SSL_CERT_DIR names the folder /nowhere",
            ),
            (None, Some(":"), FILE, "install the package ca-certificates"),
        ];
        for (file, folders, field, says) in cases {
            let (named, message) =
                describe_environment(file.map(OsStr::new), folders.map(OsStr::new));
            assert_eq!(named, field, "{message}");
            assert!(message.contains(says), "{message}");
        }
    }
}
