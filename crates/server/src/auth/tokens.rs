//! The access tokens of a server: a file that a running server checks before each use, so that new
//! and revoked tokens take effect at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use unstuck_core::time::Time;

use super::book::{Book, TokenEntry};
use super::caller::{Reach, Role};
use super::error::AccessError;
use super::private::{self, Stamp};
use super::token::{Token, TokenHash, TokenId};

/// Name of the token file in its folder.
const FILE: &str = "tokens.json";
/// Name of the file with the one token in plain text, for programs of the same user.
const HERE: &str = "token";
/// Name of the lock file, which writers hold.
pub(super) const LOCK: &str = "lock";
/// Maximum size of the token file, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Maximum number of tokens.
const TOKENS_MAX: usize = 1_000;
/// Maximum length of a name, in characters: it fits into a line.
const NAME_CHARS_MAX: usize = 64;

/// The tokens in a folder.
#[derive(Debug)]
pub struct Tokens {
    folder: PathBuf,
    seen: Mutex<Option<(Stamp, Arc<Book>)>>,
}

/// The parameters of a new token.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// The name of its user, as answers record it.
    pub name: String,
    /// The role that it grants.
    pub role: Role,
    /// The projects that it gives access to.
    pub reach: Reach,
    /// The time at which it expires.
    pub expires_at: Option<Time>,
}

impl Tokens {
    /// Returns the tokens in this folder, which is made with the first one.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), seen: Mutex::new(None) }
    }

    /// Makes the first token, with all permissions, at the first start. It is stored in plain text
    /// for programs of the same user, and returned here, once.
    pub fn begin(&self, name: &str, now: Time) -> Result<Option<Token>, AccessError> {
        // A later start need not write.
        if Stamp::of(&self.file())?.is_some() {
            return self.book().map(|_| None);
        }
        let _turn = self.turn()?;
        match self.kept()? {
            Some(_) => Ok(None),
            None => self.first(name, now).map(Some),
        }
    }

    /// Makes a new token.
    pub fn make(&self, wish: NewToken, now: Time) -> Result<(TokenEntry, Token), AccessError> {
        let name = fit(&wish.name)?;
        let _turn = self.turn()?;
        let mut book = self.kept()?.unwrap_or(Book::empty());
        let made = add(&mut book, NewToken { name, ..wish }, now)?;
        self.write(&book)?;
        Ok(made)
    }

    /// Returns all tokens, the oldest first.
    pub fn list(&self) -> Result<Vec<TokenEntry>, AccessError> {
        Ok(self.book()?.tokens.clone())
    }

    /// Replaces a token: the previous value stops working.
    pub fn rotate(&self, id: TokenId, now: Time) -> Result<(TokenEntry, Token), AccessError> {
        let _turn = self.turn()?;
        let mut book = self.kept()?.unwrap_or(Book::empty());
        let is_here = book.here == Some(id);
        let entry = book.tokens.iter_mut().find(|entry| entry.id == id);
        let entry = entry.ok_or(AccessError::UnknownToken(id))?;
        let token = Token::make()?;
        (entry.hash, entry.created_at) = (token.hash(), now);
        let entry = entry.clone();
        self.write(&book)?;
        if is_here {
            self.lay_here(&token)?;
        }
        Ok((entry, token))
    }

    /// Revokes a token.
    pub fn revoke(&self, id: TokenId) -> Result<TokenEntry, AccessError> {
        let _turn = self.turn()?;
        let mut book = self.kept()?.unwrap_or(Book::empty());
        let at = book.tokens.iter().position(|entry| entry.id == id);
        let entry = book.tokens.remove(at.ok_or(AccessError::UnknownToken(id))?);
        let was_here = book.here.take_if(|here| *here == id).is_some();
        self.write(&book)?;
        if was_here {
            let file = self.folder.join(HERE);
            private::remove(&file).map_err(|source| private::not_written(&file, source))?;
        }
        Ok(entry)
    }

    /// Returns the token that is stored in plain text for programs of the same user.
    pub fn here(&self) -> Result<Option<Token>, AccessError> {
        let file = self.folder.join(HERE);
        let text = private::read(&file, 1024)?;
        Ok(text.and_then(|text| Token::read(&String::from_utf8_lossy(&text))))
    }

    /// Returns the id of that token, as long as it is valid.
    pub fn here_id(&self, now: Time) -> Result<Option<TokenId>, AccessError> {
        let book = self.book()?;
        let here = book.here.and_then(|id| book.entry(id));
        Ok(here.filter(|entry| entry.is_good(now)).map(|entry| entry.id))
    }

    /// Returns the entry of a token that a client shows, if it is valid.
    pub(super) fn shown(
        &self,
        token: &Token,
        now: Time,
    ) -> Result<Option<TokenEntry>, AccessError> {
        let book = self.book()?;
        let hash = token.hash();
        let found = book.tokens.iter().find(|entry| entry.hash == hash);
        Ok(found.filter(|entry| entry.is_good(now)).cloned())
    }

    /// Returns the entry of the token that opened a session, if it is unchanged and valid.
    pub(super) fn same(
        &self,
        id: TokenId,
        print: &str,
        now: Time,
    ) -> Result<Option<TokenEntry>, AccessError> {
        let book = self.book()?;
        let same = |entry: &&TokenEntry| entry.hash.print() == print && entry.is_good(now);
        Ok(book.entry(id).filter(same).cloned())
    }

    /// Returns the fingerprint by which a session knows a token.
    pub(super) fn print(&self, id: TokenId, now: Time) -> Result<Option<String>, AccessError> {
        let book = self.book()?;
        let entry = book.entry(id).filter(|entry| entry.is_good(now));
        Ok(entry.map(|entry| entry.hash).map(TokenHash::print))
    }

    /// Returns the current tokens. Reads the file again only when it has changed.
    fn book(&self) -> Result<Arc<Book>, AccessError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // The stamp is taken before the file is read: at worst it is read twice, never an old state
        // kept.
        let stamp = Stamp::of(&self.file())?;
        match (stamp, &*seen) {
            (Some(stamp), Some((known, book))) if stamp == *known => Ok(Arc::clone(book)),
            (None, _) => Ok(Arc::new(Book::empty())),
            (Some(stamp), _) => {
                *seen = None;
                let book = Arc::new(self.kept()?.unwrap_or(Book::empty()));
                *seen = Some((stamp, Arc::clone(&book)));
                Ok(book)
            }
        }
    }

    fn kept(&self) -> Result<Option<Book>, AccessError> {
        let file = self.file();
        let bytes = private::read(&file, FILE_BYTES_MAX)?;
        bytes.map(|bytes| Book::read(&file, &bytes)).transpose()
    }

    fn first(&self, name: &str, now: Time) -> Result<Token, AccessError> {
        let mut book = Book::empty();
        let wish = NewToken {
            name: fit(name)?,
            role: Role::Operator,
            reach: Reach::All,
            expires_at: None,
        };
        let (entry, token) = add(&mut book, wish, now)?;
        book.here = Some(entry.id);
        // In this order, a start that is killed between the two begins anew.
        self.lay_here(&token)?;
        self.write(&book)?;
        Ok(token)
    }

    fn lay_here(&self, token: &Token) -> Result<(), AccessError> {
        private::write(&self.folder.join(HERE), format!("{}\n", token.as_str()).as_bytes())
    }

    fn write(&self, book: &Book) -> Result<(), AccessError> {
        let file = self.file();
        let text = serde_json::to_vec_pretty(book)
            .map_err(|error| private::not_written(&file, error.into()))?;
        private::write(&file, &text)
    }

    fn turn(&self) -> Result<fs::File, AccessError> {
        private::make_folder(&self.folder)?;
        private::lock(&self.folder.join(LOCK))
    }

    fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// Returns the folder of the token files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn add(book: &mut Book, wish: NewToken, now: Time) -> Result<(TokenEntry, Token), AccessError> {
    if book.tokens.len() >= TOKENS_MAX {
        return Err(AccessError::TooMany(book.tokens.len()));
    }
    let NewToken { name, role, reach, expires_at } = wish;
    let id = TokenId(book.next);
    let token = Token::make()?;
    let hash = token.hash();
    let entry = TokenEntry { id, name, role, reach, created_at: now, expires_at, hash };
    book.next = book.next.saturating_add(1);
    book.tokens.push(entry.clone());
    Ok((entry, token))
}

/// Trims a name and checks that answers can record it.
fn fit(name: &str) -> Result<String, AccessError> {
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
