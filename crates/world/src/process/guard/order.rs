//! What a guard is told to do, as the arguments it is started with.
//!
//! The environment of the program is the guard's own and is not among them: arguments can be read
//! by every user of the machine.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

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
        let (lock, directory) = (self.lock.into(), self.directory.into());
        [session.into(), grace_ms.into(), lock, directory, self.program]
            .into_iter()
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
            lock: args.next()?.into(),
            directory: args.next()?.into(),
            program: args.next()?,
            args: args.collect(),
        })
    }
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
            lock: "/p/run 1/lock".into(),
            directory: "/p".into(),
            program: OsString::from_vec(vec![b'a', 0xff]),
            args: vec!["--".into(), OsString::new(), "__guard".into()],
        };
        assert_eq!(Order::read(order.clone().into_args()), Some(order));
    }

    #[test]
    fn what_is_no_order_is_refused() {
        let cases: [&[&str]; 4] = [
            &[],
            &["own-session", "5", "/lock", "/"],
            &["own-session", "soon", "/lock", "/", "true"],
            &["--help", "5", "/lock", "/", "true"],
        ];
        for args in cases {
            assert_eq!(Order::read(args.iter().map(OsString::from)), None, "{args:?}");
        }
    }
}
