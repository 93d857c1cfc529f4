//! The signing key of a server, which proves that a text comes from that server.
//!
//! Signed texts are not secret from their holders; they only cannot be changed or forged. Each
//! purpose signs with a derived key of its own, so that a text for one purpose is invalid for the
//! others.

use std::fmt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::AccessError;
use super::private;
use super::token_store::LOCK_FILE;

const KEY_FILE: &str = "key";
/// Length of the key, in bytes.
const KEY_BYTES: usize = 32;
/// Maximum length of a signed text, in bytes; a longer one was not signed here.
const SEALED_BYTES_MAX: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SigningPurpose {
    /// The session cookie of a browser.
    Session,
    /// The CSRF token in the forms of a session.
    Csrf,
    /// A link in a message.
    Link,
}

impl SigningPurpose {
    const fn key_context(self) -> &'static str {
        match self {
            Self::Session => "unstuck-server 2026-11 session",
            Self::Csrf => "unstuck-server 2026-11 csrf",
            Self::Link => "unstuck-server 2026-11 link",
        }
    }
}

/// The signing key of a server.
#[derive(Clone)]
pub struct ServerSigningKey([u8; KEY_BYTES]);

impl ServerSigningKey {
    /// Opens the key in this folder, and makes one if there is none.
    pub fn open(folder: &Path) -> Result<Self, AccessError> {
        if let Some(key) = Self::read_existing(folder)? {
            return Ok(key);
        }
        private::make_folder(folder)?;
        let _lock = private::lock_file(&folder.join(LOCK_FILE))?;
        if let Some(key) = Self::read_existing(folder)? {
            return Ok(key);
        }
        let key = private::random_bytes()?;
        private::write_file(&folder.join(KEY_FILE), &key)?;
        Ok(Self(key))
    }

    fn read_existing(folder: &Path) -> Result<Option<Self>, AccessError> {
        let path = folder.join(KEY_FILE);
        let Some(bytes) = private::read_file(&path, 1024)? else { return Ok(None) };
        let found = bytes.len();
        let key = bytes.try_into().map_err(|_| AccessError::Damaged {
            path,
            why: format!("it has {found} bytes instead of {KEY_BYTES}"),
        })?;
        Ok(Some(Self(key)))
    }

    pub(super) fn seal(&self, purpose: SigningPurpose, value: &impl Serialize) -> String {
        // Plain structures always serialize; an empty text is invalid when it is read.
        let text = BASE64.encode(serde_json::to_vec(value).unwrap_or_default());
        let proof = BASE64.encode(self.keyed_hash(purpose, text.as_bytes()).as_bytes());
        format!("{text}.{proof}")
    }

    /// Verifies and parses a text that was signed for this purpose. Returns `None` for any other
    /// text, without parsing it.
    pub(super) fn unseal<T: DeserializeOwned>(
        &self,
        purpose: SigningPurpose,
        sealed: &str,
    ) -> Option<T> {
        if sealed.len() > SEALED_BYTES_MAX {
            return None;
        }
        let (text, proof) = sealed.split_once('.')?;
        let proof: [u8; 32] = BASE64.decode(proof).ok()?.try_into().ok()?;
        // The hash compares in constant time.
        if self.keyed_hash(purpose, text.as_bytes()) != blake3::Hash::from(proof) {
            return None;
        }
        serde_json::from_slice(&BASE64.decode(text).ok()?).ok()
    }

    pub(super) fn keyed_hash(&self, purpose: SigningPurpose, bytes: &[u8]) -> blake3::Hash {
        blake3::keyed_hash(&blake3::derive_key(purpose.key_context(), &self.0), bytes)
    }
}

#[cfg(test)]
impl ServerSigningKey {
    /// Returns a fixed key without a file.
    pub(super) const fn of_tests() -> Self {
        Self([7; KEY_BYTES])
    }
}

/// Omits the key.
impl fmt::Debug for ServerSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use proptest::prelude::*;

    use super::*;

    fn open() -> (tempfile::TempDir, ServerSigningKey) {
        let folder = tempfile::tempdir().unwrap();
        let key = ServerSigningKey::open(&folder.path().join("server")).unwrap();
        (folder, key)
    }

    #[test]
    fn a_key_is_made_once_and_for_its_owner_only() {
        let (folder, key) = open();
        let folder = folder.path().join("server");
        let file = folder.join(KEY_FILE);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(fs::read(&file).unwrap(), key.0);
        assert_eq!(ServerSigningKey::open(&folder).unwrap().0, key.0);
        assert_ne!(open().1.0, key.0);
        assert_eq!(format!("{key:?}"), "Key");
    }

    #[test]
    fn a_damaged_or_open_key_is_not_used_and_not_replaced() {
        let (folder, _) = open();
        let folder = folder.path().join("server");
        let file = folder.join(KEY_FILE);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(
            ServerSigningKey::open(&folder),
            Err(AccessError::Exposed { mode: 0o644, .. })
        ));
        private::write_file(&file, b"short").unwrap();
        let error = ServerSigningKey::open(&folder).unwrap_err().to_string();
        assert!(error.ends_with("is damaged: it has 5 bytes instead of 32"), "{error}");
        assert_eq!(fs::read(&file).unwrap(), b"short");
    }

    #[test]
    fn what_is_sealed_for_one_purpose_is_nothing_to_another_or_to_another_key() {
        let (_folder, key) = open();
        let purposes = [SigningPurpose::Session, SigningPurpose::Csrf, SigningPurpose::Link];
        for sealed_for in purposes {
            let sealed = key.seal(sealed_for, &"hello");
            for read_for in purposes {
                let read: Option<String> = key.unseal(read_for, &sealed);
                assert_eq!(read.is_some(), sealed_for == read_for);
            }
            assert_eq!(open().1.unseal::<String>(sealed_for, &sealed), None);
        }
    }

    #[test]
    fn a_part_is_nothing() {
        let (_folder, key) = open();
        let sealed = key.seal(SigningPurpose::Link, &"hello");
        for end in 0..sealed.len() {
            assert_eq!(key.unseal::<String>(SigningPurpose::Link, &sealed[..end]), None);
        }
        let long = "x".repeat(SEALED_BYTES_MAX);
        assert_eq!(
            key.unseal::<String>(SigningPurpose::Link, &key.seal(SigningPurpose::Link, &long)),
            None
        );
    }

    proptest! {
        #[test]
        fn whatever_is_changed_it_is_nothing_then(at in 0_usize..60, to in any::<char>()) {
            let key = ServerSigningKey::of_tests();
            let sealed = key.seal(SigningPurpose::Session, &"hello");
            let mut letters: Vec<char> = sealed.chars().collect();
            let at = at % letters.len();
            prop_assume!(letters[at] != to);
            letters[at] = to;
            let changed: String = letters.into_iter().collect();
            prop_assert_eq!(key.unseal::<String>(SigningPurpose::Session, &changed), None);
        }

        #[test]
        fn whatever_is_read_nothing_panics(text in ".*", sealed in "[A-Za-z0-9_-]{0,80}\\.[A-Za-z0-9_-]{0,60}") {
            let key = ServerSigningKey::of_tests();
            prop_assert_eq!(key.unseal::<String>(SigningPurpose::Link, &text), None);
            prop_assert_eq!(key.unseal::<String>(SigningPurpose::Link, &sealed), None);
        }
    }
}
