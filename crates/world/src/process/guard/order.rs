//! What a guard is told to do, as the arguments it is started with.
//!
//! The environment of the program is the guard's own and is not among them: arguments can be read
//! by every user of the machine.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::process::fence::Fence;

/// In place of a count: the program may write wherever its user may.
const ANYWHERE: &str = "anywhere";

/// Whose terminal a program belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Session {
    /// None: it runs in a session of its own, and what is typed does not reach it.
    #[default]
    Own,
    /// The caller's: it stays in the foreground group, and Ctrl-C reaches it as it would without
    /// us.
    Caller,
}

/// What a guard is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::process) struct Order {
    pub(in crate::process) session: Session,
    /// From the polite signal to the one that cannot be refused.
    pub(in crate::process) grace: Duration,
    /// What the program is kept from.
    pub(in crate::process) fence: Fence,
    pub(in crate::process) lock: PathBuf,
    pub(in crate::process) directory: PathBuf,
    pub(in crate::process) program: OsString,
    pub(in crate::process) args: Vec<OsString>,
}

impl Order {
    /// The arguments that say it.
    pub(in crate::process) fn into_args(self) -> impl Iterator<Item = OsString> {
        let session = match self.session {
            Session::Own => "own-session",
            Session::Caller => "caller-session",
        };
        let grace_ms = self.grace.as_millis().to_string();
        let tcp = if self.fence.tcp_refused { "no-tcp" } else { "tcp" };
        let writable = self.fence.writable;
        let count = writable.as_ref().map_or(ANYWHERE.to_owned(), |paths| paths.len().to_string());
        let (lock, directory) = (self.lock.into(), self.directory.into());
        [session.into(), grace_ms.into(), tcp.into(), count.into()]
            .into_iter()
            .chain(writable.into_iter().flatten().map(PathBuf::into_os_string))
            .chain([lock, directory, self.program])
            .chain(self.args)
    }

    /// The order that arguments say, if they do.
    pub(super) fn read(mut args: impl Iterator<Item = OsString>) -> Option<Self> {
        Some(Self {
            session: match args.next()?.to_str()? {
                "own-session" => Session::Own,
                "caller-session" => Session::Caller,
                _ => return None,
            },
            grace: Duration::from_millis(args.next()?.to_str()?.parse().ok()?),
            fence: fence(&mut args)?,
            lock: args.next()?.into(),
            directory: args.next()?.into(),
            program: args.next()?,
            args: args.collect(),
        })
    }
}

fn fence(args: &mut impl Iterator<Item = OsString>) -> Option<Fence> {
    let tcp_refused = match args.next()?.to_str()? {
        "no-tcp" => true,
        "tcp" => false,
        _ => return None,
    };
    let writable = match args.next()?.to_str()? {
        ANYWHERE => None,
        count => {
            let count = count.parse().ok()?;
            let paths: Vec<PathBuf> = args.take(count).map(PathBuf::from).collect();
            (paths.len() == count).then_some(Some(paths))?
        }
    };
    Some(Fence { writable, tcp_refused })
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn an_order_survives_its_way_as_arguments() {
        let order = Order {
            session: Session::Caller,
            grace: Duration::from_millis(1_500),
            fence: Fence::default(),
            lock: "/p/run 1/lock".into(),
            directory: "/p".into(),
            program: OsString::from_vec(vec![b'a', 0xff]),
            args: vec!["--".into(), OsString::new(), "__guard".into()],
        };
        for writable in [None, Some(Vec::new()), Some(vec!["/p q".into(), "tcp".into()])] {
            let fence = Fence { tcp_refused: writable.is_some(), writable };
            let order = Order { fence, ..order.clone() };
            assert_eq!(Order::read(order.clone().into_args()), Some(order));
        }
    }

    #[test]
    fn what_is_no_order_is_refused() {
        let cases: [&[&str]; 7] = [
            &[],
            &["own-session", "5", "tcp", "anywhere", "/lock", "/"],
            &["own-session", "soon", "tcp", "anywhere", "/lock", "/", "true"],
            &["--help", "5", "tcp", "anywhere", "/lock", "/", "true"],
            &["own-session", "5", "udp", "anywhere", "/lock", "/", "true"],
            &["own-session", "5", "tcp", "some", "/lock", "/", "true"],
            &["own-session", "5", "tcp", "4", "/lock", "/", "true"],
        ];
        for args in cases {
            assert_eq!(Order::read(args.iter().map(OsString::from)), None, "{args:?}");
        }
    }
}
