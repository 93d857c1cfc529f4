//! The context of a command: the folder that it is called for, and its output.

use std::path::Path;

use crate::error::CliError;
use crate::project::LocalProject;
use crate::render::Terminal;

#[derive(Clone, Copy)]
pub(crate) struct CommandContext<'a> {
    /// The folder that `--directory` names.
    pub(crate) dir: Option<&'a Path>,
    pub(crate) terminal: &'a Terminal,
}

impl CommandContext<'_> {
    /// Finds the project of the folder.
    pub(crate) fn find_project(&self) -> Result<LocalProject, CliError> {
        LocalProject::find(self.dir)
    }
}
