//! Which of several hits counts.

use super::{Verdict, vocabulary};
use crate::fault::code::Class;
use crate::fault::table::Code;

/// The best hit so far.
#[derive(Clone, Copy)]
pub(super) struct Hit {
    rank: u8,
    code: Code,
    rule: &'static str,
}

impl Hit {
    pub(super) const NONE: Self = Self { rank: u8::MAX, code: Code::LogicError, rule: "" };

    pub(super) const fn is_none(self) -> bool {
        self.rank == u8::MAX
    }

    /// Whether nothing but how it ended was found.
    pub(super) const fn is_last(self) -> bool {
        self.rank >= LAST_RANK
    }

    pub(super) const fn is(self, code: Code) -> bool {
        !self.is_none() && self.code as u16 == code as u16
    }

    /// Whether words that stand together may still say more: nothing was found, or only that a
    /// program was called wrongly.
    pub(super) fn is_wide(self) -> bool {
        self.rank >= rank(Code::LogicError) || self.is_vague()
    }

    /// Whether it is about how a tool was called, by words alone that a place in source outweighs.
    pub(super) fn is_loose(self) -> bool {
        self.is_none() || (self.code == Code::ToolConfig && self.rank == rank(Code::ToolConfig))
    }

    /// Whether words that stand together, and no more, miss a program.
    pub(super) fn is_missing_by_words(self) -> bool {
        self.rule == vocabulary::MISSING_TOOL
    }

    /// Whether it passes by itself, so that a lock or a port may be behind it.
    pub(super) const fn passes(self) -> bool {
        self.rank >= LOCK_RANK
    }

    /// Whether it is a lock that another program holds.
    pub(super) const fn is_lock(self) -> bool {
        self.rank == LOCK_RANK
    }

    /// Whether nothing tells the cause: it could not be had, or the words are those of code.
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

    /// Whether it passes by itself.
    pub(super) fn is_outage(self) -> bool {
        !self.is_none() && self.code.row().class == Class::EnvError
    }

    /// Whether it names a cause outside the code and the way a tool was called.
    pub(super) fn is_cause(self) -> bool {
        !self.is_none() && self.code.row().class != Class::CodeError
    }

    /// A better hit replaces this one; of two equal ones the first stays.
    pub(super) fn offer(&mut self, code: Code, rule: &'static str) {
        self.offer_ranked(rank(code), code, rule);
    }

    /// A status 429 says more than any word beside it.
    pub(super) fn offer_first(&mut self, code: Code, rule: &'static str) {
        self.offer_ranked(0, code, rule);
    }

    /// A narrow fact that no wide phrase outweighs.
    pub(super) fn offer_narrow(&mut self, code: Code, rule: &'static str) {
        self.offer_ranked(1, code, rule);
    }

    /// A lock that another program holds, whichever code it has.
    pub(super) fn offer_lock(&mut self, code: Code, rule: &'static str) {
        self.offer_ranked(LOCK_RANK, code, rule);
    }

    /// Something that says less than any other hit.
    pub(super) fn offer_last(&mut self, code: Code, rule: &'static str) {
        self.offer_ranked(LAST_RANK, code, rule);
    }

    /// Something that any narrower hit explains.
    pub(super) fn offer_vague(&mut self, code: Code, rule: &'static str) {
        self.offer_ranked(VAGUE_RANK, code, rule);
    }

    fn offer_ranked(&mut self, rank: u8, code: Code, rule: &'static str) {
        if rank < self.rank {
            *self = Self { rank, code, rule };
        }
    }

    pub(super) fn verdict(self) -> Option<Verdict> {
        (!self.is_none()).then_some(Verdict { code: self.code, rule: self.rule })
    }
}

/// After everything that says more than that something could not be had.
const VAGUE_RANK: u8 = 18;

/// After everything else.
const LAST_RANK: u8 = 21;

/// Between git's own locks and what another program waits for.
const LOCK_RANK: u8 = 11;

/// What needs a person comes before what passes by itself, and the narrow before the wide.
const fn rank(code: Code) -> u8 {
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
        // A statement or an expression that is wrong says more than "does not exist".
        Code::LogicError => 19,
        _ => 20,
    }
}
