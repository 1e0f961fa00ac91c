//! `kiln project`.

use kiln_client::Page;
use kiln_model::v0::{NewKey, NewProject, Project as Found, Visibility};

use super::Context;
use super::connection::{Connection, parse};
use super::table::{or_dash, print, print_one};
use crate::cli::directory::{self, Project, ProjectKey};
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, command: Project) -> Result<Exit, Failure> {
    let server = Connection::find(context)?;
    let json = command.access().json.json;
    match command {
        Project::Create(new) => show(context, json, &create(&server, &new)?)?,
        Project::List(_) => list(context, json, &server)?,
        Project::Show(one) => {
            let found = server.call(server.client.get_project(&one.name))?;
            show(context, json, &found)?;
        }
        Project::Key(key) => make_key(context, json, &server, &key)?,
        Project::Delete(one) => server.call(server.client.delete_project(&one.name))?,
    }
    Ok(Exit::Ok)
}

fn create(server: &Connection, new: &directory::NewProject) -> Result<Found, Failure> {
    let project = NewProject {
        name: parse(&new.new.name)?,
        slug: new.new.slug.as_deref().map(parse).transpose()?,
        url: None,
        visibility: new.private.then_some(Visibility::Private),
    };
    server.call(server.client.create_project(&new.org, &project))
}

fn list(context: &Context<'_>, json: bool, server: &Connection) -> Result<(), Failure> {
    let found = server.call(server.client.list_projects(Page::default()))?;
    if json {
        return context.terminal.json(&found);
    }
    let rows: Vec<[String; 4]> = found
        .iter()
        .map(|project| {
            [
                project.slug.to_string(),
                project.name.to_string(),
                project.visibility.name().to_owned(),
                project.created.to_string(),
            ]
        })
        .collect();
    let names = ["slug", "name", "visibility", "created"];
    print(context.terminal, names, &rows)
}

fn show(context: &Context<'_>, json: bool, found: &Found) -> Result<(), Failure> {
    if json {
        return context.terminal.json(found);
    }
    let (url, claimed) = (or_dash(found.url.as_ref()), or_dash(found.claimed.as_ref()));
    print_one(
        context.terminal,
        &[
            ("uuid", &found.uuid),
            ("organization", &found.organization),
            ("name", &found.name),
            ("slug", &found.slug),
            ("url", &url),
            ("visibility", &found.visibility.name()),
            ("created", &found.created),
            ("claimed", &claimed),
        ],
    )
}

fn make_key(
    context: &Context<'_>,
    json: bool,
    server: &Connection,
    key: &ProjectKey,
) -> Result<(), Failure> {
    let new = NewKey {
        name: parse(&key.name)?,
        ttl: key.ttl,
    };
    let made = server.call(server.client.create_project_key(&key.project, &new))?;
    if json {
        context.terminal.json(&made)
    } else {
        context.terminal.data(&made.key)
    }
}
