//! Organizations and their plans.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use kiln_control::access::{self, Caller};
use kiln_control::{Denied, people};
use kiln_model::OrganizationUuid;
use kiln_model::v0::{
    Allowed, NewOrganization, Organization, Permission, Plan, PlanLevel, UpdateOrganization,
    UpdatePlan,
};
use kiln_store::sql::organization;
use kiln_store::{Query, Tx};

use super::listing::{ListQuery, Listed};
use super::users::{new_slug, no_content};
use crate::app::Shared;
use crate::body::Body;
use crate::error::ApiResult;
use crate::identity::User;
use crate::metrics::Count;
use crate::view;

pub(super) async fn list_organizations(
    State(app): State<Shared>,
    User(account): User,
    UrlQuery(query): UrlQuery<ListQuery>,
) -> ApiResult<Listed<Organization>> {
    let listing = query.listing();
    let of = (!account.admin).then_some(account.id);
    let read = move |query: &mut dyn Query| organization::list(query, of, &listing);
    let page = app.store.reader.read(read).await?;
    Ok(Listed::page(&page, view::organization))
}

pub(super) async fn create_organization(
    State(app): State<Shared>,
    User(account): User,
    Body(new): Body<NewOrganization>,
) -> ApiResult<(StatusCode, Json<Organization>)> {
    let caller = Caller::Account(account);
    let uuid = OrganizationUuid::mint(app.wall(), &*app.entropy);
    let slug = new_slug(&app, new.slug.clone());
    let create = move |tx: &mut dyn Tx| people::create_organization(tx, &caller, &new, uuid, &slug);
    let made = app.store.ledger.submit(create).await?;
    app.metrics.count(Count::OrganizationCreate);
    Ok((StatusCode::CREATED, Json(view::organization(&made))))
}

pub(super) async fn get_organization(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
) -> ApiResult<Json<Organization>> {
    let caller = Caller::Account(account);
    let read = move |query: &mut dyn Query| {
        access::organization(query, &caller, &reference, Permission::View)
    };
    Ok(Json(view::organization(
        &app.store.reader.read(read).await?,
    )))
}

pub(super) async fn update_organization(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
    Body(change): Body<UpdateOrganization>,
) -> ApiResult<Json<Organization>> {
    let caller = Caller::Account(account);
    let update =
        move |tx: &mut dyn Tx| people::update_organization(tx, &caller, &reference, &change);
    Ok(Json(view::organization(
        &app.store.ledger.submit(update).await?,
    )))
}

pub(super) async fn delete_organization(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
) -> ApiResult<StatusCode> {
    let caller = Caller::Account(account);
    let delete = move |tx: &mut dyn Tx| people::delete_organization(tx, &caller, &reference);
    let deleted = app.store.ledger.submit(delete).await;
    if deleted.is_ok() {
        app.metrics.count(Count::OrganizationDelete);
    }
    no_content(deleted)
}

pub(super) async fn claim_organization(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
) -> ApiResult<(StatusCode, Json<Organization>)> {
    let caller = Caller::Account(account);
    let claim = move |tx: &mut dyn Tx| people::claim_organization(tx, &caller, &reference);
    let claimed = app.store.ledger.submit(claim).await?;
    app.metrics.count(Count::UserClaim);
    Ok((StatusCode::CREATED, Json(view::organization(&claimed))))
}

pub(super) async fn get_organization_allowed(
    State(app): State<Shared>,
    User(account): User,
    Path((reference, permission)): Path<(String, Permission)>,
) -> ApiResult<Json<Allowed>> {
    let caller = Caller::Account(account);
    let read = move |query: &mut dyn Query| {
        let found = access::organization(query, &caller, &reference, Permission::View)?;
        access::may_in_organization(query, &caller, found.id, permission)
    };
    let allowed = app.store.reader.read(read).await?;
    Ok(Json(Allowed { allowed }))
}

pub(super) async fn get_plan(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
) -> ApiResult<Json<Plan>> {
    let caller = Caller::Account(account);
    let read = move |query: &mut dyn Query| {
        let found = access::organization(query, &caller, &reference, Permission::View)?;
        Ok::<_, Denied>(plan(&found))
    };
    Ok(Json(app.store.reader.read(read).await?))
}

pub(super) async fn update_plan(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
    Body(change): Body<UpdatePlan>,
) -> ApiResult<Json<Plan>> {
    let caller = Caller::Account(account);
    let update = move |tx: &mut dyn Tx| people::set_plan(tx, &caller, &reference, &change);
    Ok(Json(plan(&app.store.ledger.submit(update).await?)))
}

/// As a change; stock clients call it so.
pub(super) async fn create_plan(
    app: State<Shared>,
    user: User,
    reference: Path<String>,
    change: Body<UpdatePlan>,
) -> ApiResult<(StatusCode, Json<Plan>)> {
    let made = update_plan(app, user, reference, change).await?;
    Ok((StatusCode::CREATED, made))
}

/// What organizations begin with, and no customer of anybody.
pub(super) async fn delete_plan(
    State(app): State<Shared>,
    User(account): User,
    Path(reference): Path<String>,
) -> ApiResult<StatusCode> {
    let caller = Caller::Account(account);
    let level = if app.bench.plans {
        PlanLevel::Free
    } else {
        PlanLevel::Enterprise
    };
    let change = UpdatePlan {
        level: Some(level),
        customer: Some(String::new()),
    };
    let update = move |tx: &mut dyn Tx| people::set_plan(tx, &caller, &reference, &change);
    no_content(app.store.ledger.submit(update).await.map(drop))
}

pub(super) fn plan(organization: &organization::Organization) -> Plan {
    Plan {
        organization: organization.uuid,
        level: organization.plan,
        customer: organization.customer.clone(),
    }
}
