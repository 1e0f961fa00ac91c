//! Branches, testbeds, benchmarks and measures: four resources that differ in little.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use kiln_control::{Denied, access, bench};
use kiln_insight::BenchmarkName;
use kiln_insight::threshold::Direction;
use kiln_model::v0::{self, DimensionPatch, Patched, Permission};
use kiln_model::{
    BenchmarkUuid, BranchName, Entropy, KeyUuid, MeasureUuid, ResourceName, TestbedUuid,
};
use kiln_store::sql::benchmark::{self, Benchmark};
use kiln_store::sql::branch::Branch;
use kiln_store::sql::dimension::{self, Change, Dimension, Filter};
use kiln_store::sql::measure::{self, Measure, NewMeasure};
use kiln_store::sql::project::Project;
use kiln_store::sql::testbed::{self, Testbed};
use kiln_store::sql::{head, spec};
use kiln_store::{Query, Tx};
use serde::{Deserialize, Serialize};

use super::listing::Listed;
use super::paging::{BY_NAME, Paging, listed};
use super::show::Show;
use crate::app::{App, Shared};
use crate::body::Body;
use crate::error::ApiResult;
use crate::identity::Caller;
use crate::metrics::Count;

/// How a dimension is shown and changed.
pub(super) trait Resource: Dimension + Send + 'static {
    type Wire: Serialize + Send + 'static;
    fn id(&self) -> i64;
    fn show<Q: Query + ?Sized>(&self, show: &mut Show<'_, Q>) -> Result<Self::Wire, Denied>;
    /// As it was with what the request names.
    fn at<Q: Query + ?Sized>(self, _: &mut Q, _: &Past) -> Result<Self, Denied> {
        Ok(self)
    }
    /// Refuses a name that this dimension cannot have.
    fn check_name(name: &str) -> Result<(), Denied>;
    /// Changes what only this dimension has.
    fn change_more(
        &self,
        _: &mut dyn Tx,
        _project: i64,
        _: &DimensionPatch,
        _: &dyn Entropy,
    ) -> Result<(), Denied> {
        Ok(())
    }
}

/// What one may have been measured with before.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Past {
    /// A head of the branch.
    head: Option<String>,
    /// A spec of the testbed.
    spec: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ListQuery {
    name: Option<String>,
    search: Option<String>,
    #[serde(default)]
    archived: bool,
}

/// Ids for a transaction that mints as many as it needs.
pub(super) fn seed(app: &App) -> KeyUuid {
    KeyUuid::mint(app.wall(), &*app.entropy)
}

pub(super) async fn list_dimensions<D: Resource>(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    UrlQuery(asked): UrlQuery<ListQuery>,
    UrlQuery(paging): UrlQuery<Paging>,
) -> ApiResult<Listed<D::Wire>> {
    let filter = Filter {
        name: asked.name,
        search: asked.search,
        archived: asked.archived,
    };
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let rows: Vec<D> =
            dimension::list(query, project.id, &filter, paging.page(BY_NAME, false)?)?;
        let total = dimension::count::<D, _>(query, project.id, &filter)?;
        let mut show = Show::new(query, &project);
        let rows = rows.iter().map(|row| row.show(&mut show));
        let rows = rows.collect::<Result<Vec<_>, Denied>>()?;
        Ok::<_, Denied>(listed(rows, total))
    };
    Ok(app.store.reader.read(read).await?)
}

pub(super) async fn get_dimension<D: Resource>(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, reference)): Path<(String, String)>,
    UrlQuery(past): UrlQuery<Past>,
) -> ApiResult<Json<D::Wire>> {
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let row: D = find(query, project.id, &reference)?;
        let row = row.at(query, &past)?;
        row.show(&mut Show::new(query, &project))
    };
    Ok(Json(app.store.reader.read(read).await?))
}

pub(super) async fn update_dimension<D: Resource>(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, reference)): Path<(String, String)>,
    Body(patch): Body<DimensionPatch>,
) -> ApiResult<Json<D::Wire>> {
    let seed = seed(&app);
    let update = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Edit)?;
        let row: D = find(tx, project.id, &reference)?;
        if let Some(name) = &patch.name {
            D::check_name(name)?;
            let taken = dimension::find_by_ref::<D, _>(tx, project.id, name)?;
            if taken.is_some_and(|other| other.id() != row.id()) {
                return Err(Denied::Taken("this name"));
            }
        }
        let change = Change {
            name: patch.name.clone(),
            slug: patch.slug.clone(),
            archived: patch.archived,
        };
        dimension::change::<D>(tx, row.id(), &change)?;
        row.change_more(tx, project.id, &patch, &bench::Ids::new(seed))?;
        let row: D = dimension::find(tx, row.id())?.ok_or(Denied::NotFound(D::KIND))?;
        row.show(&mut Show::new(tx, &project))
    };
    Ok(Json(app.store.ledger.submit(update).await?))
}

/// What was measured with cannot go: archive it.
pub(super) async fn delete_dimension<D: Resource>(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, reference)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let delete = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Delete)?;
        let row: D = find(tx, project.id, &reference)?;
        if dimension::is_in_use::<D, _>(tx, row.id())? {
            return Err(Denied::InUse {
                what: D::KIND,
                why: "it has reports; archive it instead",
            });
        }
        Ok::<_, Denied>(dimension::delete::<D>(tx, row.id())?)
    };
    app.store.ledger.submit(delete).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn create_branch(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    Body(new): Body<v0::NewBranch>,
) -> ApiResult<(StatusCode, Json<v0::Branch>)> {
    let seed = seed(&app);
    let create = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Create)?;
        let row = bench::create_branch(tx, project.id, &new, &bench::Ids::new(seed))?;
        row.show(&mut Show::new(tx, &project))
    };
    let made = app.store.ledger.submit(create).await?;
    app.metrics.count(Count::ResourceCreate);
    Ok((StatusCode::CREATED, Json(made)))
}

pub(super) async fn create_testbed(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    Body(new): Body<v0::NewTestbed>,
) -> ApiResult<(StatusCode, Json<v0::Testbed>)> {
    let uuid = TestbedUuid::mint(app.wall(), &*app.entropy);
    let create = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Create)?;
        let spec = match &new.spec {
            Some(reference) => Some(find_spec(tx, reference)?),
            None => None,
        };
        let id = testbed::insert(tx, project.id, uuid, &new.name, new.slug.as_ref(), spec)?;
        shown::<Testbed>(tx, &project, id)
    };
    let made = app.store.ledger.submit(create).await?;
    app.metrics.count(Count::ResourceCreate);
    Ok((StatusCode::CREATED, Json(made)))
}

pub(super) async fn create_benchmark(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    Body(new): Body<v0::NewBenchmark>,
) -> ApiResult<(StatusCode, Json<v0::Benchmark>)> {
    let uuid = BenchmarkUuid::mint(app.wall(), &*app.entropy);
    Benchmark::check_name(&new.name)?;
    let create = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Create)?;
        let id = benchmark::insert(tx, project.id, uuid, &new.name, new.slug.as_ref())?;
        shown::<Benchmark>(tx, &project, id)
    };
    let made = app.store.ledger.submit(create).await?;
    app.metrics.count(Count::ResourceCreate);
    Ok((StatusCode::CREATED, Json(made)))
}

pub(super) async fn create_measure(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    Body(new): Body<v0::NewMeasure>,
) -> ApiResult<(StatusCode, Json<v0::Measure>)> {
    check_direction(new.direction.as_deref())?;
    let new = NewMeasure {
        uuid: MeasureUuid::mint(app.wall(), &*app.entropy),
        name: new.name.as_str().to_owned(),
        slug: new.slug,
        units: new.units,
        direction: new.direction,
    };
    let create = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Create)?;
        let id = measure::insert(tx, project.id, &new)?;
        shown::<Measure>(tx, &project, id)
    };
    let made = app.store.ledger.submit(create).await?;
    app.metrics.count(Count::ResourceCreate);
    Ok((StatusCode::CREATED, Json(made)))
}

/// What an insert made; nothing means that the name was taken.
fn shown<D: Resource>(
    tx: &mut dyn Tx,
    project: &Project,
    id: Option<i64>,
) -> Result<D::Wire, Denied> {
    let id = id.ok_or(Denied::Taken("this name"))?;
    let row: D = dimension::find(tx, id)?.ok_or(Denied::NotFound(D::KIND))?;
    row.show(&mut Show::new(tx, project))
}

pub(super) fn find<D: Dimension, Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    reference: &str,
) -> Result<D, Denied> {
    dimension::find_by_ref(query, project, reference)?.ok_or(Denied::NotFound(D::KIND))
}

/// The id of the one that a list is asked for, if it is asked for one.
pub(super) fn id_of<D: Resource, Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    reference: Option<&str>,
) -> Result<Option<i64>, Denied> {
    let Some(reference) = reference else {
        return Ok(None);
    };
    let found: D = find(query, project, reference)?;
    Ok(Some(found.id()))
}

fn find_spec(tx: &mut dyn Tx, reference: &str) -> Result<i64, Denied> {
    let found = spec::find_by_ref(tx, reference)?.filter(|spec| spec.archived.is_none());
    Ok(found.ok_or(Denied::NotFound("spec"))?.id)
}

fn check_direction(direction: Option<&str>) -> Result<(), Denied> {
    direction.map_or(Ok(()), checked::<Direction>)
}

/// Whether a text is one of these.
fn checked<T: std::str::FromStr>(text: &str) -> Result<(), Denied>
where
    T::Err: std::fmt::Display,
{
    text.parse::<T>()
        .map(drop)
        .map_err(|error| Denied::Invalid(error.to_string()))
}

impl Resource for Branch {
    type Wire = v0::Branch;

    fn id(&self) -> i64 {
        self.id
    }

    fn show<Q: Query + ?Sized>(&self, show: &mut Show<'_, Q>) -> Result<v0::Branch, Denied> {
        show.branch(self)
    }

    fn at<Q: Query + ?Sized>(mut self, query: &mut Q, past: &Past) -> Result<Self, Denied> {
        if let Some(uuid) = &past.head {
            let found = head::find_of_branch(query, self.id, uuid)?;
            self.head_id = found.ok_or(Denied::NotFound("head"))?.id;
        }
        Ok(self)
    }

    fn check_name(name: &str) -> Result<(), Denied> {
        checked::<BranchName>(name)
    }

    fn change_more(
        &self,
        tx: &mut dyn Tx,
        project: i64,
        patch: &DimensionPatch,
        ids: &dyn Entropy,
    ) -> Result<(), Denied> {
        match &patch.start_point {
            Some(start) => bench::begin(tx, project, self, start, ids),
            None => Ok(()),
        }
    }
}

impl Resource for Testbed {
    type Wire = v0::Testbed;

    fn id(&self) -> i64 {
        self.id
    }

    fn show<Q: Query + ?Sized>(&self, show: &mut Show<'_, Q>) -> Result<v0::Testbed, Denied> {
        show.testbed(self)
    }

    fn at<Q: Query + ?Sized>(mut self, query: &mut Q, past: &Past) -> Result<Self, Denied> {
        if let Some(reference) = &past.spec {
            let found = spec::find_by_ref(query, reference)?;
            self.spec = Some(found.ok_or(Denied::NotFound("spec"))?.id);
        }
        Ok(self)
    }

    fn check_name(name: &str) -> Result<(), Denied> {
        checked::<ResourceName>(name)
    }

    fn change_more(
        &self,
        tx: &mut dyn Tx,
        _project: i64,
        patch: &DimensionPatch,
        _: &dyn Entropy,
    ) -> Result<(), Denied> {
        let spec = match &patch.spec {
            Patched::Keep => return Ok(()),
            Patched::Clear => None,
            Patched::Set(reference) => Some(find_spec(tx, reference)?),
        };
        Ok(testbed::set_spec(tx, self.id, spec)?)
    }
}

impl Resource for Benchmark {
    type Wire = v0::Benchmark;

    fn id(&self) -> i64 {
        self.id
    }

    fn show<Q: Query + ?Sized>(&self, show: &mut Show<'_, Q>) -> Result<v0::Benchmark, Denied> {
        Ok(show.benchmark(self))
    }

    fn check_name(name: &str) -> Result<(), Denied> {
        checked::<BenchmarkName>(name)
    }
}

impl Resource for Measure {
    type Wire = v0::Measure;

    fn id(&self) -> i64 {
        self.id
    }

    fn show<Q: Query + ?Sized>(&self, show: &mut Show<'_, Q>) -> Result<v0::Measure, Denied> {
        Ok(show.measure(self))
    }

    fn check_name(name: &str) -> Result<(), Denied> {
        checked::<ResourceName>(name)
    }

    fn change_more(
        &self,
        tx: &mut dyn Tx,
        _project: i64,
        patch: &DimensionPatch,
        _: &dyn Entropy,
    ) -> Result<(), Denied> {
        check_direction(patch.direction.as_deref())?;
        let (units, direction) = (patch.units.as_deref(), patch.direction.as_deref());
        Ok(measure::describe(tx, self.id, units, direction)?)
    }
}
