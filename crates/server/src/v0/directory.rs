//! The paths of people and what is theirs: users, organizations, projects, and the administrator's fleet.

use axum::Router;
use axum::routing::{delete, get, post};

use super::{
    backup, elsewhere, members, organizations, project_keys, projects, runners, server, specs,
    usage, user_keys, users,
};
use crate::app::Shared;
use crate::openapi;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .merge(of_people())
        .merge(of_organizations())
        .merge(of_projects())
        .merge(of_fleet())
        .merge(of_server())
}

fn of_people() -> Router<Shared> {
    Router::new()
        .route("/v0/users", get(users::list_users).post(users::create_user))
        .route(
            "/v0/users/{user}",
            get(users::get_user).patch(users::update_user),
        )
        .route(
            "/v0/users/{user}/keys",
            get(user_keys::list_user_keys).post(user_keys::create_user_key),
        )
        .route(
            "/v0/users/{user}/keys/{key}",
            get(user_keys::get_user_key)
                .patch(user_keys::update_user_key)
                .delete(user_keys::revoke_user_key),
        )
        .route(
            "/v0/users/{user}/tokens",
            get(users::list_tokens).post(users::create_token),
        )
}

fn of_organizations() -> Router<Shared> {
    Router::new()
        .route(
            "/v0/organizations",
            get(organizations::list_organizations).post(organizations::create_organization),
        )
        .route(
            "/v0/organizations/{organization}",
            get(organizations::get_organization)
                .patch(organizations::update_organization)
                .delete(organizations::delete_organization),
        )
        .route(
            "/v0/organizations/{organization}/claim",
            post(organizations::claim_organization),
        )
        .route(
            "/v0/organizations/{organization}/allowed/{permission}",
            get(organizations::get_organization_allowed),
        )
        .route(
            "/v0/organizations/{organization}/plan",
            get(organizations::get_plan)
                .post(organizations::create_plan)
                .patch(organizations::update_plan)
                .delete(organizations::delete_plan),
        )
        .route(
            "/v0/organizations/{organization}/usage",
            get(usage::get_usage),
        )
        .route(
            "/v0/organizations/{organization}/sso",
            get(elsewhere::list_sso).post(elsewhere::create_sso),
        )
        .route(
            "/v0/organizations/{organization}/sso/{domain}",
            get(elsewhere::get_sso).delete(elsewhere::delete_sso),
        )
        .route(
            "/v0/organizations/{organization}/members",
            get(members::list_members).post(members::create_member),
        )
        .route(
            "/v0/organizations/{organization}/members/{user}",
            get(members::get_member)
                .patch(members::update_member)
                .delete(members::delete_member),
        )
        .route(
            "/v0/organizations/{organization}/projects",
            get(projects::list_organization_projects).post(projects::create_project),
        )
}

fn of_projects() -> Router<Shared> {
    Router::new()
        .route("/v0/projects", get(projects::list_projects))
        .route(
            "/v0/projects/{project}",
            get(projects::get_project)
                .patch(projects::update_project)
                .delete(projects::delete_project),
        )
        .route(
            "/v0/projects/{project}/allowed/{permission}",
            get(projects::get_project_allowed),
        )
        .route(
            "/v0/projects/{project}/specs",
            get(projects::list_project_specs),
        )
        .route(
            "/v0/projects/{project}/specs/{spec}",
            get(projects::get_project_spec),
        )
        .route(
            "/v0/projects/{project}/keys",
            get(project_keys::list_project_keys).post(project_keys::create_project_key),
        )
        .route(
            "/v0/projects/{project}/keys/{key}",
            get(project_keys::get_project_key)
                .patch(project_keys::update_project_key)
                .delete(project_keys::revoke_project_key),
        )
}

fn of_fleet() -> Router<Shared> {
    Router::new()
        .route(
            "/v0/runners",
            get(runners::list_runners).post(runners::create_runner),
        )
        .route(
            "/v0/runners/{runner}",
            get(runners::get_runner).patch(runners::update_runner),
        )
        .route("/v0/runners/{runner}/key", post(runners::rotate_key))
        .route("/v0/runners/{runner}/token", post(runners::rotate_token))
        .route(
            "/v0/runners/{runner}/specs",
            get(runners::list_runner_specs).post(runners::add_runner_spec),
        )
        .route(
            "/v0/runners/{runner}/specs/{spec}",
            delete(runners::remove_runner_spec),
        )
        .route("/v0/specs", get(specs::list_specs).post(specs::create_spec))
        .route(
            "/v0/specs/{spec}",
            get(specs::get_spec)
                .patch(specs::update_spec)
                .delete(specs::delete_spec),
        )
}

fn of_server() -> Router<Shared> {
    Router::new()
        .route("/v0/server/spec", get(openapi::get_openapi))
        .route("/v0/server/config", get(server::get_config))
        .route("/v0/server/config/console", get(server::get_console_config))
        .route("/v0/server/stats", get(server::get_stats))
        .route("/v0/server/audit", get(server::list_audit))
        .route("/v0/server/backup", post(backup::create_backup))
        .route("/v0/checkout", post(elsewhere::check_out))
        .route("/v0/auth/signup", post(elsewhere::sign_up))
        .route("/v0/auth/login", post(elsewhere::log_in))
        .route("/v0/auth/confirm", post(elsewhere::confirm_login))
        .route("/v0/auth/accept", post(elsewhere::accept_invite))
        .route(
            "/v0/auth/github",
            get(elsewhere::get_github_url).post(elsewhere::log_in_with_github),
        )
        .route(
            "/v0/auth/google",
            get(elsewhere::get_google_url).post(elsewhere::log_in_with_google),
        )
}
