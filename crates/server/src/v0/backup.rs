//! A copy of the database, beside it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use flate2::Compression;
use flate2::write::GzEncoder;
use kiln_model::v0::{Backup, DateTime, NewBackup};
use kiln_store::{Error, back_up};

use crate::app::{Backups, Shared};
use crate::body::Body;
use crate::error::{ApiError, ApiResult};
use crate::identity::Admin;

pub(super) async fn create_backup(
    State(app): State<Shared>,
    _: Admin,
    Body(new): Body<NewBackup>,
) -> ApiResult<(StatusCode, Json<Backup>)> {
    if new.data_store.is_some() || new.remove {
        let what = "backups of this server stay in its own directory: leave out `data_store` and `remove`, and copy the file from there";
        return Err(ApiError::not_supported(what));
    }
    let Some(backups) = app.backups.clone() else {
        return Err(ApiError::not_supported(
            "this server has no directory for backups",
        ));
    };
    let created = app.wall();
    let time = DateTime(created).to_string().replace(['-', ':'], "");
    let name = format!("kiln-{time}-{:03}.db", created.0.rem_euclid(1_000));
    let made = tokio::task::spawn_blocking(move || make(&backups, &name, new.compress));
    let file = made
        .await
        .expect("it does not panic, and nobody cancels it")?;
    tracing::info!(file, "the database was backed up");
    let backup = Backup {
        created: DateTime(created),
        file,
    };
    Ok((StatusCode::CREATED, Json(backup)))
}

/// Answers the name of the file.
fn make(backups: &Arc<Backups>, name: &str, compress: bool) -> ApiResult<String> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&backups.directory)
        .map_err(|error| failed(&error))?;
    let path = backups.directory.join(name);
    if let Err(error) = back_up(&backups.database, &path) {
        return Err(if let Error::Refused(what) = error {
            ApiError::not_supported(what)
        } else {
            error.into()
        });
    }
    if !compress {
        return Ok(name.to_owned());
    }
    squeeze(&path).map_err(|error| failed(&error))?;
    Ok(format!("{name}.gz"))
}

/// Puts a compressed file in the place of a file.
fn squeeze(path: &Path) -> io::Result<()> {
    let squeezed = path.with_extension("db.gz");
    let mut encoder = GzEncoder::new(File::create_new(&squeezed)?, Compression::fast());
    io::copy(&mut File::open(path)?, &mut encoder)?;
    encoder.finish()?.sync_all()?;
    fs::remove_file(path)
}

fn failed(error: &io::Error) -> ApiError {
    ApiError::new(
        StatusCode::INSUFFICIENT_STORAGE,
        "backup_failed",
        format!("the backup was not written: {error}"),
    )
}
