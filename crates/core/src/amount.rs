//! An amount of money, tokens and time that work costs.

use serde::{Deserialize, Serialize};

/// The actual or estimated cost of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Amount {
    /// Money in millionths of the account's currency.
    pub money_micros: u64,
    /// Number of tokens, input and output.
    pub tokens: u64,
    /// Working time in milliseconds.
    pub time_ms: u64,
}

impl Amount {
    /// The zero amount.
    pub const ZERO: Self = Self { money_micros: 0, tokens: 0, time_ms: 0 };

    /// Returns the saturating sum.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self {
            money_micros: self.money_micros.saturating_add(other.money_micros),
            tokens: self.tokens.saturating_add(other.tokens),
            time_ms: self.time_ms.saturating_add(other.time_ms),
        }
    }

    /// Returns the saturating difference, never below zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self {
            money_micros: self.money_micros.saturating_sub(other.money_micros),
            tokens: self.tokens.saturating_sub(other.tokens),
            time_ms: self.time_ms.saturating_sub(other.time_ms),
        }
    }

    /// Returns the amount multiplied by `factor`.
    #[must_use]
    pub const fn saturating_mul(self, factor: u32) -> Self {
        Self {
            money_micros: self.money_micros.saturating_mul(factor as u64),
            tokens: self.tokens.saturating_mul(factor as u64),
            time_ms: self.time_ms.saturating_mul(factor as u64),
        }
    }

    /// Returns the maximum in each unit.
    #[must_use]
    pub fn max_per_unit(self, other: Self) -> Self {
        Self {
            money_micros: self.money_micros.max(other.money_micros),
            tokens: self.tokens.max(other.tokens),
            time_ms: self.time_ms.max(other.time_ms),
        }
    }

    /// Returns whether all units are zero.
    pub const fn is_zero(self) -> bool {
        self.money_micros == 0 && self.tokens == 0 && self.time_ms == 0
    }

    /// Returns the unit in which this exceeds `cap`; a cap of zero means "no cap".
    pub const fn exceeded_unit(self, cap: Self) -> Option<&'static str> {
        if cap.money_micros > 0 && self.money_micros > cap.money_micros {
            Some("money")
        } else if cap.tokens > 0 && self.tokens > cap.tokens {
            Some("tokens")
        } else if cap.time_ms > 0 && self.time_ms > cap.time_ms {
            Some("time")
        } else {
            None
        }
    }

    /// Returns this cap raised by `more`; a unit without a cap stays without one.
    #[must_use]
    pub const fn raised_by(self, more: Self) -> Self {
        const fn raised(cap: u64, more: u64) -> u64 {
            if cap == 0 { 0 } else { cap.saturating_add(more) }
        }
        Self {
            money_micros: raised(self.money_micros, more.money_micros),
            tokens: raised(self.tokens, more.tokens),
            time_ms: raised(self.time_ms, more.time_ms),
        }
    }

    /// Returns `percent` hundredths of the amount, rounded down.
    #[must_use]
    pub const fn percent(self, percent: u64) -> Self {
        Self {
            money_micros: self.money_micros / 100 * percent,
            tokens: self.tokens / 100 * percent,
            time_ms: self.time_ms / 100 * percent,
        }
    }
}
