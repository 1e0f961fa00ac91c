//! No frame of the server dies: nothing in this world fails more often than its budget allows.

use super::View;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    match view.after.dead_letters {
        0 => Ok(()),
        count => Err(format!("there are {count} dead letters")),
    }
}
