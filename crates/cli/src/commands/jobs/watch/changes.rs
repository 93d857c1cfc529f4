//! Watches the settings files for changes, without polling.

use std::io;
use std::path::{Path, PathBuf};

use crate::settings::{FILE, JOBS_FOLDER};

pub(super) struct SettingsWatch {
    #[cfg(target_os = "linux")]
    watched: linux::InotifyWatch,
}

impl SettingsWatch {
    /// Watches the settings files of the project at `root`.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(clippy::unnecessary_wraps, reason = "there is nothing to watch")
    )]
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        #[cfg(not(target_os = "linux"))]
        let _ = root;
        Ok(Self {
            #[cfg(target_os = "linux")]
            watched: linux::InotifyWatch::new(root)?,
        })
    }

    /// Returns when a settings file was written, or may have been. On systems without notifications it
    /// never returns.
    pub(super) async fn next(&mut self) {
        #[cfg(target_os = "linux")]
        self.watched.next().await;
        #[cfg(not(target_os = "linux"))]
        std::future::pending::<()>().await;
    }
}

/// The watch on Linux, with inotify.
#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;

    use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
    use rustix::io::Errno;
    use tokio::net::unix::pipe;

    use super::{FILE, JOBS_FOLDER, Path, PathBuf, io};

    /// Size of the buffer for events.
    const BYTES: usize = 4 * 1_024;

    pub(super) struct InotifyWatch {
        /// The inotify descriptor, used like a pipe: it only has to become readable.
        told: pipe::Receiver,
        root: PathBuf,
        /// The watch descriptor of the root; other events are about the folder of jobs.
        at_root: i32,
    }

    impl InotifyWatch {
        pub(super) fn new(root: &Path) -> io::Result<Self> {
            let told = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
            let at_root = inotify::add_watch(&told, root, write_flags() | WatchFlags::CREATE)?;
            let told = pipe::Receiver::from_owned_fd_unchecked(told)?;
            let watched = Self { told, root: root.to_owned(), at_root };
            watched.watch_jobs();
            Ok(watched)
        }

        /// Watches the folder of jobs, which may be created or replaced later; a repeated watch has no
        /// effect.
        fn watch_jobs(&self) {
            let folder = self.root.join(JOBS_FOLDER);
            // If the folder does not exist, the root reports its creation.
            let _ = inotify::add_watch(&self.told, folder, write_flags() | WatchFlags::ONLYDIR);
        }

        pub(super) async fn next(&mut self) {
            loop {
                if self.told.readable().await.is_err() {
                    return std::future::pending().await;
                }
                let concerns = read_events(&self.told, self.at_root);
                // A read that would block clears the readiness; events that came meanwhile count.
                let more = self.told.try_read(&mut [0; BYTES]).is_ok();
                if concerns || more {
                    self.watch_jobs();
                    return;
                }
            }
        }
    }

    /// Returns the flags for complete files: closed after writing, moved or deleted.
    fn write_flags() -> WatchFlags {
        WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM | WatchFlags::DELETE
    }

    /// Reads all events; returns whether one is about the settings.
    fn read_events(told: &pipe::Receiver, at_root: i32) -> bool {
        let mut room = [MaybeUninit::uninit(); BYTES];
        let mut reader = Reader::new(told, &mut room);
        let mut concerns = false;
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(std::ffi::CStr::to_bytes);
                    let in_root = event.wd() == at_root;
                    let ours =
                        |name: &[u8]| name == FILE.as_bytes() || name == JOBS_FOLDER.as_bytes();
                    // An event without a name means an overflow, or that the folder itself went away.
                    concerns |= name.is_none_or(|name| !in_root || ours(name));
                }
                Err(Errno::INTR) => {}
                Err(_) => return concerns,
            }
        }
    }
}
