//! `unstuck inbox` at a terminal: going through the questions and answering them.

use std::os::unix::process::ExitStatusExt as _;

use rustix::process::Signal;
use unstuck_core::question::Decision;

use crate::pty::Pty;
use crate::shop::{CHOICE, HANDS, HAPPENED, SHOP, Shop};

impl Shop {
    fn inbox(&self) -> Pty {
        Pty::start(self.command(&["inbox"]), 80, 40)
    }
}

#[test]
fn questions_are_answered_one_after_the_other() {
    let shop = Shop::left_alone();
    let mut inbox = shop.inbox();
    inbox.until("3 questions wait for you");
    inbox.until("Nothing is running; answers take effect at the next start.");
    inbox.press("\r");
    inbox.until("Question q0: needs a fix");
    // Enter pressed twice answers nothing.
    inbox.press("\r");
    inbox.until("Choose an answer first");
    inbox.press("\x1b[B\x1b[B");
    inbox.until("› 2 ");
    inbox.press("\r");
    inbox.until("Question q0: Answered. It takes effect at the next start.");
    inbox.until("Question q1: needs a decision");
    inbox.press("1\r");
    inbox.until("Your words");
    // A line break that was pasted confirms nothing.
    inbox.press("\x1b[200~as the old\none\x1b[201~ did it");
    inbox.until("> as the old one did it");
    inbox.press("\r");
    inbox.until("Question q1: Answered.");
    inbox.until("Question q2: did it happen?");
    inbox.press("\x1b");
    inbox.until("1 question waits for you");
    inbox.press("q");
    let (status, _) = inbox.end();
    assert!(status.success(), "{status}");
    let answers = shop.runtime.block_on(shop.store.load_pending_answers(SHOP)).unwrap();
    let [first, second] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!((first.question, first.decision), (HANDS, Decision::SkipFeature));
    assert_eq!((second.question, second.decision), (CHOICE, Decision::ProvideGuidance));
    assert_eq!(second.guidance.as_deref(), Some("as the old one did it"));
    assert_eq!(&*second.by, "ada");
}

// B18: the process at work acts on it at once.
#[test]
fn the_last_answer_ends_it_and_is_taken_up_at_once() {
    let (shop, night) = Shop::after_a_night();
    for (question, choice) in [("0", "skip_feature"), ("1", "skip_feature")] {
        assert_eq!(shop.unstuck(&["inbox", "answer", question, choice]).exit, 0);
    }
    let mut inbox = shop.inbox();
    inbox.until("1 question waits for you");
    inbox.press("\r");
    inbox.until("c: look it up again");
    inbox.press("1");
    inbox.until("› 1 ");
    inbox.press("\r");
    inbox.until("Question q2: Answered. It continues.");
    inbox.until("Nothing else waits for you.");
    assert!(inbox.end().0.success());
    shop.until(&night, |state| state.question(HAPPENED).is_none());
    shop.let_go(night);
}

#[test]
fn however_it_ends_the_terminal_is_given_back() {
    type End = (&'static str, fn(&mut Pty), i32);
    let shop = Shop::left_alone();
    let ends: [End; 3] = [
        ("Ctrl-C", |inbox| inbox.press("\x03"), 130),
        ("a signal", |inbox| inbox.signal(Signal::TERM), 143),
        ("q", |inbox| inbox.press("q"), 0),
    ];
    for (name, end, exit) in ends {
        let mut inbox = shop.inbox();
        inbox.until("q: leave");
        assert!(!inbox.is_usual());
        end(&mut inbox);
        let (status, seen) = inbox.end();
        assert_eq!((status.code(), status.signal()), (Some(exit), None), "{name}");
        assert!(seen.trim_end().ends_with("\x1b[?2004l"), "{name}: {seen:?}");
    }
}

#[test]
fn it_can_be_stopped_and_goes_on() {
    let shop = Shop::left_alone();
    let mut inbox = shop.inbox();
    inbox.until("q: leave");
    inbox.press("\x1a");
    inbox.until_stopped();
    assert!(inbox.is_usual(), "the shell gets its terminal");
    inbox.signal(Signal::CONT);
    inbox.until("3 questions wait for you");
    inbox.until("q: leave");
    assert!(!inbox.is_usual());
    inbox.press("q");
    assert!(inbox.end().0.success());
}

#[test]
fn a_narrow_window_is_laid_out_anew() {
    let shop = Shop::left_alone();
    let mut inbox = shop.inbox();
    inbox.until("q: leave");
    inbox.resize(20, 12);
    inbox.until("› 1 needs a");
    inbox.until(" of ");
    inbox.press("q");
    assert!(inbox.end().0.success());
}

#[test]
fn colours_can_be_declined_there_too() {
    let shop = Shop::left_alone();
    let bold = |declined: bool| {
        let mut command = shop.command(&["inbox"]);
        if declined {
            command.env("NO_COLOR", "1");
        }
        let mut inbox = Pty::start(command, 80, 40);
        inbox.until("q: leave");
        inbox.press("q");
        inbox.end().1.contains("\x1b[1m")
    };
    assert!(bold(false));
    assert!(!bold(true));
}

#[test]
fn cancelling_is_asked_about_at_a_terminal() {
    let shop = Shop::left_alone();
    for (answer, said) in [("n\n", "Nothing was changed."), ("y\n", "Build b0 is ended.")] {
        let mut cancel = Pty::start(shop.command(&["cancel"]), 80, 24);
        cancel.until("End build b0 for good? 4 tasks are not done. [y/N]");
        cancel.press(answer);
        cancel.until(said);
        assert!(cancel.end().0.success());
    }
}

#[test]
fn without_a_terminal_that_can_be_drawn_on_they_are_listed() {
    let shop = Shop::left_alone();
    let mut command = shop.command(&["inbox", "list"]);
    command.env("NO_COLOR", "1");
    let mut list = Pty::start(command, 80, 40);
    list.until("3 questions wait for you.");
    list.until("`unstuck inbox show 0` says more about a question.");
    assert!(list.end().0.success());
}
