//! Ticks the done items of a plan in the operator's own file.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use unstuck_core::plan::TaskSpec;
use unstuck_core::plan::file::{ChecklistMark, tick_item};

use crate::project::LocalProject;
use crate::render;

/// Marks the item of this task, if it was an item and is still open. A plan that cannot be written does not
/// stop the run.
pub(super) fn tick_off(project: &LocalProject, spec: &TaskSpec, mark: ChecklistMark) {
    let Some(file) = &spec.file else { return };
    let path = project.root().join(file);
    let Ok(text) = fs::read_to_string(&path) else { return };
    if let Some(ticked) = tick_item(&text, &spec.name, mark)
        && let Err(error) = replace_file(&path, &ticked)
    {
        render::write_note(&format!("unstuck: {file} could not be ticked: {error}"));
    }
}

/// Returns the mark for the box of a done task.
pub(super) const fn done_mark(unchanged: Option<&Arc<str>>) -> ChecklistMark {
    if unchanged.is_some() { ChecklistMark::NotNeeded } else { ChecklistMark::Done }
}

/// Replaces a file atomically: a reader finds the old text or the new one, never a part.
fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = folder.join(format!(".{name}.{}", std::process::id()));
    let mut file = fs::File::create(&draft)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(fs::metadata(path)?.permissions())?;
    file.sync_all()?;
    fs::rename(&draft, path).inspect_err(|_| {
        let _ = fs::remove_file(&draft);
    })
}
