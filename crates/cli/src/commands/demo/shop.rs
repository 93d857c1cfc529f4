//! The shop of the demo: a real repository, its remote, and a hosting account with a revoked key.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use unstuck_core::fault::{Fault, Tool};

use crate::error::Error;

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
pub(super) struct Shop {
    folder: PathBuf,
}

impl Shop {
    /// Opens the shop in a folder, and creates it if there is none.
    pub(super) fn open(folder: &Path) -> Result<Self, Error> {
        let shop = Self { folder: folder.join("shop") };
        if !shop.folder.exists() {
            // Created under another name, so that a kill leaves no partial shop.
            let making = Self { folder: folder.join("making") };
            let place = |source| unusable(&making.folder, source);
            let _ = fs::remove_dir_all(&making.folder);
            making.make()?;
            fs::rename(&making.folder, &shop.folder).map_err(place)?;
        }
        Ok(shop)
    }

    /// Returns the path of the owner's repository.
    pub(super) fn repository(&self) -> PathBuf {
        self.folder.join("repository")
    }

    /// Returns the path of the remote repository.
    pub(super) fn remote(&self) -> PathBuf {
        self.folder.join("remote.git")
    }

    /// Returns the path of the hosting account.
    pub(super) fn hosting(&self) -> PathBuf {
        self.folder.join("hosting")
    }

    /// Renews the key of the hosting account, as a person would.
    pub(super) fn renew_key(&self) -> Result<(), Error> {
        write(&self.hosting().join("key"), "renewed\n")
    }

    fn make(&self) -> Result<(), Error> {
        let repository = self.repository();
        for (path, text) in FILES {
            write(&repository.join(path), text)?;
        }
        git(&repository, &["init", "--quiet", "--initial-branch=main"])?;
        git(&repository, &["add", "--all"])?;
        git(&repository, &["commit", "--quiet", "--message=A small shop"])?;
        let remote = self.remote();
        fs::create_dir(&remote).map_err(|source| unusable(&remote, source))?;
        git(&remote, &["init", "--quiet", "--bare", "--initial-branch=main"])?;
        let hook = remote.join("hooks/reference-transaction");
        write(&hook, HOOK)?;
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755))
            .map_err(|source| unusable(&hook, source))?;
        write(&self.hosting().join("key"), "revoked\n")
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|source| unusable(path, source))
}

/// Runs git without any settings of the user.
fn git(directory: &Path, args: &[&str]) -> Result<(), Error> {
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
    Err(unusable(Path::new("git"), io::Error::other(said)))
}

fn unusable(place: &Path, source: io::Error) -> Error {
    Error::Folder { place: place.display().to_string(), source }
}
