//! Red checks whose output speaks of a login, a limit or another tool, and not of the project. Tests may
//! print the same, so a checkout without the work has to confirm that they are what they seem.

use unstuck_core::fault::text_rules::{self, OutputClassification};
use unstuck_core::fault::{Class, Code, Fault, Kind};
use unstuck_core::signature::Signature;

use crate::process::add_facts;

/// Returns what a red check would be if its output speaks of its surroundings.
pub fn find_outside_fault(fault: &Fault) -> Option<Fault> {
    let (Kind::ValidationPreCommit(of) | Kind::ValidationPrePush(of) | Kind::ValidationPrePr(of)) =
        &fault.kind
    else {
        return None;
    };
    let exit = of.exit?;
    let output = of.output.as_str();
    let OutputClassification { code, rule, .. } =
        text_rules::classify_ended(output.as_bytes(), exit);
    if !is_outside(code) {
        return None;
    }
    let place = fault.source.split('#').next().unwrap_or_default();
    let signature = Signature::from_output(code, place, output, Some(exit));
    let kind = add_facts(Kind::bare(code), exit, &of.command);
    Some(Fault::new(kind, fault.source.clone(), output).with_rule(rule, signature))
}

/// Returns whether an agent's work can hardly be the reason for a code.
fn is_outside(code: Code) -> bool {
    code.row().class == Class::EnvError
        || matches!(
            code,
            Code::AuthMissing
                | Code::AuthInvalid
                | Code::AuthExpired
                | Code::ToolAccessDenied
                | Code::ToolMissing
                | Code::ToolQuota
                | Code::ToolRateLimit
        )
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Validation;

    use super::*;

    fn find(output: &str) -> Option<Code> {
        let context = Validation {
            command: "make test".to_owned(),
            exit: Some(1),
            output: output.to_owned(),
        };
        let red = Fault::validation_pre_commit("validate:pre_commit#1", "make test", context);
        find_outside_fault(&red).map(|fault| fault.code())
    }

    #[test]
    fn what_a_login_or_a_limit_says_may_be_outside_the_work() {
        assert_eq!(
            find("npm error code E401\nnpm error Unable to authenticate"),
            Some(Code::AuthInvalid)
        );
        assert_eq!(
            find("The security token included in the request is expired"),
            Some(Code::AuthExpired)
        );
        assert_eq!(find("FAIL test_price\nexpected 3, got 4"), None);
    }
}
