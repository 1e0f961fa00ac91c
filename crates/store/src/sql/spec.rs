//! Specs: hardware shapes. Each has a lane of its own.

use kiln_model::v0::{Architecture, Isolation, OperatingSystem};
use kiln_model::{Millis, ResourceName, Slug, SpecUuid};

use super::listing::{self, Listing, Page, Source};
use crate::{Error, Query, Row, Tx, Value, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub id: i64,
    pub uuid: SpecUuid,
    pub lane: i64,
    pub name: ResourceName,
    pub slug: Slug,
    pub os: OperatingSystem,
    pub architecture: Architecture,
    pub sandbox: Option<String>,
    pub cpu: u32,
    pub memory: u64,
    pub disk: u64,
    pub network: bool,
    pub fallback: Option<Millis>,
    pub created: Millis,
    pub modified: Millis,
    pub archived: Option<Millis>,
    /// Whether its jobs may share a runner.
    pub shared: bool,
    /// The least that keeps its jobs from their host, beside what `sandbox` says.
    pub isolation: Option<Isolation>,
}

macro_rules! columns {
    () => {
        "spec.id, spec.uuid, spec.lane_id, spec.name, spec.slug, spec.os, spec.architecture, spec.sandbox, \
         spec.cpu, spec.memory, spec.disk, spec.network, spec.fallback, spec.created, spec.modified, \
         spec.archived, spec.shared, spec.isolation"
    };
}

const SOURCE: Source = Source {
    columns: columns!(),
    from: "spec",
    name: "spec",
    searched: &["spec.name", "spec.slug"],
};

pub fn insert(tx: &mut dyn Tx, spec: &Spec) -> Result<i64, Error> {
    let row = tx.query_one(
        "INSERT INTO spec (uuid, lane_id, name, slug, os, architecture, sandbox, cpu, memory, disk, network, \
         fallback, created, modified, shared, isolation) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14, ?15) \
         RETURNING id",
        params![
            spec.uuid.to_string(),
            spec.lane,
            spec.name.as_str(),
            spec.slug.as_str(),
            os_name(spec.os),
            architecture_name(spec.architecture),
            spec.sandbox.as_deref(),
            spec.cpu,
            i64::try_from(spec.memory).unwrap_or(i64::MAX),
            i64::try_from(spec.disk).unwrap_or(i64::MAX),
            spec.network,
            spec.fallback,
            spec.created,
            spec.shared,
            spec.isolation.map(Isolation::name)
        ],
    )?;
    super::inserted_id(row)
}

pub fn clear_fallback(tx: &mut dyn Tx) -> Result<(), Error> {
    tx.execute(
        "UPDATE spec SET fallback = NULL WHERE fallback IS NOT NULL",
        &[],
    )?;
    Ok(())
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Spec>, Error> {
    let sql = concat!("SELECT ", columns!(), " FROM spec WHERE id = ?1");
    query
        .query_one(sql, params![id])?
        .as_ref()
        .map(read)
        .transpose()
}

/// By UUID or slug.
pub fn find_by_ref<Q: Query + ?Sized>(
    query: &mut Q,
    reference: &str,
) -> Result<Option<Spec>, Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM spec WHERE uuid = ?1 OR slug = ?1"
    );
    query
        .query_one(sql, params![reference])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn fallback<Q: Query + ?Sized>(query: &mut Q) -> Result<Option<Spec>, Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM spec WHERE fallback IS NOT NULL AND archived IS NULL LIMIT 1"
    );
    query.query_one(sql, &[])?.as_ref().map(read).transpose()
}

pub fn list<Q: Query + ?Sized>(query: &mut Q, listing: &Listing) -> Result<Page<Spec>, Error> {
    let condition = "(?3 = 1 OR spec.archived IS NULL)";
    let more = vec![Value::from(listing.archived)];
    listing::page(query, &SOURCE, condition, more, listing, read)
}

pub fn is_slug_taken<Q: Query + ?Sized>(query: &mut Q, slug: &Slug) -> Result<bool, Error> {
    let found = query.query_one(
        "SELECT id FROM spec WHERE slug = ?1",
        params![slug.as_str()],
    )?;
    Ok(found.is_some())
}

/// Writes what may change; hardware does not.
pub fn update(tx: &mut dyn Tx, spec: &Spec) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE spec SET name = ?2, slug = ?3, fallback = ?4, archived = ?5, modified = ?6 WHERE id = ?1",
        params![
            spec.id,
            spec.name.as_str(),
            spec.slug.as_str(),
            spec.fallback,
            spec.archived,
            wall
        ],
    )?;
    Ok(())
}

/// Whether a job, a testbed or a runner needs it.
pub fn is_in_use<Q: Query + ?Sized>(query: &mut Q, spec: &Spec) -> Result<bool, Error> {
    let uses = super::count(
        query,
        "SELECT COUNT(*) FROM (SELECT 1 FROM job WHERE spec_id = ?1 \
         UNION ALL SELECT 1 FROM testbed WHERE spec_id = ?1 \
         UNION ALL SELECT 1 FROM runner_lane WHERE lane_id = ?2) AS used",
        params![spec.id, spec.lane],
    )?;
    Ok(uses > 0)
}

/// The spec and its lane, which nothing may need.
pub fn delete(tx: &mut dyn Tx, spec: &Spec) -> Result<(), Error> {
    tx.execute("DELETE FROM spec WHERE id = ?1", params![spec.id])?;
    tx.execute("DELETE FROM lane WHERE id = ?1", params![spec.lane])?;
    Ok(())
}

/// Testbeds that were on an archived spec are on none.
pub fn leave_testbeds(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    tx.execute(
        "UPDATE testbed SET spec_id = NULL WHERE spec_id = ?1",
        params![id],
    )?;
    Ok(())
}

/// The specs a runner serves.
pub fn of_runner<Q: Query + ?Sized>(query: &mut Q, runner: i64) -> Result<Vec<Spec>, Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM spec JOIN runner_lane ON runner_lane.lane_id = spec.lane_id \
         WHERE runner_lane.runner_id = ?1 ORDER BY spec.name, spec.id"
    );
    query
        .query(sql, params![runner])?
        .iter()
        .map(read)
        .collect()
}

fn read(row: &Row) -> Result<Spec, Error> {
    let os: String = row.get(5)?;
    let architecture: String = row.get(6)?;
    let isolation: Option<String> = row.get(17)?;
    Ok(Spec {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        lane: row.get(2)?,
        name: super::parse(row, 3)?,
        slug: super::parse(row, 4)?,
        os: [
            OperatingSystem::Linux,
            OperatingSystem::Macos,
            OperatingSystem::Windows,
        ]
        .into_iter()
        .find(|candidate| os_name(*candidate) == os)
        .ok_or_else(|| Error::Corrupt {
            what: format!("operating system {os:?}"),
        })?,
        architecture: [Architecture::X86_64, Architecture::Aarch64]
            .into_iter()
            .find(|candidate| architecture_name(*candidate) == architecture)
            .ok_or_else(|| Error::Corrupt {
                what: format!("architecture {architecture:?}"),
            })?,
        sandbox: row.get(7)?,
        cpu: row.get(8)?,
        memory: row.get(9)?,
        disk: row.get(10)?,
        network: row.get(11)?,
        fallback: row.get(12)?,
        created: row.get(13)?,
        modified: row.get(14)?,
        archived: row.get(15)?,
        shared: row.get(16)?,
        isolation: isolation
            .map(|name| {
                name.parse().map_err(|_| Error::Corrupt {
                    what: format!("isolation {name:?}"),
                })
            })
            .transpose()?,
    })
}

const fn os_name(os: OperatingSystem) -> &'static str {
    match os {
        OperatingSystem::Linux => "linux",
        OperatingSystem::Macos => "macos",
        OperatingSystem::Windows => "windows",
    }
}

const fn architecture_name(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "x86_64",
        Architecture::Aarch64 => "aarch64",
    }
}
