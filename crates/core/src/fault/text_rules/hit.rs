//! Ranking of hits: which of several matching rules wins.

use super::{RuleVerdict, vocabulary};
use crate::code::{Class, Code};

/// The best hit found so far; a lower rank is better.
#[derive(Clone, Copy)]
pub(super) struct RuleHit {
    rank: u8,
    code: Code,
    rule: &'static str,
}

impl RuleHit {
    pub(super) const NONE: Self = Self { rank: u8::MAX, code: Code::LogicError, rule: "" };

    pub(super) const fn is_none(self) -> bool {
        self.rank == u8::MAX
    }

    /// Returns whether no rule matched except one about how the program ended.
    pub(super) const fn is_last(self) -> bool {
        self.rank >= LAST_RANK
    }

    pub(super) const fn has_code(self, code: Code) -> bool {
        !self.is_none() && self.code as u16 == code as u16
    }

    /// Returns whether the word-combination rules may still say more: no rule matched, or only one about a
    /// program that was called wrongly.
    pub(super) fn is_wide(self) -> bool {
        self.rank >= code_rank(Code::LogicError) || self.is_vague()
    }

    /// Returns whether the hit is about how a tool was called, by words alone; a place in source outweighs
    /// it.
    pub(super) fn is_loose(self) -> bool {
        self.is_none()
            || (self.code == Code::ToolConfig && self.rank == code_rank(Code::ToolConfig))
    }

    /// Returns whether only a word combination reports a missing program.
    pub(super) fn is_missing_by_words(self) -> bool {
        self.rule == vocabulary::MISSING_TOOL
    }

    /// Returns whether the hit passes without help, so that a lock or a port may be behind it.
    pub(super) const fn is_passing(self) -> bool {
        self.rank >= LOCK_RANK
    }

    /// Returns whether the hit is a lock held by another program.
    pub(super) const fn is_lock(self) -> bool {
        self.rank == LOCK_RANK
    }

    /// Returns whether the cause is unknown: a download failed without a reason, or the words are those of
    /// code.
    pub(super) fn is_vague(self) -> bool {
        self.is_none()
            || matches!(
                self.rule,
                vocabulary::VAGUE
                    | vocabulary::OF_CODE
                    | vocabulary::EXITED
                    | vocabulary::ENDED
                    | vocabulary::INTERNAL
            )
    }

    /// Returns whether retrying later can help.
    pub(super) fn is_outage(self) -> bool {
        !self.is_none() && self.code.row().class == Class::EnvError
    }

    /// Returns whether the hit names a cause outside the code and the way a tool was called.
    pub(super) fn is_cause(self) -> bool {
        !self.is_none() && self.code.row().class != Class::CodeError
    }

    /// Replaces this hit if the offered one ranks better; of two equal ones the first stays.
    pub(super) fn offer(&mut self, code: Code, rule: &'static str) {
        self.offer_ranked(code_rank(code), code, rule);
    }

    /// Offers a hit above all others: an HTTP status 429 says more than any word beside it.
    pub(super) fn offer_first(&mut self, code: Code, rule: &'static str) {
        self.offer_ranked(0, code, rule);
    }

    /// Offers a narrow fact that no wide phrase outweighs.
    pub(super) fn offer_narrow(&mut self, code: Code, rule: &'static str) {
        self.offer_ranked(1, code, rule);
    }

    /// Offers a lock held by another program, whatever its code.
    pub(super) fn offer_lock(&mut self, code: Code, rule: &'static str) {
        self.offer_ranked(LOCK_RANK, code, rule);
    }

    /// Offers a hit that ranks below every other.
    pub(super) fn offer_last(&mut self, code: Code, rule: &'static str) {
        self.offer_ranked(LAST_RANK, code, rule);
    }

    /// Offers a hit that any narrower one explains.
    pub(super) fn offer_vague(&mut self, code: Code, rule: &'static str) {
        self.offer_ranked(VAGUE_RANK, code, rule);
    }

    fn offer_ranked(&mut self, rank: u8, code: Code, rule: &'static str) {
        if rank < self.rank {
            *self = Self { rank, code, rule };
        }
    }

    pub(super) fn to_verdict(self) -> Option<RuleVerdict> {
        (!self.is_none()).then_some(RuleVerdict { code: self.code, rule: self.rule })
    }
}

/// The rank below all hits that say more than that a resource could not be fetched.
const VAGUE_RANK: u8 = 18;

/// The rank below all others.
const LAST_RANK: u8 = 21;

/// The rank between git's own locks and resources that another program waits for.
const LOCK_RANK: u8 = 11;

/// Returns the rank of a code: faults that need a person rank before transient ones, and narrow before wide.
const fn code_rank(code: Code) -> u8 {
    match code {
        Code::ToolMissing => 2,
        Code::AuthExpired => 3,
        Code::AuthMissing => 4,
        Code::AuthInvalid => 5,
        Code::ToolQuota => 6,
        Code::ToolAccessDenied => 7,
        Code::GitConflict => 8,
        Code::EnvDiskFull => 9,
        Code::GitLocked => 10,
        Code::ToolRateLimit => 12,
        Code::EnvRegistry => 13,
        Code::EnvTimeout => 14,
        Code::EnvDns => 15,
        Code::EnvConnection => 16,
        Code::EnvUnavailable => 17,
        Code::ToolCrash => 18,
        // An invalid statement or expression says more than "does not exist".
        Code::LogicError => 19,
        _ => 20,
    }
}
