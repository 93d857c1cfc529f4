//! Results of actions: short ones are stored in the ledger, long ones in files of their own.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum length in bytes of a result that is stored in the ledger.
pub const RESULT_BYTES_MAX: usize = 1_024 * 1_024;
/// Prefix of a file reference that takes the place of a result.
const IN_FILE: &str = "unstuck-result:blake3:";

/// The folder of long results.
#[derive(Clone, Debug)]
pub struct ResultFiles {
    folder: PathBuf,
}

impl ResultFiles {
    /// Creates the results in `folder`, which is created with the first file.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the text to store in the ledger for a result. A long result, or one that is not
    /// UTF-8, is in a durable file when this returns.
    pub fn keep_result(&self, result: &[u8]) -> io::Result<Arc<str>> {
        match std::str::from_utf8(result) {
            Ok(text) if text.len() <= RESULT_BYTES_MAX && !text.starts_with(IN_FILE) => {
                Ok(Arc::from(text))
            }
            _ => self.keep_in_file(result),
        }
    }

    /// Returns the result behind the text in the ledger. Fails if a file was changed since.
    pub fn read_result(&self, kept: &str) -> io::Result<Vec<u8>> {
        let Some(digest) = kept.strip_prefix(IN_FILE) else { return Ok(kept.as_bytes().to_vec()) };
        let digest = blake3::Hash::from_hex(digest)
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let result = fs::read(self.file_path(digest))?;
        if blake3::hash(&result) == digest {
            Ok(result)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "the result was changed on disk"))
        }
    }

    fn keep_in_file(&self, result: &[u8]) -> io::Result<Arc<str>> {
        let digest = blake3::hash(result);
        fs::create_dir_all(&self.folder)?;
        let file = self.file_path(digest);
        let draft = self.folder.join(format!("{digest}.new"));
        if !file.exists() {
            let mut written = File::create(&draft)?;
            written.write_all(result)?;
            written.sync_all()?;
            fs::rename(&draft, &file)?;
            sync_folder(&self.folder)?;
        }
        Ok(Arc::from(format!("{IN_FILE}{digest}")))
    }

    fn file_path(&self, digest: blake3::Hash) -> PathBuf {
        self.folder.join(digest.to_hex().as_str())
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_kept_as_it_is_and_everything_else_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let results = ResultFiles::new(folder.path().join("results"));
        assert_eq!(&*results.keep_result(b"done").unwrap(), "done");
        assert!(!folder.path().join("results").exists());
        for odd in [vec![b'x'; RESULT_BYTES_MAX + 1], vec![0xff, 0xfe], IN_FILE.into()] {
            let kept = results.keep_result(&odd).unwrap();
            assert!(kept.len() < 100, "{kept}");
            assert_eq!(results.read_result(&kept).unwrap(), odd);
        }
    }

    #[test]
    fn a_result_that_was_changed_on_disk_is_not_given_out() {
        let folder = tempfile::tempdir().unwrap();
        let results = ResultFiles::new(folder.path());
        let kept = results.keep_result(&[0xff]).unwrap();
        let file = folder.path().join(kept.strip_prefix(IN_FILE).unwrap());
        fs::write(file, "else").unwrap();
        assert_eq!(results.read_result(&kept).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(results.read_result("unstuck-result:blake3:../../x").is_err());
    }
}
