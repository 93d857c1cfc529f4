//! The shop of the demo: a real repository, its remote, and a hosting account with a revoked key.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use unstuck_core::fault::{Fault, Tool};

use crate::error::CliError;

const FILES: [(&str, &str); 11] = [
    ("README.md", include_str!("shop/README.md")),
    ("deploy.sh", include_str!("shop/deploy.sh")),
    ("billing/prices.toml", include_str!("shop/billing/prices.toml")),
    ("src/client.sh", include_str!("shop/src/client.sh")),
    ("src/importer.sh", include_str!("shop/src/importer.sh")),
    ("src/settings.sh", include_str!("shop/src/settings.sh")),
    ("src/webhook.sh", include_str!("shop/src/webhook.sh")),
    ("tests/client.sh", include_str!("shop/tests/client.sh")),
    ("tests/importer.sh", include_str!("shop/tests/importer.sh")),
    ("tests/settings.sh", include_str!("shop/tests/settings.sh")),
    ("tests/webhook.sh", include_str!("shop/tests/webhook.sh")),
];
/// The hook that lets the first push arrive while its response is lost.
const HOOK: &str = include_str!("shop/reference-transaction");
/// The owner of the shop.
pub(super) const PERSON: (&str, &str) = ("Ada", "ada@example.org");
/// The date of the first commit, fixed so that the same night leads to the same commits.
const OPENED: &str = "@43200 +0000";

/// The folder of the shop.
pub(super) struct DemoShop {
    folder: PathBuf,
}

impl DemoShop {
    /// Opens the shop in a folder, and creates it if there is none.
    pub(super) fn open(folder: &Path) -> Result<Self, CliError> {
        let shop = Self { folder: folder.join("shop") };
        if !shop.folder.exists() {
            // Created under another name, so that a kill leaves no partial shop.
            let making = Self { folder: folder.join("making") };
            let place = |source| folder_error(&making.folder, source);
            let _ = fs::remove_dir_all(&making.folder);
            making.create_files()?;
            fs::rename(&making.folder, &shop.folder).map_err(place)?;
        }
        Ok(shop)
    }

    /// Returns the path of the owner's repository.
    pub(super) fn repository_path(&self) -> PathBuf {
        self.folder.join("repository")
    }

    /// Returns the path of the remote repository.
    pub(super) fn remote_path(&self) -> PathBuf {
        self.folder.join("remote.git")
    }

    /// Returns the path of the hosting account.
    pub(super) fn hosting_path(&self) -> PathBuf {
        self.folder.join("hosting")
    }

    /// Renews the key of the hosting account, as a person would.
    pub(super) fn renew_key(&self) -> Result<(), CliError> {
        write_file(&self.hosting_path().join("key"), "renewed\n")
    }

    fn create_files(&self) -> Result<(), CliError> {
        let repository = self.repository_path();
        for (path, text) in FILES {
            write_file(&repository.join(path), text)?;
        }
        run_git(&repository, &["init", "--quiet", "--initial-branch=main"])?;
        run_git(&repository, &["add", "--all"])?;
        run_git(&repository, &["commit", "--quiet", "--message=A small shop"])?;
        let remote = self.remote_path();
        fs::create_dir(&remote).map_err(|source| folder_error(&remote, source))?;
        run_git(&remote, &["init", "--quiet", "--bare", "--initial-branch=main"])?;
        let hook = remote.join("hooks/reference-transaction");
        write_file(&hook, HOOK)?;
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755))
            .map_err(|source| folder_error(&hook, source))?;
        write_file(&self.hosting_path().join("key"), "revoked\n")
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), CliError> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|source| folder_error(path, source))
}

/// Runs git without any settings of the user.
fn run_git(directory: &Path, args: &[&str]) -> Result<(), CliError> {
    let (name, email) = PERSON;
    let mut command = Command::new("git");
    command.current_dir(directory).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), name).env(format!("GIT_{who}_EMAIL"), email);
        command.env(format!("GIT_{who}_DATE"), OPENED);
    }
    let Output { status, stderr, .. } = command.output().map_err(|error| {
        let tool = Tool { command: Some("git".to_owned()), ..Tool::default() };
        Fault::tool_missing("demo", format!("git cannot be started: {error}"), tool)
    })?;
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&stderr).trim().to_owned();
    Err(folder_error(Path::new("git"), io::Error::other(said)))
}

fn folder_error(place: &Path, source: io::Error) -> CliError {
    CliError::Folder { place: place.display().to_string(), source }
}
