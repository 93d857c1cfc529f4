//! Systems other than Linux have no wall.

use super::{Held, Standing, Wall};

pub(super) fn restrict(wall: &Wall, _standing: Standing) -> Held {
    wall.not_possible()
}
