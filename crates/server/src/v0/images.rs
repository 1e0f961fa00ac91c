//! The images of a project, whichever of its repositories they are in.

use axum::extract::{Path, Query as UrlQuery, State};
use kiln_control::{Denied, access};
use kiln_model::v0::{DateTime, Image, Permission};
use kiln_store::Query;
use kiln_store::sql::registry::tag;

use super::listing::Listed;
use super::paging::{BY_NAME, Paging, listed};
use crate::app::Shared;
use crate::error::ApiResult;
use crate::identity::Caller;

pub(super) async fn list_images(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(reference): Path<String>,
    UrlQuery(paging): UrlQuery<Paging>,
) -> ApiResult<Listed<Image>> {
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &reference, Permission::View)?;
        let rows = tag::of_project(query, project.id, paging.page(BY_NAME, false)?)?;
        let total = tag::count_of_project(query, project.id)?;
        let images = rows
            .into_iter()
            .map(|row| image(project.slug.as_str(), row));
        Ok::<_, Denied>(listed(images.collect(), total))
    };
    Ok(app.store.reader.read(read).await?)
}

fn image(project: &str, row: tag::Listed) -> Image {
    Image {
        repository: match row.path.as_str() {
            "" => project.to_owned(),
            path => format!("{project}/{path}"),
        },
        tag: row.name,
        digest: row.digest,
        modified: row.modified.map(DateTime),
    }
}
