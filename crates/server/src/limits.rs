//! Where requests are counted: by address as long as nobody is known, then by whoever they are.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use kiln_control::Denied;
use kiln_control::access::Caller;
use kiln_control::limits::{Limited, Who};
use kiln_store::sql::project::Project;

use crate::app::{App, Shared};
use crate::error::ApiError;
use crate::metrics::Count;
use crate::source_address::source_address;
use crate::v2;

/// Where a request comes from, for those who count later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source(pub(crate) IpAddr);

/// Refuses an address that came too often without credentials, or with wrong ones.
pub(crate) async fn limit_address(
    State(app): State<Shared>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    // Whoever watches the server must always see it.
    if matches!(request.uri().path(), "/healthz" | "/metrics") {
        return next.run(request).await;
    }
    let address = source_address(peer, request.headers(), &app.trusted_proxies);
    let (who, wall) = (Who::Address(address), app.wall());
    let shows_something = request.headers().contains_key(AUTHORIZATION);
    let admitted = if shows_something {
        app.limits.check(Limited::AddressAttempts, who, wall)
    } else {
        app.limits.take(Limited::AddressRequests, who, wall)
    };
    if let Err(denied) = admitted {
        return counted(&app, refuse(denied, request.uri().path()));
    }
    request.extensions_mut().insert(Source(address));
    let response = next.run(request).await;
    if shows_something && response.status() == StatusCode::UNAUTHORIZED {
        app.limits.count(Limited::AddressAttempts, who, wall);
    }
    counted(&app, response)
}

/// Counts a request of somebody whose credentials were good. Administrators are let through: they mend what is wrong.
pub(crate) fn count_request(app: &App, caller: &Caller) -> Result<(), Denied> {
    let (limited, row) = match caller {
        Caller::Account(account) if !account.admin => (Limited::UserRequests, account.id),
        Caller::ProjectKey(key) => (Limited::ProjectRequests, key.project),
        Caller::Account(_) | Caller::Anonymous => return Ok(()),
    };
    app.limits.take(limited, Who::Row(row), app.wall())
}

/// Whose counts a run goes to, beside its project's.
pub(crate) fn runs_of(caller: &Caller, address: IpAddr) -> Option<(Limited, Who)> {
    match caller {
        Caller::Anonymous => Some((Limited::AddressRuns, Who::Address(address))),
        Caller::Account(account) => Some((Limited::UserRuns, Who::Row(account.id))),
        Caller::ProjectKey(_) => None,
    }
}

/// Where something new is counted: in its project, and in the organization that the project belongs to.
pub(crate) fn homes(project: &Project) -> [(Limited, Who); 2] {
    [
        (Limited::ProjectRuns, Who::Row(project.id)),
        (Limited::OrganizationRuns, Who::Row(project.organization_id)),
    ]
}

/// The same response. One that refuses says because of which limit.
fn counted(app: &App, response: Response) -> Response {
    if let Some(limited) = response.extensions().get::<Limited>() {
        app.metrics.count(Count::refused(*limited));
    }
    response
}

fn refuse(denied: Denied, path: &str) -> Response {
    if path == "/v2" || path.starts_with("/v2/") {
        v2::refuse(denied)
    } else {
        ApiError::from(denied).into_response()
    }
}
