//! The public sections of a report.

use unstuck_core::engine::RedCheck;
use unstuck_core::policy::Amount;
use unstuck_core::text::without_escapes;
use unstuck_runner::report::{
    Answered, Cost, Landed, NotDone, Priced, RefusedTo, Report, Shipped, Spending, Still,
    Unchanged, Waiting,
};

use super::page::{Item, Piece, Section, Table};
use crate::render::{when, words};

/// Number of characters of a commit id that are shown.
const COMMIT_CHARS: usize = 9;

pub(super) fn of(report: &Report) -> Vec<Section> {
    vec![
        items("Shipped", report.shipped.iter().map(shipped)),
        items("No change needed", report.unchanged.iter().map(unchanged)),
        items("Not allowed to agents", report.refused.iter().map(refused)),
        items("Red before the work began", report.red_base.iter().map(red_base)),
        items("Waiting for you", report.waiting.iter().map(waiting)),
        items("Not done, and why", report.not_done.iter().map(not_done)),
        items("Still to do", report.still.iter().map(still)),
        items("Asked and answered", report.answered.iter().map(answered)),
        Section {
            title: "Waits",
            lines: report.waits.iter().map(|wait| wait.said.clone()).collect(),
            ..Section::default()
        },
        Section { title: "Cost and time", table: cost(&report.cost), ..Section::default() },
    ]
}

fn items(title: &'static str, items: impl Iterator<Item = Item>) -> Section {
    Section { title, items: items.collect(), ..Section::default() }
}

fn shipped(done: &Shipped) -> Item {
    let mut item = Item::new("✔", &done.title);
    match &done.landed {
        Landed::Commits { ids } => item.facts.extend(ids.iter().map(|id| commit(id))),
        Landed::Unchanged => item.facts.push(Piece::words("no file was changed")),
        Landed::Unknown => item.facts.push(Piece::words("no commit is known")),
        // A line below states it.
        Landed::Elsewhere => {}
    }
    item.facts.push(attempts(done.attempts));
    item.facts.push(Piece::words(done.took_ms.to_string()));
    item.facts.push(Piece::words(price(done.spent, priced(done.spent))));
    done.actions.said.iter().fold(item.line(&done.checked.said), Item::line)
}

fn unchanged(done: &Unchanged) -> Item {
    let item = Item::new("–", &done.title).line(format!("The agent said: “{}”", done.why));
    done.actions.said.iter().fold(item.line(&done.checked.said), Item::line)
}

fn red_base(red: &RedCheck) -> Item {
    let mut item = Item::new("✘", &red.command);
    item.facts.push(Piece::words(format!("ended with {}", red.exit)));
    // The output is already cut to its last 20 lines.
    let readable = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c };
    item.output = without_escapes(red.output.trim_end()).chars().map(readable).collect();
    if red.tests.is_empty() {
        return item;
    }
    item.line(format!("Failed: {}", red.tests.join(", ")))
}

fn refused(refused: &RefusedTo) -> Item {
    let mut item = Item::new("✘", &refused.title);
    item.facts.push(Piece::code(refused.what.clone()));
    item.line(&refused.why)
}

fn commit(id: &str) -> Piece {
    Piece::code(id.chars().take(COMMIT_CHARS).collect::<String>())
}

fn attempts(attempts: u32) -> Piece {
    Piece::words(words::number(attempts as usize, "attempt", "attempts"))
}

fn waiting(asked: &Waiting) -> Item {
    let title =
        if asked.tasks.is_empty() { "The whole build".to_owned() } else { asked.tasks.join(", ") };
    let mut item = Item::new("⏸", &title);
    item.facts.push(Piece::words(format!("question {}", asked.question)));
    item.facts.push(Piece::words(format!("asked {}", when::minute(asked.asked_at))));
    item = item.line(&asked.problem);
    if asked.answered {
        return item.line("You have answered; the next start takes it up.");
    }
    item = item.line(&asked.advice);
    let recommended = asked.options.iter().position(|one| Some(one.value) == asked.recommended);
    for (at, option) in asked.options.iter().enumerate() {
        let here = if recommended == Some(at) { " (recommended)" } else { "" };
        let command = words::answer_command(asked.question.0, option, asked.code);
        item.choices.push((format!("{}{here}", option.label), command));
    }
    item
}

fn answered(asked: &Answered) -> Item {
    let item = Item::new("✔", &format!("Question {}", asked.question));
    let chose = match &asked.words {
        Some(words) => format!("You chose “{}” and said: “{words}”", asked.choice),
        None => format!("You chose “{}”.", asked.choice),
    };
    item.line(&asked.problem).line(chose)
}

fn not_done(ended: &NotDone) -> Item {
    let mut item = Item::new("✘", &ended.title);
    item.facts.extend((ended.attempts > 0).then(|| attempts(ended.attempts)));
    item = item.line(&ended.why);
    if let Landed::Commits { ids } = &ended.landed {
        item.facts.extend(ids.iter().map(|id| commit(id)));
        item = item.line("Some of its work had landed before.");
    }
    item
}

fn still(task: &Still) -> Item {
    let mut item = Item::new("·", &task.title);
    item.facts.push(Piece::words(&task.stands));
    item
}

/// Returns the table of costs; `None` if no task has begun.
fn cost(cost: &Cost) -> Option<Table> {
    if cost.tasks.is_empty() {
        return None;
    }
    let row = |task: &Spending| {
        let price = price(task.spent, task.priced);
        [task.title.clone(), task.attempts.to_string(), task.took_ms.to_string(), price]
    };
    let attempts: u32 = cost.tasks.iter().map(|task| task.attempts).sum();
    let sum = [
        "All together".to_owned(),
        attempts.to_string(),
        cost.took_ms.to_string(),
        price(cost.total, cost.priced),
    ];
    let rows = cost.tasks.iter().map(row).chain([sum]).collect();
    Some(Table { head: ["Task", "Attempts", "Time, waits too", "Cost"], rows })
}

const fn priced(spent: Amount) -> Priced {
    match spent {
        Amount { money_micros: 1.., .. } => Priced::Money,
        Amount { tokens: 1.., .. } => Priced::TokensOnly,
        _ => Priced::NotMeasured,
    }
}

fn price(spent: Amount, priced: Priced) -> String {
    let money = words::amount(Amount { tokens: 0, time_ms: 0, ..spent });
    match priced {
        Priced::Money => money,
        Priced::Partly => format!("at least {money}"),
        Priced::TokensOnly => format!("{} tokens, price not known", spent.tokens),
        Priced::NotMeasured => "not measured".to_owned(),
    }
}
