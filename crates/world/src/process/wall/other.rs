//! Systems other than Linux have no wall.

use super::{LayerPlacement, Wall, WallEnforcement};

pub(super) fn restrict(wall: &Wall, _standing: LayerPlacement) -> WallEnforcement {
    wall.unenforced_parts()
}
