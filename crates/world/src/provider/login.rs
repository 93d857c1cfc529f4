//! The operator's login, lent to an agent program as a copy in the program's own home. The folder of
//! the login holds settings, hooks and conversations, so a program never reaches it.
//!
//! The service may replace the token that renews a login. So a renewed copy replaces the operator's
//! tokens within a second, and after a crash at the next start: the record of the loan, which no
//! program reaches, says where the copy came from and what it was. Only the tokens are taken over.
//! If the operator's own login has changed meanwhile, it wins.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::sleep;
use unstuck_core::fault::Fault;

use super::account::AccountAuth;
use super::program;
use crate::process::FileLock;
use crate::regular_file::{allow_missing, read_regular};

/// Time between two comparisons of the copy and the login.
const COMPARED_EVERY: Duration = Duration::from_secs(1);
/// Size up to which a file is read as a login.
const LOGIN_BYTES_MAX: u64 = 256 * 1_024;
/// Length up to which a text is taken over as a token.
const TOKEN_CHARS_MAX: usize = 16 * 1_024;
/// Mode of a login, which no other user may read.
const PRIVATE: u32 = 0o600;

/// The file of a login, and the values in it, as JSON pointers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LoginFormat {
    /// The name of the file.
    pub(super) file: &'static str,
    /// The values that a renewal replaces.
    renewed: &'static [&'static str],
    /// The value that grows with each renewal.
    grows: &'static str,
    /// The values that name the account, which stays the same.
    account: &'static [&'static str],
}

pub(super) static CLAUDE: LoginFormat = LoginFormat {
    file: ".credentials.json",
    renewed: &[
        "/claudeAiOauth/accessToken",
        "/claudeAiOauth/refreshToken",
        "/claudeAiOauth/refreshTokenExpiresAt",
    ],
    grows: "/claudeAiOauth/expiresAt",
    account: &["/organizationUuid"],
};

pub(super) static CODEX: LoginFormat = LoginFormat {
    file: "auth.json",
    renewed: &["/tokens/id_token", "/tokens/access_token", "/tokens/refresh_token"],
    grows: "/last_refresh",
    account: &["/tokens/account_id", "/OPENAI_API_KEY"],
};

impl LoginFormat {
    /// Returns the login `theirs` with the tokens of its renewal `copy`; `None` if the copy is no
    /// renewal of this login.
    fn merge_renewal(&self, theirs: &[u8], copy: &[u8]) -> Option<Vec<u8>> {
        let mut theirs: Value = serde_json::from_slice(theirs).ok()?;
        let copy: Value = serde_json::from_slice(copy).ok()?;
        let known = |pointer: &&&str| theirs.pointer(pointer).zip(copy.pointer(pointer)).is_some();
        let same = |pointer: &&str| theirs.pointer(pointer) == copy.pointer(pointer);
        if !self.account.iter().filter(known).all(same)
            || !is_later(theirs.pointer(self.grows)?, copy.pointer(self.grows)?)
        {
            return None;
        }
        for pointer in self.renewed.iter().chain([&self.grows]) {
            let Some(old) = theirs.pointer_mut(pointer) else { continue };
            let new = copy.pointer(pointer)?;
            let fits = match (&*old, new) {
                (Value::String(_), Value::String(token)) => is_token(token),
                (Value::Number(_), Value::Number(_)) => true,
                _ => false,
            };
            if !fits {
                return None;
            }
            *old = new.clone();
        }
        serde_json::to_vec(&theirs).ok()
    }
}

fn is_later(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Number(old), Value::Number(new)) => {
            old.as_u64().zip(new.as_u64()).is_some_and(|(old, new)| new > old)
        }
        // Moments of one format and zone are ordered as texts.
        (Value::String(old), Value::String(new)) => new > old,
        _ => false,
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= TOKEN_CHARS_MAX && text.chars().all(|c| c.is_ascii_graphic())
}

/// The loan of a login, as it is on disk beside the home: what a renewal is compared with.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LoanRecord {
    /// The operator's file.
    origin: PathBuf,
    /// The hash of the operator's file.
    theirs: String,
    /// The hash of the copy.
    copy: String,
}

/// The copy of a login in the home of a program.
#[derive(Clone, Debug)]
pub(super) struct LoginCopy {
    format: &'static LoginFormat,
    home: PathBuf,
}

/// A lent login, for one run of a program. Dropped without [`LoginLoan::end`], it is settled by the
/// next loan or the next start.
#[derive(Debug)]
pub(super) struct LoginLoan {
    copy: LoginCopy,
    origin: PathBuf,
    /// A lock that all runs with this copy share, so that the last of them removes it.
    users: File,
}

impl LoginCopy {
    pub(super) fn in_home(format: &'static LoginFormat, home: &Path) -> Self {
        Self { format, home: home.to_owned() }
    }

    /// Lends the login in `directory` to a program that is about to start.
    pub(super) async fn lend(self, directory: &Path) -> io::Result<LoginLoan> {
        let origin = directory.join(self.format.file).canonicalize()?;
        let _turn = FileLock::acquire(&self.path_beside("turn")).await?;
        let users = self.open_users()?;
        users.try_lock_shared().map_err(io::Error::from)?;
        if let Some(record) = self.read_record() {
            self.settle(&record)?;
        }
        let lent = self.read_record().filter(|record| record.origin == origin);
        let theirs = fs::read(&origin)?;
        let is_lent = lent.is_some_and(|record| {
            record.theirs == hash(&theirs)
                && self.read_copy().is_some_and(|copy| record.copy == hash(&copy))
        });
        if !is_lent {
            self.place_copy(&origin, &theirs)?;
        }
        Ok(LoginLoan { copy: self, origin, users })
    }

    /// Takes a copy back that a killed process has left.
    async fn take_back(&self) -> io::Result<()> {
        if self.read_record().is_none() {
            return Ok(());
        }
        let _turn = FileLock::acquire(&self.path_beside("turn")).await?;
        if let Some(record) = self.read_record() {
            self.settle(&record)?;
            self.remove_unused()?;
        }
        Ok(())
    }

    /// Makes the copy and the operator's login agree: the operator's own change wins, and otherwise
    /// the renewal by a program. A copy that is neither stays as it is, because it may be a half.
    fn settle(&self, record: &LoanRecord) -> io::Result<()> {
        let Some(copy) = self.read_copy() else { return Ok(()) };
        let Some(theirs) = allow_missing(fs::read(&record.origin))? else { return Ok(()) };
        if record.theirs != hash(&theirs) {
            // A login that is just being written is looked at the next time.
            return match serde_json::from_slice::<Value>(&theirs) {
                Ok(_) => self.place_copy(&record.origin, &theirs),
                Err(_) => Ok(()),
            };
        }
        if record.copy == hash(&copy) {
            return Ok(());
        }
        let Some(merged) = self.format.merge_renewal(&theirs, &copy) else { return Ok(()) };
        let draft = record.origin.with_file_name(draft_name(self.format.file));
        write_whole(&record.origin, &draft, &merged)?;
        self.write_record(&record.origin, &merged, &copy)
    }

    /// Removes the copy, unless a program uses it.
    fn remove_unused(&self) -> io::Result<()> {
        if self.open_users()?.try_lock().is_err() {
            return Ok(());
        }
        allow_missing(fs::remove_file(self.copy_path()))?;
        allow_missing(fs::remove_file(self.path_beside("json"))).map(drop)
    }

    fn place_copy(&self, origin: &Path, text: &[u8]) -> io::Result<()> {
        let copy = self.copy_path();
        // The draft is not in the home, where a program could put a link in its place.
        let draft = self.path_beside("draft");
        if fs::symlink_metadata(&copy).is_ok_and(|found| found.is_dir()) {
            fs::remove_dir_all(&copy)?;
        }
        write_whole(&copy, &draft, text)?;
        self.write_record(origin, text, text)
    }

    fn write_record(&self, origin: &Path, theirs: &[u8], copy: &[u8]) -> io::Result<()> {
        let record =
            LoanRecord { origin: origin.to_owned(), theirs: hash(theirs), copy: hash(copy) };
        write_whole(
            &self.path_beside("json"),
            &self.path_beside("json.draft"),
            &serde_json::to_vec(&record)?,
        )
    }

    fn read_record(&self) -> Option<LoanRecord> {
        serde_json::from_slice(&fs::read(self.path_beside("json")).ok()?).ok()
    }

    fn read_copy(&self) -> Option<Vec<u8>> {
        read_regular(&self.copy_path(), LOGIN_BYTES_MAX).ok()
    }

    fn open_users(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(PRIVATE);
        options.open(self.path_beside("users"))
    }

    fn copy_path(&self) -> PathBuf {
        self.home.join(self.format.file)
    }

    /// Returns a path of this copy outside the home, which no program reaches.
    fn path_beside(&self, name: &str) -> PathBuf {
        let mut beside = self.home.file_name().unwrap_or_default().to_owned();
        beside.push(format!(".login.{name}"));
        self.home.with_file_name(beside)
    }
}

impl LoginLoan {
    /// Keeps the copy and the operator's login alike, for as long as the program runs.
    pub(super) async fn keep_current(&self) -> Infallible {
        loop {
            sleep(COMPARED_EVERY).await;
            // A copy that could not be compared is compared again, at the latest at the end.
            let _ = self.compare_once().await;
        }
    }

    /// Ends the loan once no process of the program is left. After an error the copy stays, and the
    /// next loan or the next start tries again.
    pub(super) async fn end(self) -> io::Result<()> {
        let _turn = FileLock::acquire(&self.copy.path_beside("turn")).await?;
        self.settle_own()?;
        drop(self.users);
        self.copy.remove_unused()
    }

    async fn compare_once(&self) -> io::Result<()> {
        let _turn = FileLock::acquire(&self.copy.path_beside("turn")).await?;
        self.settle_own()
    }

    fn settle_own(&self) -> io::Result<()> {
        let record = self.copy.read_record().filter(|record| record.origin == self.origin);
        record.map_or(Ok(()), |record| self.copy.settle(&record))
    }
}

/// Lends the login of an account to a program with this home; `None` if the account has a key.
pub(super) async fn lend_login(
    account: &AccountAuth,
    format: &'static LoginFormat,
    (home, source): (&Path, &str),
) -> Result<Option<LoginLoan>, Fault> {
    let AccountAuth::Login(directory) = account else { return Ok(None) };
    account.check_credential(source, format.file)?;
    let lent = LoginCopy::in_home(format, home).lend(directory).await;
    lent.map(Some).map_err(|error| program::home_fault(home, source).with_cause(error))
}

/// Runs a program with a lent login, and takes the login back at its end.
pub(super) async fn run_with_login<T>(loan: Option<LoginLoan>, run: impl Future<Output = T>) -> T {
    let Some(loan) = loan else { return run.await };
    let ended = tokio::select! {
        ended = run => ended,
        never = loan.keep_current() => match never {},
    };
    let _ = loan.end().await;
    ended
}

/// Takes the copies of logins back that a killed process has left in the homes below `homes`.
pub async fn take_logins_back(homes: &Path) -> io::Result<()> {
    for (format, home) in [(&CLAUDE, "claude"), (&CODEX, "codex")] {
        LoginCopy::in_home(format, &homes.join(home)).take_back().await?;
    }
    Ok(())
}

fn hash(text: &[u8]) -> String {
    blake3::hash(text).to_hex().to_string()
}

fn draft_name(file: &str) -> OsString {
    format!("{file}.unstuck-{}", std::process::id()).into()
}

/// Replaces a file as a whole; it keeps its owner.
fn write_whole(path: &Path, draft: &Path, text: &[u8]) -> io::Result<()> {
    allow_missing(fs::remove_file(draft))?;
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(draft)?;
        file.write_all(text)?;
        let before = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
        let made = file.metadata()?;
        if let Some(before) = before.filter(|before| before.uid() != made.uid()) {
            fchown(&file, Some(before.uid()), Some(before.gid()))?;
        }
        file.sync_all()?;
        fs::rename(draft, path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(draft);
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// A person's folder and the homes of a project.
    struct Place(TempDir);

    impl Place {
        fn new() -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            fs::create_dir_all(place.path("person")).unwrap();
            fs::create_dir_all(place.path("agents/claude")).unwrap();
            fs::write(place.persons(), claude("a1", 1)).unwrap();
            place
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn persons(&self) -> PathBuf {
            self.path("person/.credentials.json")
        }

        fn copy(&self) -> PathBuf {
            self.path("agents/claude/.credentials.json")
        }

        async fn lend(&self) -> LoginLoan {
            let copy = LoginCopy::in_home(&CLAUDE, &self.path("agents/claude"));
            copy.lend(&self.path("person")).await.unwrap()
        }

        fn persons_text(&self) -> String {
            fs::read_to_string(self.persons()).unwrap()
        }
    }

    fn claude(token: &str, expires: u64) -> String {
        format!(
            r#"{{"claudeAiOauth":{{"accessToken":"{token}","expiresAt":{expires},"refreshToken":"r"}},"other":1}}"#
        )
    }

    // B44: a login that was renewed before the program was killed is not lost.
    #[tokio::test]
    async fn a_renewal_before_a_crash_is_taken_back_at_the_next_start() {
        let place = Place::new();
        drop(place.lend().await);
        fs::write(place.copy(), claude("a2", 2)).unwrap();
        take_logins_back(&place.path("agents")).await.unwrap();
        assert_eq!(place.persons_text(), claude("a2", 2));
        assert!(!place.copy().exists());
        take_logins_back(&place.path("agents")).await.unwrap();
        drop(place.lend().await);
        fs::write(place.copy(), claude("a3", 3)).unwrap();
        place.lend().await.end().await.unwrap();
        assert_eq!(place.persons_text(), claude("a3", 3), "the next loan finds it too");
    }

    #[tokio::test]
    async fn the_login_of_the_person_wins_and_reaches_a_program_that_runs() {
        let place = Place::new();
        let loan = place.lend().await;
        fs::write(place.copy(), claude("a2", 2)).unwrap();
        fs::write(place.persons(), claude("own", 1)).unwrap();
        loan.compare_once().await.unwrap();
        assert_eq!(fs::read_to_string(place.copy()).unwrap(), claude("own", 1));
        loan.end().await.unwrap();
        assert_eq!(place.persons_text(), claude("own", 1));
    }

    #[tokio::test]
    async fn the_last_of_two_programs_removes_the_copy() {
        let place = Place::new();
        let (one, two) = (place.lend().await, place.lend().await);
        one.end().await.unwrap();
        assert!(place.copy().exists());
        fs::write(place.copy(), claude("a2", 2)).unwrap();
        two.end().await.unwrap();
        assert_eq!(place.persons_text(), claude("a2", 2));
        assert!(!place.copy().exists());
    }

    #[tokio::test]
    async fn only_a_renewal_is_taken_back() {
        let place = Place::new();
        let before = place.persons_text();
        let secret = place.path("secret");
        fs::write(&secret, claude("a2", 2)).unwrap();
        for text in ["", "{}", "[]", "null", &claude("a2", 1), &claude("a b", 2), &claude("", 2)] {
            let loan = place.lend().await;
            fs::write(place.copy(), text).unwrap();
            loan.end().await.unwrap();
            assert_eq!(place.persons_text(), before, "{text}");
        }
        let loan = place.lend().await;
        fs::remove_file(place.copy()).unwrap();
        symlink(&secret, place.copy()).unwrap();
        loan.end().await.unwrap();
        assert_eq!(place.persons_text(), before, "a link is not followed");
        assert!(secret.exists());
        // Neither does a link or a folder lead the next copy elsewhere.
        symlink(&secret, place.copy()).unwrap();
        place.lend().await.end().await.unwrap();
        fs::create_dir(place.copy()).unwrap();
        place.lend().await.end().await.unwrap();
        assert_eq!(fs::read_to_string(&secret).unwrap(), claude("a2", 2));
    }

    #[test]
    fn another_account_and_other_values_are_not_taken_over() {
        let codex = |account: &str, token: &str, at: &str| {
            format!(
                r#"{{"last_refresh":"{at}","tokens":{{"access_token":"{token}","account_id":"{account}"}}}}"#
            )
        };
        let merge = |copy: &str| {
            let merged = CODEX.merge_renewal(codex("me", "a1", "1").as_bytes(), copy.as_bytes());
            merged.map(|text| String::from_utf8(text).unwrap())
        };
        assert_eq!(merge(&codex("me", "a2", "2")), Some(codex("me", "a2", "2")));
        assert_eq!(merge(&codex("you", "a2", "2")), None);
        assert_eq!(merge(&codex("me", "a2", "0")), None);
        let more = codex("me", "a2", "2").replace("{\"last", "{\"more\":1,\"last");
        assert_eq!(merge(&more), Some(codex("me", "a2", "2")));
    }
}
