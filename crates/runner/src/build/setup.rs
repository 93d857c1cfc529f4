//! A setup command that failed: no agent can mend it, so a person is asked before anything is spent.

use unstuck_core::fault::{Class, Code, Fault, Kind, Missing};

/// The question about a setup command that does not succeed. What passes by itself, or has a question
/// of its own, stays as it is; what our proxy refused does not pass.
pub(super) fn ask_about_setup(fault: Fault, commands: &[String], refused: bool) -> Fault {
    let code = fault.code();
    let stays = !refused
        && fault.class() != Class::CodeError
        && !matches!(code, Code::ToolCrash | Code::OperationTimeout | Code::ToolAccessDenied);
    if !fault.is_of_setup() || stays {
        return fault;
    }
    let number = fault.source.rsplit('#').next().and_then(|number| number.parse::<usize>().ok());
    let command = number.and_then(|number| commands.get(number.checked_sub(1)?));
    let context = Missing { what: command.cloned().unwrap_or_default() };
    let ended = how_it_ended(&fault.kind);
    Fault::precondition_missing(fault.source, fault.message, context).caused_by(ended)
}

/// How the command ended, after its name.
fn how_it_ended(kind: &Kind) -> String {
    let exit = match kind {
        Kind::ToolMissing(tool) | Kind::ToolConfig(tool) | Kind::ToolAccessDenied(tool) => {
            tool.exit
        }
        Kind::LogicError(logic) | Kind::LogicBadInput(logic) => logic.exit,
        Kind::ToolCrash(crash) => crash.exit,
        Kind::OperationTimeout(_) => return "did not end in time".to_owned(),
        _ => None,
    };
    exit.map_or_else(|| "did not succeed".to_owned(), |exit| format!("ended with {exit}"))
}
