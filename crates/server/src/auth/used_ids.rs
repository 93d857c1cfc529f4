//! A revocation list of single-use links and sessions that were ended early; each entry stays until
//! it would have expired anyway. It is kept in a file, for every server of the same user and for
//! the next one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use unstuck_core::time::Time;

use super::error::AccessError;
use super::private::{self, PrivateFileStamp};

/// Maximum number of entries. They are all signed by the server, so no client can fill the list.
const REMEMBERED_MAX: usize = 10_000;
/// Maximum size of the file, in bytes.
const BYTES_MAX: u64 = 2 * 1024 * 1024;

/// The ids that must not be used again.
#[derive(Debug)]
pub(super) struct UsedIds {
    path: PathBuf,
    /// The state of the file at the last read.
    seen: Option<PrivateFileStamp>,
    until: BTreeMap<String, Time>,
}

impl UsedIds {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join("spent.json"), seen: None, until: BTreeMap::new() }
    }

    /// Marks an id as used until it expires at `until`, and returns whether it was unused. The
    /// entry is on disk before the client gets anything for it.
    pub(super) fn use_once(
        &mut self,
        id: &str,
        until: Time,
        now: Time,
    ) -> Result<bool, AccessError> {
        if let Some(folder) = self.path.parent() {
            private::make_folder(folder)?;
        }
        let _lock = private::lock_file(&self.path.with_extension("lock"))?;
        self.reload_if_changed()?;
        self.until.retain(|_, until| now < *until);
        if self.until.contains_key(id) || self.until.len() >= REMEMBERED_MAX {
            return Ok(false);
        }
        self.until.insert(id.to_owned(), until);
        let written = serde_json::to_vec(&self.until)
            .map_err(|error| private::write_error(&self.path, error.into()))?;
        private::write_file(&self.path, &written)?;
        self.seen = PrivateFileStamp::read_from(&self.path)?;
        Ok(true)
    }

    pub(super) fn is_used(&mut self, id: &str) -> Result<bool, AccessError> {
        self.reload_if_changed()?;
        Ok(self.until.contains_key(id))
    }

    /// Reads entries that other servers have added since the last read.
    fn reload_if_changed(&mut self) -> Result<(), AccessError> {
        let stamp = PrivateFileStamp::read_from(&self.path)?;
        if stamp == self.seen {
            return Ok(());
        }
        let bytes = private::read_file(&self.path, BYTES_MAX)?;
        let read = serde_json::from_slice(bytes.as_deref().unwrap_or(b"{}"));
        self.until = read.map_err(|error| AccessError::Damaged {
            path: self.path.clone(),
            why: error.to_string(),
        })?;
        self.seen = stamp;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use unstuck_core::time::Span;

    use super::*;

    const NOW: Time = Time::from_millis(1_000);

    #[test]
    fn something_is_spent_once_and_remembered_as_long_as_it_matters() {
        let folder = tempfile::tempdir().unwrap();
        let mut spent = UsedIds::in_folder(folder.path());
        let end = NOW + Span::from_secs(1);
        assert!(!spent.is_used("a").unwrap());
        assert!(spent.use_once("a", end, NOW).unwrap());
        assert!(spent.is_used("a").unwrap());
        assert!(!spent.use_once("a", end, NOW).unwrap());
        assert!(spent.use_once("b", end + Span::from_secs(1), end).unwrap());
        assert_eq!(spent.until.len(), 1);
    }

    #[test]
    fn the_next_server_and_the_one_beside_know_it_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut one = UsedIds::in_folder(folder.path());
        let mut beside = UsedIds::in_folder(folder.path());
        let end = NOW + Span::from_secs(1);
        assert!(!beside.is_used("a").unwrap());
        assert!(one.use_once("a", end, NOW).unwrap());
        assert!(beside.is_used("a").unwrap());
        assert!(!UsedIds::in_folder(folder.path()).use_once("a", end, NOW).unwrap());
    }

    #[test]
    fn when_it_cannot_be_known_nothing_is_good() {
        let folder = tempfile::tempdir().unwrap();
        let mut spent = UsedIds::in_folder(folder.path());
        assert!(spent.use_once("a", NOW + Span::from_secs(1), NOW).unwrap());
        fs::write(&spent.path, "{\"a\":").unwrap();
        assert!(matches!(spent.is_used("a"), Err(AccessError::Damaged { .. })));
        assert!(spent.use_once("b", NOW + Span::from_secs(1), NOW).is_err());
    }

    #[test]
    fn when_there_is_no_room_nothing_is_spent_twice() {
        let folder = tempfile::tempdir().unwrap();
        let mut spent = UsedIds::in_folder(folder.path());
        let end = NOW + Span::from_secs(1);
        let full: BTreeMap<String, Time> =
            (0..REMEMBERED_MAX).map(|number| (number.to_string(), end)).collect();
        private::write_file(&spent.path, &serde_json::to_vec(&full).unwrap()).unwrap();
        assert!(!spent.use_once("one more", end, NOW).unwrap());
        assert!(spent.is_used("0").unwrap());
    }
}
