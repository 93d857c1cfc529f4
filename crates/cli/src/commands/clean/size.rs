//! Measures the disk usage of a folder.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Bytes per block of `st_blocks`, whatever the file system's own block size.
const BLOCK_BYTES: u64 = 512;

/// Returns the bytes that removing the folder would free. Symbolic links are not followed, because their
/// targets stay.
pub(super) fn measure_folder(folder: &Path) -> u64 {
    let mut sum = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            sum += found.blocks() * BLOCK_BYTES;
            if found.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    sum
}

/// Formats a size, such as `340 kB`, `12 MB` or `1.5 GB`.
pub(super) fn format_bytes(bytes: u64) -> String {
    const KILO: u64 = 1_000;
    const MEGA: u64 = KILO * KILO;
    const GIGA: u64 = KILO * MEGA;
    match bytes {
        0..MEGA => format!("{} kB", bytes.div_ceil(KILO)),
        MEGA..GIGA => format!("{} MB", bytes / MEGA),
        _ => format!("{}.{} GB", bytes / GIGA, bytes % GIGA / (GIGA / 10)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_shortly() {
        let cases = [
            (0, "0 kB"),
            (1, "1 kB"),
            (340_000, "340 kB"),
            (12_900_000, "12 MB"),
            (1_570_000_000, "1.5 GB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(format_bytes(bytes), expected);
        }
    }
}
