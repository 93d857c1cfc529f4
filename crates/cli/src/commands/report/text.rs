//! Writes a report to a terminal.

use std::io::{self, Write};

use anstyle::Style;

use super::page::{ReportItem, ReportLayout, ReportPiece, ReportSection, ReportTable};
use crate::render::style::{CODE, DIM, ERROR, HINT, STRONG, TITLE};
use crate::render::{words, wrap_text};

/// Column at which the lines under a title begin.
const INDENT: usize = 4;
/// Maximum width of a name in the table; a longer one is cut.
const NAME_COLUMNS_MAX: usize = 36;

pub(super) fn write_text(
    out: &mut impl Write,
    page: &ReportLayout,
    all: bool,
    width: usize,
) -> io::Result<()> {
    writeln!(out, "{TITLE}{}{TITLE:#} {DIM}· {}{DIM:#}", page.title, page.times)?;
    writeln!(out, "\n{STRONG}{}{STRONG:#}", wrap_text(&page.headline, 0, width))?;
    for remark in &page.remarks {
        writeln!(out, "{}", wrap_text(remark, 0, width))?;
    }
    for part in &page.sections {
        write_section(out, part, width)?;
    }
    if !all {
        let more = "`unstuck report --all` adds each check and the errors that were got past.";
        writeln!(out, "\n{DIM}{}{DIM:#}", wrap_text(more, 0, width))?;
    }
    Ok(())
}

fn write_section(out: &mut impl Write, section: &ReportSection, width: usize) -> io::Result<()> {
    writeln!(out, "\n{TITLE}{}{TITLE:#}", section.title)?;
    for line in &section.lines {
        writeln!(out, "  {}", wrap_text(line, 2, width))?;
    }
    for each in &section.items {
        write_item(out, each, width)?;
    }
    section.table.as_ref().map_or(Ok(()), |rows| write_table(out, rows))
}

fn write_item(out: &mut impl Write, item: &ReportItem, width: usize) -> io::Result<()> {
    let color = mark_color(item.mark);
    let facts: Vec<&str> = item.facts.iter().map(ReportPiece::text).collect();
    let mark = item.mark;
    let facts = facts.join(" · ");
    let name = wrap_text(&item.title, INDENT, width);
    write!(out, "  {color}{mark}{color:#} {STRONG}{name}{STRONG:#}")?;
    let wide = INDENT + item.title.chars().count() + 3 + facts.chars().count();
    match facts.as_str() {
        "" => writeln!(out)?,
        facts if wide <= width => writeln!(out, "{DIM} · {facts}{DIM:#}")?,
        facts => writeln!(out, "\n{:INDENT$}{DIM}{}{DIM:#}", "", wrap_text(facts, INDENT, width))?,
    }
    for line in &item.lines {
        let words: Vec<&str> = line.iter().map(ReportPiece::text).collect();
        writeln!(out, "{:INDENT$}{}", "", wrap_text(&words.join(": "), INDENT, width))?;
    }
    for line in item.output.lines() {
        writeln!(out, "{:INDENT$}{DIM}{line}{DIM:#}", "")?;
    }
    for (label, command) in &item.choices {
        writeln!(out, "{:INDENT$}{}", "", wrap_text(label, INDENT, width))?;
        writeln!(out, "{:INDENT$}  {CODE}{command}{CODE:#}", "")?;
    }
    Ok(())
}

fn mark_color(mark: &str) -> Style {
    match mark {
        "✔" => HINT,
        "⏸" | "✘" => ERROR,
        _ => DIM,
    }
}

fn write_table(out: &mut impl Write, table: &ReportTable) -> io::Result<()> {
    let cut = |row: &[String; 4]| {
        row.each_ref().map(|cell| words::cut_to_columns(cell, NAME_COLUMNS_MAX))
    };
    let rows: Vec<[String; 4]> = table.rows.iter().map(cut).collect();
    let widths = [0, 1, 2, 3].map(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([table.head[column].len()]).max().unwrap_or_default()
    });
    let [a, b, c, d] = widths;
    let [task, attempts, time, cost] = table.head;
    writeln!(out, "  {DIM}{task:a$}  {attempts:>b$}  {time:>c$}  {cost:>d$}{DIM:#}")?;
    for [task, attempts, time, cost] in &rows {
        writeln!(out, "  {task:a$}  {attempts:>b$}  {time:>c$}  {cost:>d$}")?;
    }
    Ok(())
}
