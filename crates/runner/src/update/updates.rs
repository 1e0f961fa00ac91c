//! What is remembered of offers that came to nothing.

use super::{Offer, UpdateError};

/// How earlier offers went, for a runner that wants the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Updates {
    /// How often in a row a program could not be fetched or put in place.
    pub(crate) failures: u32,
    /// The checksum of the last one that does not work here.
    pub(crate) refused: Option<String>,
}

impl Updates {
    /// A program that does not work here is not taken again; whatever else went wrong may be better later.
    pub fn failed(&mut self, offer: &Offer, error: &UpdateError) {
        if error.is_of_the_program() {
            self.failures = 0;
            self.refused = Some(offer.checksum.clone());
        } else {
            self.failures = self.failures.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer() -> Offer {
        Offer {
            version: "9".to_owned(),
            url: "https://kiln.example/kiln".to_owned(),
            checksum: "ab".to_owned(),
        }
    }

    fn status() -> UpdateError {
        UpdateError::Status {
            url: offer().url,
            status: 503,
        }
    }

    fn checksum() -> UpdateError {
        UpdateError::Checksum {
            expected: offer().checksum,
            found: "cd".to_owned(),
        }
    }

    #[test]
    fn a_transfer_that_failed_is_counted_and_its_program_still_wanted() {
        let mut updates = Updates::default();
        updates.failed(&offer(), &status());
        updates.failed(&offer(), &checksum());
        assert_eq!((updates.failures, updates.refused), (2, None));
    }

    #[test]
    fn a_program_that_does_not_work_here_is_refused() {
        let unhealthy = UpdateError::Unhealthy {
            reason: "it crashed".to_owned(),
        };
        let rejected = UpdateError::Rejected {
            version: offer().version,
        };
        for error in [unhealthy, rejected] {
            let mut updates = Updates::default();
            updates.failed(&offer(), &status());
            updates.failed(&offer(), &error);
            assert_eq!(updates.refused, Some(offer().checksum), "{error}");
            assert_eq!(updates.failures, 0, "{error}");
        }
    }
}
