//! The access tokens of a server: a file that a running server checks before each use, so that new
//! and revoked tokens take effect at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use unstuck_core::time::Time;

use super::caller::{AccessRole, ProjectVisibility, TokenId};
use super::error::AccessError;
use super::private::{self, PrivateFileStamp};
use super::token::{AccessToken, AccessTokenFile, TokenEntry, TokenHash};

const TOKENS_FILE: &str = "tokens.json";
/// Name of the file with the one token in plain text, for programs of the same user.
const LOCAL_TOKEN_FILE: &str = "token";
/// Name of the lock file, which writers hold.
pub(super) const LOCK_FILE: &str = "lock";
/// Maximum size of the token file, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
const TOKENS_MAX: usize = 1_000;
/// Maximum length of a name, in characters: it fits into a line.
const NAME_CHARS_MAX: usize = 64;

/// The tokens in a folder.
#[derive(Debug)]
pub struct AccessTokenStore {
    folder: PathBuf,
    seen: Mutex<Option<(PrivateFileStamp, Arc<AccessTokenFile>)>>,
}

/// The parameters of a new token.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// The name of its user, as answers record it.
    pub name: String,
    /// The role that it grants.
    pub role: AccessRole,
    /// The projects that it gives access to.
    pub reach: ProjectVisibility,
    /// The time at which it expires.
    pub expires_at: Option<Time>,
}

impl AccessTokenStore {
    /// Returns the tokens in this folder, which is made with the first one.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), seen: Mutex::new(None) }
    }

    /// Makes the first token, with all permissions, at the first start. It is stored in plain text
    /// for programs of the same user, and returned here, once.
    pub fn ensure_first_token(
        &self,
        name: &str,
        now: Time,
    ) -> Result<Option<AccessToken>, AccessError> {
        // A later start need not write.
        if PrivateFileStamp::read_from(&self.file_path())?.is_some() {
            return self.load_current().map(|_| None);
        }
        let _lock = self.lock_folder()?;
        match self.read_file()? {
            Some(_) => Ok(None),
            None => self.create_first_token(name, now).map(Some),
        }
    }

    /// Makes a new token.
    pub fn create_token(
        &self,
        wish: NewToken,
        now: Time,
    ) -> Result<(TokenEntry, AccessToken), AccessError> {
        let name = validate_name(&wish.name)?;
        let _lock = self.lock_folder()?;
        let mut book = self.read_file()?.unwrap_or(AccessTokenFile::empty());
        let made = add_entry(&mut book, NewToken { name, ..wish }, now)?;
        self.write_file(&book)?;
        Ok(made)
    }

    /// Returns all tokens, the oldest first.
    pub fn list_entries(&self) -> Result<Vec<TokenEntry>, AccessError> {
        Ok(self.load_current()?.tokens.clone())
    }

    /// Replaces a token: the previous value stops working.
    pub fn rotate_token(
        &self,
        id: TokenId,
        now: Time,
    ) -> Result<(TokenEntry, AccessToken), AccessError> {
        let _lock = self.lock_folder()?;
        let mut book = self.read_file()?.unwrap_or(AccessTokenFile::empty());
        let is_here = book.here == Some(id);
        let entry = book.tokens.iter_mut().find(|entry| entry.id == id);
        let entry = entry.ok_or(AccessError::UnknownToken(id))?;
        let token = AccessToken::generate()?;
        (entry.hash, entry.created_at) = (token.hash(), now);
        let entry = entry.clone();
        self.write_file(&book)?;
        if is_here {
            self.write_local_token(&token)?;
        }
        Ok((entry, token))
    }

    /// Revokes a token.
    pub fn revoke_token(&self, id: TokenId) -> Result<TokenEntry, AccessError> {
        let _lock = self.lock_folder()?;
        let mut book = self.read_file()?.unwrap_or(AccessTokenFile::empty());
        let at = book.tokens.iter().position(|entry| entry.id == id);
        let entry = book.tokens.remove(at.ok_or(AccessError::UnknownToken(id))?);
        let was_here = book.here.take_if(|here| *here == id).is_some();
        self.write_file(&book)?;
        if was_here {
            let file = self.folder.join(LOCAL_TOKEN_FILE);
            private::remove_file(&file).map_err(|source| private::write_error(&file, source))?;
        }
        Ok(entry)
    }

    /// Returns the token that is stored in plain text for programs of the same user.
    pub fn read_local_token(&self) -> Result<Option<AccessToken>, AccessError> {
        let file = self.folder.join(LOCAL_TOKEN_FILE);
        let text = private::read_file(&file, 1024)?;
        Ok(text.and_then(|text| AccessToken::parse(&String::from_utf8_lossy(&text))))
    }

    /// Returns the id of that token, as long as it is valid.
    pub fn local_token_id(&self, now: Time) -> Result<Option<TokenId>, AccessError> {
        let book = self.load_current()?;
        let here = book.here.and_then(|id| book.find_entry(id));
        Ok(here.filter(|entry| entry.is_valid(now)).map(|entry| entry.id))
    }

    /// Returns the entry of a token that a client shows, if it is valid.
    pub(super) fn find_by_token(
        &self,
        token: &AccessToken,
        now: Time,
    ) -> Result<Option<TokenEntry>, AccessError> {
        let book = self.load_current()?;
        let hash = token.hash();
        let found = book.tokens.iter().find(|entry| entry.hash == hash);
        Ok(found.filter(|entry| entry.is_valid(now)).cloned())
    }

    /// Returns the entry of the token that opened a session, if it is unchanged and valid.
    pub(super) fn find_unchanged(
        &self,
        id: TokenId,
        print: &str,
        now: Time,
    ) -> Result<Option<TokenEntry>, AccessError> {
        let book = self.load_current()?;
        let same = |entry: &&TokenEntry| entry.hash.fingerprint() == print && entry.is_valid(now);
        Ok(book.find_entry(id).filter(same).cloned())
    }

    /// Returns the fingerprint by which a session knows a token.
    pub(super) fn find_fingerprint(
        &self,
        id: TokenId,
        now: Time,
    ) -> Result<Option<String>, AccessError> {
        let book = self.load_current()?;
        let entry = book.find_entry(id).filter(|entry| entry.is_valid(now));
        Ok(entry.map(|entry| entry.hash).map(TokenHash::fingerprint))
    }

    /// Returns the current tokens. Reads the file again only when it has changed.
    fn load_current(&self) -> Result<Arc<AccessTokenFile>, AccessError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // The stamp is taken before the file is read: at worst it is read twice, never an old state
        // kept.
        let stamp = PrivateFileStamp::read_from(&self.file_path())?;
        match (stamp, &*seen) {
            (Some(stamp), Some((known, book))) if stamp == *known => Ok(Arc::clone(book)),
            (None, _) => Ok(Arc::new(AccessTokenFile::empty())),
            (Some(stamp), _) => {
                *seen = None;
                let book = Arc::new(self.read_file()?.unwrap_or(AccessTokenFile::empty()));
                *seen = Some((stamp, Arc::clone(&book)));
                Ok(book)
            }
        }
    }

    fn read_file(&self) -> Result<Option<AccessTokenFile>, AccessError> {
        let file = self.file_path();
        let bytes = private::read_file(&file, FILE_BYTES_MAX)?;
        bytes.map(|bytes| AccessTokenFile::parse_file(&file, &bytes)).transpose()
    }

    fn create_first_token(&self, name: &str, now: Time) -> Result<AccessToken, AccessError> {
        let mut book = AccessTokenFile::empty();
        let wish = NewToken {
            name: validate_name(name)?,
            role: AccessRole::Operator,
            reach: ProjectVisibility::All,
            expires_at: None,
        };
        let (entry, token) = add_entry(&mut book, wish, now)?;
        book.here = Some(entry.id);
        // In this order, a start that is killed between the two begins anew.
        self.write_local_token(&token)?;
        self.write_file(&book)?;
        Ok(token)
    }

    fn write_local_token(&self, token: &AccessToken) -> Result<(), AccessError> {
        private::write_file(
            &self.folder.join(LOCAL_TOKEN_FILE),
            format!("{}\n", token.as_str()).as_bytes(),
        )
    }

    fn write_file(&self, book: &AccessTokenFile) -> Result<(), AccessError> {
        let file = self.file_path();
        let text = serde_json::to_vec_pretty(book)
            .map_err(|error| private::write_error(&file, error.into()))?;
        private::write_file(&file, &text)
    }

    fn lock_folder(&self) -> Result<fs::File, AccessError> {
        private::make_folder(&self.folder)?;
        private::lock_file(&self.folder.join(LOCK_FILE))
    }

    fn file_path(&self) -> PathBuf {
        self.folder.join(TOKENS_FILE)
    }

    /// Returns the folder of the token files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn add_entry(
    book: &mut AccessTokenFile,
    wish: NewToken,
    now: Time,
) -> Result<(TokenEntry, AccessToken), AccessError> {
    if book.tokens.len() >= TOKENS_MAX {
        return Err(AccessError::TooMany(book.tokens.len()));
    }
    let NewToken { name, role, reach, expires_at } = wish;
    let id = TokenId(book.next);
    let token = AccessToken::generate()?;
    let hash = token.hash();
    let entry = TokenEntry { id, name, role, reach, created_at: now, expires_at, hash };
    book.next = book.next.saturating_add(1);
    book.tokens.push(entry.clone());
    Ok((entry, token))
}

/// Trims a name and checks that answers can record it.
fn validate_name(name: &str) -> Result<String, AccessError> {
    let name = name.trim();
    if name.is_empty() {
        Err(AccessError::UnfitName("it is empty"))
    } else if name.chars().count() > NAME_CHARS_MAX {
        Err(AccessError::UnfitName("it is longer than 64 letters"))
    } else if name.chars().any(char::is_control) {
        Err(AccessError::UnfitName("it has letters that cannot be shown"))
    } else {
        Ok(name.to_owned())
    }
}

#[cfg(test)]
mod tests;
