//! Closed gates shared between projects: projects that use one account share its limits.
//!
//! A gate that closes in this project is written to a folder of the user's, named by the hash of
//! provider and credential; other projects read it before they use the same account. It is only a
//! hint: a file that cannot be read or written costs one refused call.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{EffectKind, Event};
use unstuck_core::fault::{Code, Fault, Kind};
use unstuck_core::plan::GateKey;
use unstuck_core::time::Time;

use crate::effects::{EffectRequest, EffectResult, failed_outcome, read_json};

/// The folder by which projects tell each other of closed gates.
#[derive(Clone, Debug)]
pub struct GateMirror {
    folder: PathBuf,
    /// The identity of this project among the projects of the user.
    own: String,
}

/// The content of a closed gate's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ClosedGateRecord {
    until: Time,
    code: Code,
    by: String,
}

impl GateMirror {
    /// Creates a mirror in `folder`, which is created when the first gate closes.
    pub fn new(folder: impl Into<PathBuf>, own: impl Into<String>) -> Self {
        Self { folder: folder.into(), own: own.into() }
    }

    /// Publishes the change of a gate to the other projects.
    pub(super) fn publish_event(&self, event: &Event, now: Time) {
        let told = match event {
            // The project that found the limit first says when the gate opens: two projects that
            // pass it to each other would keep it closed for ever.
            Event::GateWaiting { gate, .. } if self.find_foreign_closing(*gate, now).is_some() => {
                return;
            }
            Event::GateWaiting { gate, until, code, .. } if is_limit_code(*code) => {
                let until = *until;
                let code = *code;
                let by = self.own.clone();
                self.close_gate(*gate, &ClosedGateRecord { until, code, by })
            }
            Event::GatePassing { gate, .. } => self.open_gate(*gate),
            _ => return,
        };
        if let Err(error) = told {
            tracing::debug!(%error, "other projects could not be told of a gate");
        }
    }

    /// Returns the failed outcome of an effect whose account another project found limited.
    pub(super) fn find_refusal(&self, order: &EffectRequest, now: Time) -> Option<EffectResult> {
        let (EffectKind::Attempt { .. } | EffectKind::Repair { .. }) = order.effect.what else {
            return None;
        };
        let closed = self.find_foreign_closing(order.task.gate, now)?;
        let message = "another project found this account limited";
        let fault =
            Fault::new(Kind::bare(closed.code), "gate", message).with_resets_at(closed.until);
        Some(failed_outcome(fault).into())
    }

    fn close_gate(&self, gate: GateKey, closed: &ClosedGateRecord) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let file = self.gate_path(gate);
        let draft = self.folder.join(format!("{gate}.new"));
        fs::write(&draft, serde_json::to_vec(closed)?)?;
        fs::rename(draft, file)
    }

    fn open_gate(&self, gate: GateKey) -> io::Result<()> {
        match fs::remove_file(self.gate_path(gate)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn find_foreign_closing(&self, gate: GateKey, now: Time) -> Option<ClosedGateRecord> {
        let path = self.gate_path(gate);
        let read = read_json(&path).inspect_err(|error| {
            tracing::debug!(%error, path = %path.display(), "a shared gate cannot be read");
        });
        let closed: ClosedGateRecord = read.ok()??;
        (closed.until > now && closed.by != self.own).then_some(closed)
    }

    fn gate_path(&self, gate: GateKey) -> PathBuf {
        self.folder.join(gate.to_string())
    }
}

/// Returns whether a code means that the account is limited, as opposed to a service in trouble.
const fn is_limit_code(code: Code) -> bool {
    matches!(code, Code::ProviderRateLimit | Code::ProviderOverloaded | Code::ProviderUsageLimit)
}
