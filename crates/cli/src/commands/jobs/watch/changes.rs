//! Notices that a file of the settings was written, without looking all the time.

use std::io;
use std::path::{Path, PathBuf};

use crate::settings::{FILE, JOBS_FOLDER};

/// Files of the settings that are watched.
pub(super) struct Changes {
    #[cfg(target_os = "linux")]
    watched: linux::Watched,
}

impl Changes {
    /// Watches those of the project at `root`.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(clippy::unnecessary_wraps, reason = "nobody watches")
    )]
    pub(super) fn of(root: &Path) -> io::Result<Self> {
        #[cfg(not(target_os = "linux"))]
        let _ = root;
        Ok(Self {
            #[cfg(target_os = "linux")]
            watched: linux::Watched::new(root)?,
        })
    }

    /// Comes back when one of them was written, or may have been. Where the system does not tell, it
    /// never does.
    pub(super) async fn next(&mut self) {
        #[cfg(target_os = "linux")]
        self.watched.next().await;
        #[cfg(not(target_os = "linux"))]
        std::future::pending::<()>().await;
    }
}

/// What the system tells on Linux.
#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;

    use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
    use rustix::io::Errno;
    use tokio::net::unix::pipe;

    use super::{FILE, JOBS_FOLDER, Path, PathBuf, io};

    /// Room for what is read at once.
    const BYTES: usize = 4 * 1_024;

    pub(super) struct Watched {
        /// All that is asked of it is to become readable, as of a pipe.
        told: pipe::Receiver,
        root: PathBuf,
        /// By which number events in the root come; others are about the folder of jobs.
        at_root: i32,
    }

    impl Watched {
        pub(super) fn new(root: &Path) -> io::Result<Self> {
            let told = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
            let at_root = inotify::add_watch(&told, root, written() | WatchFlags::CREATE)?;
            let told = pipe::Receiver::from_owned_fd_unchecked(told)?;
            let watched = Self { told, root: root.to_owned(), at_root };
            watched.watch_jobs();
            Ok(watched)
        }

        /// The folder may come later, or be another one by now: watching it twice is watching it.
        fn watch_jobs(&self) {
            let folder = self.root.join(JOBS_FOLDER);
            // Where there is none, the root tells when it comes.
            let _ = inotify::add_watch(&self.told, folder, written() | WatchFlags::ONLYDIR);
        }

        pub(super) async fn next(&mut self) {
            loop {
                if self.told.readable().await.is_err() {
                    return std::future::pending().await;
                }
                let concerns = read(&self.told, self.at_root);
                // There is nothing left, which only this makes known; whatever came meanwhile counts.
                let more = self.told.try_read(&mut [0; BYTES]).is_ok();
                if concerns || more {
                    self.watch_jobs();
                    return;
                }
            }
        }
    }

    /// A file is whole when it was closed or put in place.
    fn written() -> WatchFlags {
        WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM | WatchFlags::DELETE
    }

    /// Reads all that was told; whether it is about the settings.
    fn read(told: &pipe::Receiver, at_root: i32) -> bool {
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
                    // Without a name, something was missed, or a folder went.
                    concerns |= name.is_none_or(|name| !in_root || ours(name));
                }
                Err(Errno::INTR) => {}
                Err(_) => return concerns,
            }
        }
    }
}
