//! Slugs for new things: the one asked for, the one the name suggests, or either with something behind it.

use kiln_model::{ResourceName, Slug};
use kiln_store::{DatabaseErrorKind, Error, Tx};

use crate::Denied;

/// What a slug is made of.
#[derive(Clone, Debug)]
pub struct NewSlug {
    /// The one asked for.
    pub asked: Option<Slug>,
    /// Random, made outside, so that the transaction can run again.
    pub suffix: String,
}

impl NewSlug {
    /// A slug that nobody has.
    pub(crate) fn choose(
        &self,
        tx: &mut dyn Tx,
        name: &ResourceName,
        is_taken: fn(&mut dyn Tx, &Slug) -> Result<bool, Error>,
    ) -> Result<Slug, Denied> {
        let wanted = self.wanted(name)?;
        if !is_taken(tx, &wanted)? {
            return Ok(wanted);
        }
        wanted
            .with_suffix(&self.suffix)
            .ok_or(Denied::Taken("the slug"))
    }

    /// The slug asked for, or the one the name suggests, whether anybody has it or not.
    pub(crate) fn wanted(&self, name: &ResourceName) -> Result<Slug, Denied> {
        self.asked
            .clone()
            .or_else(|| Slug::suggest(name.as_str()))
            .ok_or_else(|| Denied::Invalid("the name makes no slug: give one in `slug`".to_owned()))
    }
}

/// A unique constraint that said no.
pub(crate) fn taken(error: Error, what: &'static str) -> Denied {
    let constraint = matches!(
        error,
        Error::Database {
            kind: DatabaseErrorKind::Constraint,
            ..
        }
    );
    if constraint {
        Denied::Taken(what)
    } else {
        Denied::Store(error)
    }
}
