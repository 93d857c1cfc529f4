//! `unstuck completions`.

use crate::program::unstuck;

#[test]
fn every_shell_gets_a_script_that_knows_the_verbs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = unstuck(&["completions", shell]);
        assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{shell}");
        for verb in ["explain", "classify", "demo", "completions"] {
            assert!(ran.stdout.contains(verb), "{shell} does not know {verb}");
        }
    }
}

#[test]
fn an_unknown_shell_is_a_mistake_that_names_the_known_ones() {
    let ran = unstuck(&["completions", "tcsh"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.contains("possible values: bash, elvish, fish, powershell, zsh"));
}
