//! Writes a report as one HTML page: it loads nothing and runs nothing, and all text is escaped.

use std::fmt;
use std::io::{self, Write};

use super::page::{ReportItem, ReportLayout, ReportPiece, ReportSection, ReportTable};

const STYLE: &str = include_str!("report.css");

pub(super) fn write_html(out: &mut impl Write, page: &ReportLayout) -> io::Result<()> {
    let title = HtmlEscaped(&page.title);
    let times = HtmlEscaped(&page.times);
    // Even text that escaped the escaping could do nothing.
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <title>Report · {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>{title}</h1>\n<p class=\"times\">{times}</p>\n\
         <p class=\"headline\">{}</p>\n",
        HtmlEscaped(&page.headline)
    )?;
    for remark in &page.remarks {
        writeln!(out, "<p>{}</p>", HtmlEscaped(remark))?;
    }
    writeln!(out, "</header>")?;
    page.sections.iter().try_for_each(|part| write_section(out, part))?;
    writeln!(out, "</main>\n</body>\n</html>")
}

fn write_section(out: &mut impl Write, section: &ReportSection) -> io::Result<()> {
    let title = HtmlEscaped(section.title);
    if section.folded {
        writeln!(out, "<details>\n<summary><h2>{title}</h2></summary>")?;
    } else {
        writeln!(out, "<section>\n<h2>{title}</h2>")?;
    }
    for line in &section.lines {
        writeln!(out, "<p>{}</p>", HtmlEscaped(line))?;
    }
    if !section.items.is_empty() {
        writeln!(out, "<ul class=\"items\">")?;
        section.items.iter().try_for_each(|each| write_item(out, each))?;
        writeln!(out, "</ul>")?;
    }
    if let Some(rows) = &section.table {
        write_table(out, rows)?;
    }
    writeln!(out, "{}", if section.folded { "</details>" } else { "</section>" })
}

fn write_item(out: &mut impl Write, item: &ReportItem) -> io::Result<()> {
    let mark = HtmlEscaped(item.mark);
    let title = HtmlEscaped(&item.title);
    writeln!(out, "<li>\n<h3><span aria-hidden=\"true\">{mark}</span> {title}</h3>")?;
    if !item.facts.is_empty() {
        let facts: Vec<String> = item.facts.iter().map(render_piece).collect();
        writeln!(out, "<p class=\"facts\">{}</p>", facts.join(" · "))?;
    }
    for line in &item.lines {
        let words: Vec<String> = line.iter().map(render_piece).collect();
        writeln!(out, "<p>{}</p>", words.join(": "))?;
    }
    if !item.output.is_empty() {
        writeln!(out, "<pre>{}</pre>", HtmlEscaped(&item.output))?;
    }
    if !item.choices.is_empty() {
        writeln!(out, "<dl>")?;
        for (label, command) in &item.choices {
            let label = HtmlEscaped(label);
            let command = HtmlEscaped(command);
            writeln!(out, "<dt>{label}</dt>\n<dd><code>{command}</code></dd>")?;
        }
        writeln!(out, "</dl>")?;
    }
    writeln!(out, "</li>")
}

fn write_table(out: &mut impl Write, table: &ReportTable) -> io::Result<()> {
    writeln!(out, "<table>\n<thead>\n<tr>")?;
    for head in table.head {
        writeln!(out, "<th scope=\"col\">{}</th>", HtmlEscaped(head))?;
    }
    writeln!(out, "</tr>\n</thead>\n<tbody>")?;
    for [name, rest @ ..] in &table.rows {
        write!(out, "<tr>\n<th scope=\"row\">{}</th>\n", HtmlEscaped(name))?;
        for cell in rest {
            writeln!(out, "<td>{}</td>", HtmlEscaped(cell))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody>\n</table>")
}

fn render_piece(piece: &ReportPiece) -> String {
    match piece {
        ReportPiece::Words(words) => HtmlEscaped(words).to_string(),
        ReportPiece::Code(code) => format!("<code>{}</code>", HtmlEscaped(code)),
    }
}

/// Text that is escaped for HTML, between tags and in attributes. Characters that change the text direction
/// are removed, because a name could pose as another one with them.
struct HtmlEscaped<'a>(&'a str);

impl fmt::Display for HtmlEscaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for sign in self.0.chars() {
            match sign {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
                sign if sign.is_control() => f.write_char(' ')?,
                sign => f.write_char(sign)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_becomes_markup() {
        let cases = [
            ("<script>alert('x')</script>", "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"),
            ("\" onload=\"x", "&quot; onload=&quot;x"),
            ("a & b", "a &amp; b"),
            ("gpj.\u{202e}exe", "gpj.exe"),
            ("a\nb\u{1b}[0m", "a b [0m"),
        ];
        for (text, escaped) in cases {
            assert_eq!(HtmlEscaped(text).to_string(), escaped);
        }
    }
}
