//! Against fakes of the documented APIs, which refuse what the real ones would.

mod github;
mod gitlab;

use super::*;
use crate::report::tests::sample;

fn quiet() -> Terminal {
    Terminal::new(true)
}

fn without_alert() -> Report {
    let mut report = sample();
    report.alerts = Some(Vec::new());
    report.counts.alerts = kiln_model::v0::AlertCounts::default();
    report
}

/// A whole run: begun, and told what came of it.
async fn tell(ci: &Ci, report: &Report) -> Result<(), Failure> {
    let begun = ci.begin(&quiet()).await?;
    let outcome = Ok((report, "https://kiln.example"));
    ci.finish(&quiet(), begun, outcome).await
}

#[test]
fn an_id_cannot_end_its_comment_of_markup() {
    let policy = Policy {
        id: Some("a --> <b>".to_owned()),
        ..Policy::default()
    };
    let id = policy.comment_id(&sample());
    assert!(id.ends_with("-a-b"), "{id}");
    assert!(!id.contains("--"), "{id}");
}
