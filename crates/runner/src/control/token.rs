//! Tokens: a child of a run presents one and can then report for its run only.
//!
//! A token is derived from its effect and a key that never leaves the project's folder, so none has
//! to be stored, and it stays valid when another process becomes the holder.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use unstuck_core::engine::EffectId;

/// The key that tokens are derived from.
#[derive(Clone)]
pub struct TokenKey([u8; 32]);

/// A proof that a process belongs to an effect.
#[derive(Clone, PartialEq, Eq)]
pub struct RunToken(String);

impl TokenKey {
    /// Reads the key from this file, which is created if it does not exist.
    pub fn open(path: &Path) -> io::Result<Self> {
        match fs::File::open(path) {
            Ok(mut file) => {
                let mut key = [0; 32];
                match file.read_exact(&mut key) {
                    // The process that wrote it was killed before it was done, and the key is
                    // unused.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        fs::remove_file(path)?;
                        Self::create_key(path)
                    }
                    read => read.map(|()| Self(key)),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create_key(path),
            Err(error) => Err(error),
        }
    }

    fn create_key(path: &Path) -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        // The file is complete before it gets its name, so that no process reads half a key.
        let draft = path.with_extension(blake3::hash(&key).to_hex().as_str());
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(&key)?;
        file.sync_all()?;
        let named = fs::hard_link(&draft, path);
        fs::remove_file(&draft)?;
        match named {
            Ok(()) => Ok(Self(key)),
            // Another process was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::open(path),
            Err(error) => Err(error),
        }
    }

    /// Returns the token of an effect.
    pub fn issue_token(&self, effect: EffectId) -> RunToken {
        RunToken(format!("{}.{}", effect.0, self.compute_proof(effect).to_hex()))
    }

    /// Returns the effect that a token belongs to, if the token is valid.
    pub fn verify_token(&self, token: &str) -> Option<EffectId> {
        let (effect, proof) = token.split_once('.')?;
        let effect = EffectId(effect.parse().ok()?);
        // The hash compares in constant time.
        let proof = blake3::Hash::from_hex(proof).ok()?;
        (proof == self.compute_proof(effect)).then_some(effect)
    }

    fn compute_proof(&self, effect: EffectId) -> blake3::Hash {
        blake3::keyed_hash(&self.0, &effect.0.to_le_bytes())
    }
}

impl RunToken {
    /// Returns the token in the form that is handed to the child.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey")
    }
}

impl fmt::Debug for RunToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}
