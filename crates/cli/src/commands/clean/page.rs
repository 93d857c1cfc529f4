//! The page of `clean` for people.

use std::io::{self, Write};

use super::size;
use super::sweep::{SweepItem, SweepResult};
use crate::render::{style, words, wrap_text};

/// Columns by which the reason for keeping a leftover is indented.
const INDENT: usize = 4;

pub(super) fn write_page(
    out: &mut impl Write,
    swept: &SweepResult,
    width: usize,
) -> io::Result<()> {
    let (gone, kept): (Vec<&SweepItem>, Vec<&SweepItem>) =
        swept.things.iter().partition(|thing| thing.kept.is_none());
    let title = style::TITLE;
    if !gone.is_empty() {
        let head = if swept.removed { "Removed" } else { "To be removed" };
        writeln!(out, "{title}{head}{title:#}")?;
        for thing in &gone {
            write_removed(out, thing)?;
        }
    }
    if !kept.is_empty() {
        writeln!(out, "{title}Kept{title:#}")?;
        for thing in &kept {
            writeln!(out, "  {}", thing.what)?;
            let why = thing.kept.as_deref().unwrap_or_default();
            let dim = style::DIM;
            writeln!(out, "{:INDENT$}{dim}{}{dim:#}", "", wrap_text(why, INDENT, width))?;
        }
    }
    if swept.attempts > 0 {
        let attempts =
            words::render_count(swept.attempts, "saved attempt stays", "saved attempts stay");
        writeln!(out, "{attempts}: `git for-each-ref refs/unstuck/attempts` lists them.")?;
    }
    writeln!(out, "{}", render_summary(swept, gone.len()))
}

fn write_removed(out: &mut impl Write, thing: &SweepItem) -> io::Result<()> {
    let dim = style::DIM;
    match thing.bytes {
        0 => writeln!(out, "  {}", thing.what),
        bytes => writeln!(out, "  {}  {dim}{}{dim:#}", thing.what, size::format_bytes(bytes)),
    }
}

fn render_summary(swept: &SweepResult, gone: usize) -> String {
    let bytes = size::format_bytes(swept.freed_bytes);
    match (gone, swept.removed) {
        (0, _) => "There is nothing to remove.".to_owned(),
        (_, true) => format!("{bytes} are free again."),
        (_, false) => format!("That would free {bytes}."),
    }
}
