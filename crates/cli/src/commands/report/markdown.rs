//! Writes a report as Markdown, for a chat, a pull request or a file.

use std::io::{self, Write};

use super::page::{ReportItem, ReportLayout, ReportPiece, ReportSection, ReportTable};

pub(super) fn write_markdown(out: &mut impl Write, page: &ReportLayout) -> io::Result<()> {
    writeln!(out, "# {}\n", escape_text(&page.title))?;
    writeln!(out, "{}\n\n**{}**", escape_text(&page.times), escape_text(&page.headline))?;
    for remark in &page.remarks {
        writeln!(out, "\n{}", escape_text(remark))?;
    }
    page.sections.iter().try_for_each(|part| write_section(out, part))
}

fn write_section(out: &mut impl Write, section: &ReportSection) -> io::Result<()> {
    writeln!(out, "\n## {}\n", section.title)?;
    for line in &section.lines {
        writeln!(out, "- {}", escape_text(line))?;
    }
    section.items.iter().try_for_each(|each| write_item(out, each))?;
    section.table.as_ref().map_or(Ok(()), |rows| write_table(out, rows))
}

fn write_item(out: &mut impl Write, item: &ReportItem) -> io::Result<()> {
    let facts: Vec<String> = item.facts.iter().map(render_piece).collect();
    let facts =
        if facts.is_empty() { String::new() } else { format!(" · {}", facts.join(" · ")) };
    writeln!(out, "- **{}**{facts}", escape_text(&item.title))?;
    for line in &item.lines {
        let words: Vec<String> = line.iter().map(render_piece).collect();
        writeln!(out, "  - {}", words.join(": "))?;
    }
    write_output(out, &item.output)?;
    for (label, command) in &item.choices {
        writeln!(out, "  - {}: {}", escape_text(label), quote_code(command))?;
    }
    Ok(())
}

/// Writes a program's output in a block whose fence is longer than any run of backticks in it.
fn write_output(out: &mut impl Write, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let fence = "`".repeat((longest_row(text) + 1).max(3));
    writeln!(out, "\n  {fence}text")?;
    text.lines().try_for_each(|line| writeln!(out, "  {line}"))?;
    writeln!(out, "  {fence}\n")
}

fn write_table(out: &mut impl Write, table: &ReportTable) -> io::Result<()> {
    let row = |cells: &[String; 4]| {
        format!("| {} |", cells.each_ref().map(|c| escape_text(c)).join(" | "))
    };
    writeln!(out, "{}", row(&table.head.map(str::to_owned)))?;
    writeln!(out, "| --- | ---: | ---: | ---: |")?;
    table.rows.iter().try_for_each(|cells| writeln!(out, "{}", row(cells)))
}

fn render_piece(piece: &ReportPiece) -> String {
    match piece {
        ReportPiece::Words(words) => escape_text(words),
        ReportPiece::Code(text) => quote_code(text),
    }
}

/// Escapes text for Markdown and HTML. An underscore inside a word (`test_calc.py`) is no markup and stays readable.
fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut signs = text.chars().peekable();
    let mut follows_word = false;
    while let Some(sign) = signs.next() {
        let in_word = follows_word && signs.peek().is_some_and(|next| next.is_alphanumeric());
        let is_markup =
            matches!(sign, '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&');
        if is_markup || (sign == '_' && !in_word) {
            out.push('\\');
        }
        out.push(sign);
        follows_word = sign.is_alphanumeric();
    }
    out
}

/// Formats a literal with a fence longer than any run of backticks in it.
fn quote_code(text: &str) -> String {
    let fence = "`".repeat(longest_row(text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn longest_row(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_becomes_markup() {
        assert_eq!(escape_text("a*b <i> [x](y) | #1"), r"a\*b \<i\> \[x\](y) \| \#1");
        assert_eq!(escape_text("test_calc.py, _x_ and a__b"), r"test_calc.py, \_x\_ and a\_\_b");
        assert_eq!(quote_code("cargo test"), "`cargo test`");
        assert_eq!(quote_code("echo `date`"), "`` echo `date` ``");
    }

    #[test]
    fn what_a_program_wrote_stands_in_a_block_that_it_cannot_end() {
        let mut out = Vec::new();
        write_output(&mut out, "a_b\n````\n# c").unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "\n  `````text\n  a_b\n  ````\n  # c\n  `````\n\n");
    }
}
