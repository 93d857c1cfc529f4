//! `unstuck forget`: resets the retry counters of one error, or of all.

use unstuck_core::engine::Command;
use unstuck_core::signature::Signature;
use unstuck_store::tables::SignatureRow;

use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project;
use crate::render::words;

/// Reset the retry counters of an error
#[derive(Debug, clap::Args)]
#[command(after_long_help = FORGET_EXAMPLES)]
pub(crate) struct ForgetArgs {
    /// The signature of the error, as `unstuck status` shows it
    #[arg(value_name = "SIGNATURE", required_unless_present = "all")]
    signature: Option<String>,

    /// Reset all errors of the project
    #[arg(long, conflicts_with = "signature")]
    all: bool,
}

const FORGET_EXAMPLES: &str = "\
Examples:
  unstuck forget LOGIC_ERROR:3f2a9c0d11e4
  unstuck forget --all";

/// Maximum number of similar signatures in an error.
const NEAR_MAX: usize = 3;

pub(crate) fn run(args: &ForgetArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let store = project.open_store()?;
    let said = project::create_runtime()?.block_on(async {
        let known = store.load_signatures(project.name()).await?;
        let wanted = match args.signature.as_deref() {
            Some(given) => Some(find_signature(project.name(), given, &known)?),
            None if known.is_empty() => return Ok("There is no error to forget.".to_owned()),
            None => None,
        };
        let command = Command::Forget { signature: wanted.map(|row| row.signature) };
        project::submit_command(&project, &store, "forget", command).await?;
        Ok::<_, CliError>(render_result(wanted, known.len()))
    })?;
    context.terminal.write_line(&said)?;
    Ok(Exit::Done)
}

fn render_result(wanted: Option<&SignatureRow>, known: usize) -> String {
    match wanted {
        Some(SignatureRow { signature, count: 0, .. }) => {
            format!("No tries were counted for {signature}; there is nothing to reset.")
        }
        Some(row) => format!(
            "Reset {} of {}.",
            words::render_count(row.count as usize, "try", "tries"),
            row.signature
        ),
        None => format!(
            "Reset the retry counters of {}.",
            words::render_count(known, "error", "errors")
        ),
    }
}

/// Finds a signature, with or without the project in front.
fn find_signature<'a>(
    project: &str,
    given: &str,
    known: &'a [SignatureRow],
) -> Result<&'a SignatureRow, CliError> {
    let bare = given.strip_prefix(project).and_then(|rest| rest.strip_prefix(':'));
    let bare = bare.unwrap_or(given).trim();
    let wanted = bare.parse::<Signature>().ok();
    let found = known.iter().find(|row| Some(row.signature) == wanted);
    found.ok_or_else(|| CliError::UnknownSignature {
        given: given.to_owned(),
        near: similar_signatures(bare, known),
    })
}

/// Returns the signatures with the same code, or with the given text as a part.
fn similar_signatures(given: &str, known: &[SignatureRow]) -> Vec<Signature> {
    let (code, hash) = given.split_once(':').unwrap_or((given, ""));
    let code = code.to_ascii_uppercase().replace('-', "_");
    let hash = hash.to_ascii_lowercase();
    let alike = |row: &&SignatureRow| {
        let said = row.signature.to_string();
        let same_hash = hash.len() >= 4 && said.contains(&hash);
        let part =
            given.len() >= 4 && said.to_ascii_lowercase().contains(&given.to_ascii_lowercase());
        same_hash || part || row.signature.code.as_str() == code
    };
    known.iter().filter(alike).map(|row| row.signature).take(NEAR_MAX).collect()
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Code;
    use unstuck_core::time::Time;

    use super::*;

    fn known() -> Vec<SignatureRow> {
        let row = |code, place| SignatureRow {
            signature: Signature::from_parts(code, place, &[]),
            count: 1,
            total: 2,
            first_seen: Time::EPOCH,
            last_seen: Time::EPOCH,
        };
        vec![row(Code::LogicError, "a"), row(Code::AuthInvalid, "b")]
    }

    #[test]
    fn the_project_may_stand_in_front() {
        let known = known();
        let bare = known[1].signature.to_string();
        for given in [bare.clone(), format!("shop:{bare}")] {
            assert_eq!(
                find_signature("shop", &given, &known).unwrap().signature,
                known[1].signature
            );
        }
        assert!(find_signature("shop", &format!("other:{bare}"), &known).is_err());
    }

    #[test]
    fn what_looks_alike_is_named() {
        let known = known();
        assert_eq!(similar_signatures("AUTH_INVALID:000000000000", &known), [known[1].signature]);
        assert_eq!(similar_signatures("auth-invalid", &known), [known[1].signature]);
        let hash = known[0].signature.to_string();
        assert_eq!(similar_signatures(&hash[hash.len() - 6..], &known), [known[0].signature]);
        assert_eq!(similar_signatures("wibble", &known), []);
    }
}
