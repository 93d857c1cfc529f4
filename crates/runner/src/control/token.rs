//! Tokens: a child of a run shows one and can then report for its run only.
//!
//! A token is made from the effect it belongs to and a key that never leaves the project's folder,
//! so none has to be remembered, and it stays good when another process takes the project over.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use unstuck_core::engine::EffectId;

/// What tokens are made with.
#[derive(Clone)]
pub struct TokenKey([u8; 32]);

/// Proves that somebody belongs to an effect.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl TokenKey {
    /// The key in this file, which is made when it is not there.
    pub fn open(path: &Path) -> io::Result<Self> {
        match fs::File::open(path) {
            Ok(mut file) => {
                let mut key = [0; 32];
                match file.read_exact(&mut key) {
                    // Whoever wrote it was killed before it was done, and nobody has used it.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        fs::remove_file(path)?;
                        Self::make(path)
                    }
                    read => read.map(|()| Self(key)),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(path),
            Err(error) => Err(error),
        }
    }

    fn make(path: &Path) -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        // Complete before it has its name: nobody ever finds half a key there.
        let draft = path.with_extension(blake3::hash(&key).to_hex().as_str());
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(&key)?;
        file.sync_all()?;
        let named = fs::hard_link(&draft, path);
        fs::remove_file(&draft)?;
        match named {
            Ok(()) => Ok(Self(key)),
            // Somebody else was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::open(path),
            Err(error) => Err(error),
        }
    }

    /// The token of an effect.
    pub fn token(&self, effect: EffectId) -> Token {
        Token(format!("{}.{}", effect.0, self.proof(effect).to_hex()))
    }

    /// The effect a token belongs to, if it is one of ours.
    pub fn effect(&self, token: &str) -> Option<EffectId> {
        let (effect, proof) = token.split_once('.')?;
        let effect = EffectId(effect.parse().ok()?);
        // The hash compares in constant time.
        let proof = blake3::Hash::from_hex(proof).ok()?;
        (proof == self.proof(effect)).then_some(effect)
    }

    fn proof(&self, effect: EffectId) -> blake3::Hash {
        blake3::keyed_hash(&self.0, &effect.0.to_le_bytes())
    }
}

impl Token {
    /// As it is handed to the child.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}
