//! Finds the executable of an agent program, and its version.

use std::env::consts::{ARCH, OS};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::timeout;
use unstuck_core::fault::{Fault, Provider};

use crate::regular_file::is_executable;

/// Returns the program `name`, as a shell would find it along `path`. A name with a slash is a path
/// itself.
pub fn find_program(name: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return Some(PathBuf::from(name)).filter(|file| is_executable(file));
    }
    let directories = path.map(std::env::split_paths)?;
    directories.map(|directory| directory.join(name)).find(|file| is_executable(file))
}

pub(in crate::provider) fn check_program(program: &Path, source: &str) -> Result<(), Fault> {
    let found = match (program.is_absolute(), program.exists(), is_executable(program)) {
        (true, true, true) => return Ok(()),
        (false, ..) => "is no absolute path",
        (_, false, _) => "is not there",
        (_, _, false) => "may not be executed",
    };
    let message = format!("{} {found}", program.display());
    let provider = Provider { name: source.to_owned(), model: None };
    Err(Fault::provider_not_available(source, message, provider))
}

/// Returns the program itself if `found` is the script with which npm starts it.
///
/// The script stays in between as a process of its own, and if it is killed the program below it
/// goes on. The package of the platform lies beside the script's package or inside it.
pub(in crate::provider) fn find_native_program(found: &Path, scope: &str, name: &str) -> PathBuf {
    let script = found.canonicalize().unwrap_or_else(|_| found.to_owned());
    let is_script = script.extension().is_some_and(|ending| ending == "js");
    let packages = script.ancestors().skip(1).filter(|_| is_script).flat_map(|above| {
        [above.join("node_modules").join(scope), above.parent().unwrap_or(above).to_owned()]
    });
    let platform = platform_folder(name);
    packages
        .map(|packages| packages.join(&platform).join("bin").join(name))
        .find(|program| is_executable(program))
        .unwrap_or_else(|| found.to_owned())
}

/// Returns the folder of the programs in a platform's package, as npm and Rust name platforms.
fn platform_folder(name: &str) -> PathBuf {
    let architecture = match ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let (system, triple) = match OS {
        "macos" => ("darwin", format!("{ARCH}-apple-darwin")),
        other => (other, format!("{ARCH}-unknown-linux-musl")),
    };
    Path::new(&format!("{name}-{system}-{architecture}")).join("vendor").join(triple)
}

/// Timeout of the query. Some programs start a whole runtime first.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of bytes to read: a version is one short line.
const SAID_BYTES_MAX: u64 = 4 * 1_024;

/// Returns the first line of the output of `--version`, which makes no call to a model; `None` if
/// the program fails or does not answer in time.
pub async fn query_version(program: &Path) -> Option<String> {
    timeout(PATIENCE, run_version_command(program)).await.ok()?
}

async fn run_version_command(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut said = Vec::new();
    child.stdout.take()?.take(SAID_BYTES_MAX).read_to_end(&mut said).await.ok()?;
    let ended = child.wait().await.ok()?;
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    line.filter(|_| ended.success()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use unstuck_core::fault::Code;

    use super::*;

    fn program(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    // T4.6
    #[test]
    fn what_is_not_there_or_not_executable_is_not_available() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("agent");
        let code = |file: &Path| check_program(file, "x").err().map(|fault| fault.code());
        assert_eq!(code(&file), Some(Code::ProviderNotAvailable));
        fs::write(&file, "").unwrap();
        assert_eq!(code(&file), Some(Code::ProviderNotAvailable));
        assert_eq!(find_program(OsStr::new("agent"), Some(place.path().as_os_str())), None);
        program(&file);
        assert_eq!(code(&file), None);
        assert_eq!(find_program(OsStr::new("agent"), Some(place.path().as_os_str())), Some(file));
        assert_eq!(find_program(OsStr::new("agent"), None), None);
    }

    #[test]
    fn the_program_behind_the_script_of_npm_is_found() {
        for inside in
            ["lib/node_modules/@openai", "lib/node_modules/@openai/codex/node_modules/@openai"]
        {
            let place = tempfile::tempdir().unwrap();
            let root = place.path().canonicalize().unwrap();
            let script = root.join("lib/node_modules/@openai/codex/bin/codex.js");
            program(&script);
            let link = root.join("codex");
            symlink(&script, &link).unwrap();
            assert_eq!(find_native_program(&link, "@openai", "codex"), link);
            let below = root.join(inside).join(platform_folder("codex")).join("bin/codex");
            program(&below);
            assert_eq!(find_native_program(&link, "@openai", "codex"), below);
            assert_eq!(find_native_program(&below, "@openai", "codex"), below);
        }
    }

    #[tokio::test]
    async fn a_program_says_its_version_or_nothing() {
        let place = tempfile::tempdir().unwrap();
        let cases = [
            ("printf '\\n 1.2.3 (Agent)\\nmore'", Some("1.2.3 (Agent)")),
            ("echo 1.2.3; exit 1", None),
            ("exit 0", None),
        ];
        for (n, (script, says)) in cases.into_iter().enumerate() {
            let program = place.path().join(n.to_string());
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(query_version(&program).await.as_deref(), says, "{script}");
        }
        assert_eq!(query_version(&place.path().join("nowhere")).await, None);
    }
}
