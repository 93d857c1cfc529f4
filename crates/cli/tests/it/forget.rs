//! `unstuck forget`: errors with a clean slate.

use crate::shop::{SHOP, Shop};

impl Shop {
    /// The errors that have tries counted.
    fn charged(&self) -> Vec<String> {
        let rows = self.runtime.block_on(self.store.load_signatures(SHOP)).unwrap();
        let charged = rows.iter().filter(|row| row.count > 0);
        charged.map(|row| row.signature.to_string()).collect()
    }
}

#[test]
fn one_error_is_forgotten_by_its_name() {
    let shop = Shop::left_alone();
    let before = shop.charged();
    let [first, ..] = before.as_slice() else { panic!("nothing counts") };
    let ran = shop.unstuck(&["forget", &format!("{SHOP}:{first}")]);
    let said = format!("Reset 4 tries of {first}.\n");
    assert_eq!((ran.exit, ran.stdout), (0, said), "{}", ran.stderr);
    assert_eq!(shop.charged(), before[1..]);
    let again = shop.unstuck(&["forget", first]);
    let said = format!("No tries were counted for {first}; there is nothing to reset.\n");
    assert_eq!((again.exit, again.stdout), (0, said), "{}", again.stderr);
}

#[test]
fn all_errors_are_forgotten_while_a_process_is_at_work() {
    let (shop, night) = Shop::after_a_night();
    assert_ne!(shop.charged(), Vec::<String>::new());
    let ran = shop.unstuck(&["forget", "--all"]).exits(0);
    assert!(ran.stdout.starts_with("Reset the retry counters of "), "{ran}");
    assert_eq!(shop.charged(), Vec::<String>::new());
    shop.let_go(night);
}

#[test]
fn where_there_is_nothing_to_forget_that_is_said() {
    let ran = Shop::new().unstuck(&["forget", "--all"]);
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, "There is no error to forget.\n"));
}

#[test]
fn an_error_that_was_never_met_gets_the_nearest() {
    let shop = Shop::left_alone();
    let near = shop.unstuck(&["forget", "AUTH_INVALID:000000000000"]);
    let far = shop.unstuck(&["forget", "wibble"]);
    insta::assert_snapshot!(format!("{near}\n{far}"));
}
