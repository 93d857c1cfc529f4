//! Conversion of a trouble in a file to the typed fault that a detector would state.

use unstuck_core::fault::{
    BudgetSpent, Fault, Files, Kind, Permission, RateLimit, Validation as Red,
};
use unstuck_core::time::{Span, Time};

use super::trouble::ScenarioTrouble;

impl ScenarioTrouble {
    /// Returns the fault as it is stated at `now`.
    pub fn to_fault(&self, now: Time) -> Fault {
        let message = self.message_text();
        let mut fault = Fault::new(self.fault_kind(&message), self.at.fault_source(), message);
        fault.retry_after = self.retry_after_seconds.map(Span::from_secs);
        fault.resets_at = self.resets_after_seconds.map(|after| now + Span::from_secs(after));
        fault
    }

    /// Returns the message.
    pub fn message_text(&self) -> String {
        self.message.clone().unwrap_or_else(|| self.code.summary().to_owned())
    }

    /// Returns the code with its context, parts of which distinguish errors.
    fn fault_kind(&self, message: &str) -> Kind {
        let red = || Red { output: message.to_owned(), exit: Some(1), ..Red::default() };
        let files = || Files { files: vec![message.to_owned()], ..Files::default() };
        let limited = || RateLimit { status: Some(429), ..RateLimit::default() };
        match Kind::bare(self.code) {
            Kind::ValidationPreCommit(_) => Kind::ValidationPreCommit(red()),
            Kind::ValidationPrePush(_) => Kind::ValidationPrePush(red()),
            Kind::ValidationPrePr(_) => Kind::ValidationPrePr(red()),
            Kind::ScopeForbidden(_) => Kind::ScopeForbidden(files()),
            Kind::ScopeOutsideAllowed(_) => Kind::ScopeOutsideAllowed(files()),
            Kind::ProviderRateLimit(_) => Kind::ProviderRateLimit(limited()),
            Kind::NetworkRateLimit(_) => Kind::NetworkRateLimit(limited()),
            Kind::PermissionFileAccess(_) => Kind::PermissionFileAccess(Permission {
                what: message.to_owned(),
                ..Permission::default()
            }),
            Kind::PermissionCommandBlocked(_) => Kind::PermissionCommandBlocked(Permission {
                what: message.to_owned(),
                commands: vec![message.to_owned()],
                ..Permission::default()
            }),
            Kind::BudgetExhausted(_) => Kind::BudgetExhausted(BudgetSpent {
                span: self.budget.unwrap_or_default(),
                unit: "tokens".to_owned(),
                ..BudgetSpent::default()
            }),
            kind => kind,
        }
    }
}
