//! From a path and a method to the handler, past the guard.

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use kiln_registry::{Code, Misroute, Name, Repository, Route, Target};
use serde_json::json;

use super::access::{self, Caller};
use super::challenge::{self, Reason};
use super::error::{OciError, OciResult};
use super::parameters::Parameters;
use super::{blobs, drain, listings, manifests, uploads};
use crate::app::Shared;
use crate::metrics::Count;
use crate::token::Action;

/// A request that was let through, without its body.
pub(super) struct Call {
    pub(super) app: Shared,
    pub(super) caller: Caller,
    pub(super) name: Name,
    /// Where the name leads, as far as the caller can see.
    pub(super) repository: Option<Repository>,
    pub(super) parts: Parts,
    pub(super) parameters: Parameters,
}

impl Call {
    pub(super) fn repository(&self) -> OciResult<&Repository> {
        self.repository.as_ref().ok_or_else(OciError::name_unknown)
    }
}

/// Whether this is a registry, and whether the caller is known to it.
pub(super) async fn ping(State(app): State<Shared>, request: Request) -> OciResult<Response> {
    let (parts, _) = request.into_parts();
    access::authenticate(&app, &parts).await?;
    Ok(Json(json!({})).into_response())
}

pub(super) async fn dispatch(State(app): State<Shared>, request: Request) -> OciResult<Response> {
    let (parts, body) = request.into_parts();
    match admit(app, parts).await {
        Ok((call, target)) => {
            let what = counted(&target, &call.parts.method);
            let response = handle(&call, target, body).await?;
            // An upload that was only begun is no blob yet.
            if let Some(what) = what
                && response.status() != StatusCode::ACCEPTED
            {
                call.app.metrics.count(what);
            }
            Ok(response)
        }
        Err(refused) => {
            drain::drain(&mut body.into_data_stream()).await;
            Err(refused)
        }
    }
}

/// Decides what is asked for, and whether this caller may.
async fn admit(app: Shared, parts: Parts) -> OciResult<(Call, Target)> {
    // Not the path that the router decoded: an encoded slash must not become a separator.
    let path = parts.uri.path().strip_prefix("/v2/").unwrap_or_default();
    let route = Route::parse(path).map_err(|misroute| refuse(misroute, &parts.method))?;
    let action = action(&route.target, &parts.method).ok_or_else(OciError::method)?;
    let parameters = Parameters::of(&parts.uri);
    let from = uploads::source_name(&route.target, &parameters);
    let from = from.filter(|from| *from != route.name);
    let admitted = access::authorize(&app, &parts, &route.name, action, from.as_ref()).await?;
    // A runner's token opens blobs and manifests, and nothing else.
    if matches!(admitted.caller, Caller::Runner(_))
        && !matches!(route.target, Target::Blob(_) | Target::Manifest(_))
    {
        let scope = [(&route.name, action)];
        return Err(challenge::refuse(&app, Reason::Insufficient, &scope));
    }
    let call = Call {
        app,
        caller: admitted.caller,
        repository: admitted.repository,
        name: route.name,
        parts,
        parameters,
    };
    Ok((call, route.target))
}

async fn handle(call: &Call, target: Target, body: Body) -> OciResult<Response> {
    let method = &call.parts.method;
    let reading = method == Method::GET || method == Method::HEAD;
    match target {
        Target::Blob(digest) if reading => blobs::get_blob(call, &digest).await,
        Target::Blob(digest) => blobs::delete_blob(call, &digest).await,
        Target::Uploads if method == Method::PUT => uploads::put_blob(call, body).await,
        Target::Uploads => uploads::start_upload(call, body).await,
        Target::Upload(upload) if reading => uploads::get_upload(call, upload).await,
        Target::Upload(upload) if method == Method::PATCH => {
            uploads::append_upload(call, upload, body).await
        }
        Target::Upload(upload) if method == Method::PUT => {
            uploads::finish_upload(call, upload, body).await
        }
        Target::Upload(upload) => uploads::cancel_upload(call, upload).await,
        Target::Manifest(reference) if reading => manifests::get_manifest(call, &reference).await,
        Target::Manifest(reference) if method == Method::PUT => {
            manifests::put_manifest(call, reference, body).await
        }
        Target::Manifest(reference) => manifests::delete_manifest(call, &reference).await,
        Target::Tags => listings::list_tags(call).await,
        Target::Referrers(subject) => listings::list_referrers(call, &subject).await,
    }
}

/// What it counts as, once it is done.
fn counted(target: &Target, method: &Method) -> Option<Count> {
    match (target, method.as_str()) {
        (Target::Blob(_), "GET") => Some(Count::BlobPull),
        (Target::Uploads, "POST" | "PUT") | (Target::Upload(_), "PUT") => Some(Count::BlobPush),
        (Target::Manifest(_), "GET") => Some(Count::ManifestPull),
        (Target::Manifest(_), "PUT") => Some(Count::ManifestPush),
        (Target::Tags, "GET") => Some(Count::TagsList),
        _ => None,
    }
}

/// What the caller must be allowed to do; none when the path does not know the method.
fn action(target: &Target, method: &Method) -> Option<Action> {
    let reading = *method == Method::GET || *method == Method::HEAD;
    match target {
        Target::Tags | Target::Referrers(_) => reading.then_some(Action::Pull),
        Target::Blob(_) | Target::Manifest(_) if reading => Some(Action::Pull),
        Target::Blob(_) => (*method == Method::DELETE).then_some(Action::Push),
        Target::Manifest(_) => {
            matches!(*method, Method::PUT | Method::DELETE).then_some(Action::Push)
        }
        Target::Uploads => matches!(*method, Method::POST | Method::PUT).then_some(Action::Push),
        Target::Upload(_) => matches!(
            *method,
            Method::GET | Method::HEAD | Method::PATCH | Method::PUT | Method::DELETE
        )
        .then_some(Action::Push),
    }
}

/// What cannot be a tag is a manifest that is not there, unless somebody wants to put one.
fn refuse(misroute: Misroute, method: &Method) -> OciError {
    if matches!(misroute, Misroute::Tag(_)) && *method != Method::PUT {
        let message = misroute.to_string();
        return OciError::new(StatusCode::NOT_FOUND, Code::ManifestUnknown, message);
    }
    misroute.into()
}
