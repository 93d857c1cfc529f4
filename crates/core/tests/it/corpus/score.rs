//! The scores of the corpus, for the gate and for the script that prints them.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::fault::Code;
use unstuck_core::fault::text_rules;

/// One labelled output.
pub(crate) struct Record {
    /// What the tool printed.
    pub(crate) text: String,
    /// The tool.
    pub(crate) tool: String,
    /// The error: the same label is the same error.
    pub(crate) kind: String,
    /// The category.
    pub(crate) category: String,
}

/// A record with what was found.
pub(crate) struct Found<'a> {
    record: &'a Record,
    signature: String,
    category: &'static str,
}

/// How well groups and categories were found.
pub(crate) struct Score {
    /// Share of records whose group is exactly right.
    pub(crate) ga: f64,
    /// Share of pairs found together that belong together.
    pub(crate) precision: f64,
    /// Harmonic mean of precision and recall over pairs.
    pub(crate) f1: f64,
    /// Share of kinds with more than one signature.
    pub(crate) split: f64,
    /// Share of kinds that share a signature with another kind.
    pub(crate) merge: f64,
    /// Share of records with the right category.
    pub(crate) category: f64,
    /// The same, averaged over the categories.
    pub(crate) category_macro: f64,
}

/// Reads every record.
pub(crate) fn read(records: &[Record]) -> Vec<Found<'_>> {
    let found = |record| {
        let text_rules::OutputClassification { code, signature, .. } =
            text_rules::classify_output(Record::bytes(record));
        Found { record, signature: signature.to_string(), category: category_of(code) }
    };
    records.iter().map(found).collect()
}

impl Record {
    fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// Parts the tools into folds of about the same size: the largest tool first, each into the fold
/// that is smallest so far.
pub(crate) fn folds(records: &[Record], count: usize) -> BTreeMap<String, usize> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for record in records {
        *sizes.entry(&record.tool).or_default() += 1;
    }
    let mut tools: Vec<(&str, usize)> = sizes.into_iter().collect();
    tools.sort_by_key(|(tool, size)| (std::cmp::Reverse(*size), *tool));
    let mut loads = vec![0; count];
    let mut fold_of = BTreeMap::new();
    for (tool, size) in tools {
        let fold = (0..count).min_by_key(|fold| (loads[*fold], *fold)).unwrap_or(0);
        loads[fold] += size;
        fold_of.insert(tool.to_owned(), fold);
    }
    fold_of
}

impl Found<'_> {
    /// The tool of the record.
    pub(crate) fn tool(&self) -> &str {
        &self.record.tool
    }
}

/// Scores the records that `pick` takes.
pub(crate) fn score(found: &[Found<'_>], pick: impl Fn(&Found<'_>) -> bool) -> Score {
    let picked: Vec<&Found<'_>> = found.iter().filter(|one| pick(one)).collect();
    let mut kinds: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let mut groups: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let mut shared: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (at, one) in picked.iter().enumerate() {
        kinds.entry(&one.record.kind).or_default().insert(at);
        groups.entry(&one.signature).or_default().insert(at);
        *shared.entry((&one.record.kind, &one.signature)).or_default() += 1;
    }
    let exact: BTreeSet<&BTreeSet<usize>> = kinds.values().collect();
    let right = groups.values().filter(|group| exact.contains(group)).map(BTreeSet::len).sum();
    let together = shared.values().map(|count| pairs(*count)).sum();
    let precision = share(together, groups.values().map(|group| pairs(group.len())).sum());
    let recall = share(together, kinds.values().map(|kind| pairs(kind.len())).sum());
    let signatures_of = |kind: &str| shared.keys().filter(|(k, _)| *k == kind).count();
    let owners_of = |signature: &str| shared.keys().filter(|(_, s)| *s == signature).count();
    let split = kinds.keys().filter(|kind| signatures_of(kind) > 1).count();
    let merged: BTreeSet<&str> =
        shared.keys().filter(|(_, signature)| owners_of(signature) > 1).map(|(k, _)| *k).collect();
    let (category, category_macro) = categories(&picked);
    Score {
        ga: share(right, picked.len()),
        precision,
        f1: 2.0 * precision * recall / (precision + recall),
        split: share(split, kinds.len()),
        merge: share(merged.len(), kinds.len()),
        category,
        category_macro,
    }
}

fn categories(picked: &[&Found<'_>]) -> (f64, f64) {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for one in picked {
        let (right, all) = counts.entry(&one.record.category).or_default();
        *right += usize::from(one.category == one.record.category);
        *all += 1;
    }
    let right = counts.values().map(|(right, _)| right).sum();
    let shares: f64 = counts.values().map(|(right, all)| share(*right, *all)).sum();
    (share(right, picked.len()), shares / as_f64(counts.len()))
}

fn pairs(count: usize) -> usize {
    count * count.saturating_sub(1) / 2
}

fn share(part: usize, whole: usize) -> f64 {
    as_f64(part) / as_f64(whole.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "counts of a small file")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

/// The corpus' category of a code that text rules may yield.
pub(crate) fn category_of(code: Code) -> &'static str {
    match code {
        Code::AuthInvalid | Code::AuthExpired => "auth",
        Code::AuthMissing => "missing_credentials",
        Code::ToolAccessDenied => "permission",
        Code::ToolRateLimit | Code::ToolQuota => "rate_limit",
        Code::EnvTimeout => "timeout",
        Code::EnvConnection | Code::EnvDns | Code::EnvUnavailable => "network_transient",
        Code::EnvRegistry => "registry_down",
        Code::EnvDiskFull => "disk_full",
        Code::GitConflict => "git_conflict",
        Code::GitLocked => "git_lock",
        Code::ToolMissing => "not_found_tool",
        Code::ToolConfig => "config",
        Code::ToolCrash => "internal",
        Code::LogicError => "code_error",
        _ => "never from text",
    }
}
