use proptest::prelude::*;

use super::CheckFailures;

fn tests(output: &str) -> Vec<String> {
    CheckFailures::from_output(output.as_bytes(), "").tests.into_iter().collect()
}

#[test]
fn every_runner_names_its_failed_tests() {
    let cases: &[(&str, &[&str])] = &[
        (
            "FAILED tests/test_a.py::test_b[1-2] - assert 1 == 2\nERROR tests/test_c.py\n1 failed",
            &["tests/test_a.py::test_b[1-2]", "tests/test_c.py"],
        ),
        (
            "FAIL: test_b (tests.test_a.Case.test_b)\nERROR: test_c (tests.Case)",
            &["tests.Case.test_c", "tests.test_a.Case.test_b"],
        ),
        ("test tests::a ... FAILED\ntest tests::b ... ok", &["tests::a"]),
        ("        FAIL [   0.010s] (1/3) mine::it tests::a", &["mine::it tests::a"]),
        ("     SIGABRT [   0.010s] mine tests::b", &["mine tests::b"]),
        (
            "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/case (0.00s)\nFAIL\tx.org/p [build failed]",
            &["TestA", "TestA/case", "x.org/p (build)"],
        ),
        ("  \u{25cf} cart \u{203a} adds up\n", &["cart > adds up"]),
        (" FAIL  src/a.test.ts > cart > adds up", &["src/a.test.ts > cart > adds up"]),
        ("  1) cart\n       adds up:\n     AssertionError: 1 == 2\n", &["cart > adds up"]),
        ("ok 1 - a\nnot ok 2 - b\nnot ok 3 - c # todo later", &["b"]),
        (
            "#   Failed test 'adds up'\n#   at t/a.t line 3.\n#   Failed test at t/a.t line 4.\n\
             #   Failed (later) test 'x'\nt/a.t   (Wstat: 512 (exited 2) Tests: 2 Failed: 2)",
            &["adds up", "t/a.t", "t/a.t line 4"],
        ),
        ("\u{2716} adds up (1.2ms)", &["adds up"]),
        (
            "<testcase classname=\"c.A\" name=\"b\" time=\"1\"><failure/></testcase>\
             <testcase name=\"d\"/>",
            &["c.A.b"],
        ),
        ("rspec ./spec/a_spec.rb:12 # Cart adds up", &["Cart adds up"]),
        (
            "1) App\\Tests\\CartTest::testAdds\nFailed asserting",
            &["App\\Tests\\CartTest::testAdds"],
        ),
        ("\t  3 - cart_adds (Failed)", &["cart_adds"]),
        (
            "[ERROR] com.x.CartTest.adds -- Time elapsed: 0.01 s <<< FAILURE!",
            &["com.x.CartTest.adds"],
        ),
        ("CartTest > adds() FAILED", &["CartTest > adds()"]),
        ("  Failed Cart.Adds [12 ms]", &["Cart.Adds"]),
        ("error: expected one of `;`\nmake: *** [Makefile:3: test] Error 1", &[]),
    ];
    for (output, expected) in cases {
        assert_eq!(tests(output), *expected, "{output}");
    }
}

/// Perl's `prove` prints the duration in its own words, and counts tests in its list at the end.
#[test]
fn what_prove_counts_and_measures_is_no_failure() {
    let prove = |got: &str, ran: u32, time: &str| {
        let output = format!(
            "\n#   Failed test 'adds up'\n#   at t/a.t line 3.\n#          got: '{got}'\n\
             #     expected: '5'\n# Looks like you failed 1 test of {ran}.\nt/a.t .. \n\
             Dubious, test returned 1 (wstat 256, 0x100)\nFailed 1/{ran} subtests \n\n\
             Test Summary Report\n-------------------\n\
             t/a.t (Wstat: 256 (exited 1) Tests: {ran} Failed: 1)\n  Failed test:  1\n\
             Files=1, Tests={ran},  {time} wallclock secs ( 0.0{time} usr  0.0{time} sys +  0.0{time} \
             cusr  0.0{time} csys =  0.1{time} CPU)\nResult: FAIL\n"
        );
        CheckFailures::from_output(output.as_bytes(), "")
    };
    assert!(prove("4", 2, "1").are_within(&prove("4", 1, "0")));
    assert!(!prove("3", 1, "0").are_within(&prove("4", 1, "0")));
    let text = |time: &str| {
        let line =
            format!("no plan\nFiles=1,  {time} wallclock secs ( 0.{time} usr = 0.{time} CPU)");
        CheckFailures::from_output(line.as_bytes(), "")
    };
    assert_eq!(text("1"), text("2"));
}

/// Another value in the same message is another failure; another place or duration is not.
#[test]
fn failures_are_the_same_by_their_tests_and_values() {
    let pytest = |line: u32, got: &str, passed: u32, time: &str| {
        format!(
            "    def test_login():\n>       assert add(2, 3) == 5\nE       assert {got} == 5\n\
             tests/test_a.py:{line}: AssertionError\n\
             FAILED tests/test_a.py::test_login - assert {got} == 5\n\
             ===== 1 failed, {passed} passed in {time} ====="
        )
    };
    let of = |text: &str| CheckFailures::from_output(text.as_bytes(), "/w/t1");
    let base = of(&pytest(3, "-1", 1, "0.02s"));
    assert!(of(&pytest(9, "-1", 4, "0.11s")).are_within(&base));
    assert!(!of(&pytest(3, "6", 1, "0.02s")).are_within(&base));
    // Without names, the whole text counts.
    let plain = of("at /w/t1/check.sh:3: expected 5, got -1 after 12ms (12:30:01)");
    assert!(plain.are_within(&of("at ./check.sh:7: expected 5, got -1 after 9ms (12:31:44)")));
    assert!(!plain.are_within(&of("at ./check.sh:3: expected 5, got 6 after 12ms (12:30:01)")));
    assert!(!plain.are_within(&CheckFailures::default()));
}

/// The remaining failures of a red base are its own; another test or another value is not.
#[test]
fn some_of_the_failures_of_a_base_are_within_it() {
    let go = |tests: &[(&str, u32)]| {
        let lines = tests.iter().map(|(test, got)| {
            format!("--- FAIL: {test} (0.00s)\n    calc_test.go:8: {test}: got {got}, want 6\n")
        });
        CheckFailures::from_output(
            format!("{}FAIL\nFAIL\tx 0.1s\n", lines.collect::<String>()).as_bytes(),
            "",
        )
    };
    let base = go(&[("TestAdd", 1), ("TestMul", 5)]);
    assert!(go(&[("TestMul", 5)]).are_within(&base));
    assert!(!go(&[("TestMul", 7)]).are_within(&base));
    assert!(!go(&[("TestMul", 5), ("TestSub", 1)]).are_within(&base));
    assert!(!base.are_within(&go(&[("TestMul", 5)])));
    assert!(!CheckFailures::default().are_within(&base));
}

#[test]
fn a_goal_is_about_a_test_when_it_holds_the_words_of_its_name() {
    let failures =
        |test: &str| CheckFailures::from_output(format!("not ok 1 - {test}").as_bytes(), "");
    let cases = [
        ("test_login", "make the login test pass", true),
        ("test_login", "make test_login pass", true),
        ("tests/test_auth.py::test_login_twice", "fix the login", false),
        ("TestLoginTwice", "The check that one can login twice fails", true),
        ("test_add", "add a farewell", false),
        ("test_login", "add a dark mode", false),
        ("test", "make the test pass", false),
    ];
    for (test, goal, expected) in cases {
        assert_eq!(failures(test).are_named_in(goal), expected, "{test}: {goal}");
    }
    assert!(!CheckFailures::default().are_named_in("make it green"));
}

proptest! {
    #[test]
    fn anything_can_be_read(output in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let read = CheckFailures::from_output(&output, "/w");
        prop_assert!(read.are_within(&CheckFailures::from_output(&output, "/w")));
    }
}
