//! Bytes that are pushed and pulled are counted for the organization they belong to, where that is limited.

use std::sync::Arc;

use axum::body::Body;
use futures_util::TryStreamExt as _;
use kiln_control::Denied;
use kiln_control::bench::Tier;
use kiln_store::Query;
use kiln_store::sql::project;

use super::dispatch::Call;
use super::error::OciResult;

/// Who bytes are counted for; nobody, where they are not limited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payer(Option<i64>);

/// Refuses an organization that has moved as much today as it may.
pub(super) async fn admit(call: &Call, project: i64) -> OciResult<Payer> {
    let app = &call.app;
    if !app.limits.has_bandwidth() {
        return Ok(Payer(None));
    }
    let plans = app.bench.plans;
    let read = move |query: &mut dyn Query| {
        let found = project::find(query, project)?.ok_or(Denied::NotFound("project"))?;
        let organization = found.organization_id;
        let tier = if plans {
            Tier::of(query, organization)?
        } else {
            Tier::Enterprise
        };
        Ok::<_, Denied>((organization, tier))
    };
    let (organization, tier) = app.store.reader.read(read).await?;
    app.limits.check_bytes(organization, tier, app.wall())?;
    Ok(Payer(Some(organization)))
}

pub(super) fn count(call: &Call, payer: Payer, bytes: u64) {
    if let Payer(Some(organization)) = payer {
        let wall = call.app.wall();
        call.app.limits.count_bytes(organization, bytes, wall);
    }
}

/// The same body, whose bytes are counted as they come.
pub(super) fn counted(call: &Call, payer: Payer, body: Body) -> Body {
    let Payer(Some(organization)) = payer else {
        return body;
    };
    let app = Arc::clone(&call.app);
    let count = move |bytes: &bytes::Bytes| {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        app.limits.count_bytes(organization, length, app.wall());
    };
    Body::from_stream(body.into_data_stream().inspect_ok(count))
}
