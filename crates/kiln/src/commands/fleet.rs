//! `kiln runner create`, `list`, `show`, `key`, `drain` and `archive`.

use kiln_client::Page;
use kiln_model::v0::{NewRunner, Runner as Found, RunnerKey, RunnerState, UpdateRunner};

use super::Context;
use super::connection::{Connection, parse};
use super::table::{or_dash, print, print_one};
use crate::cli::directory::{self, Fleet};
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, command: Fleet) -> Result<Exit, Failure> {
    let server = Connection::find(context)?;
    let json = command.access().json.json;
    match command {
        Fleet::Create(new) => show_key(context, json, &create(&server, &new)?)?,
        Fleet::List(_) => list(context, json, &server)?,
        Fleet::Show(one) => {
            let found = server.call(server.client.get_runner(&one.name))?;
            show(context, json, &found)?;
        }
        Fleet::Key(one) => {
            let key = server.call(server.client.rotate_runner_key(&one.name))?;
            show_key(context, json, &key)?;
        }
        Fleet::Drain(drained) => {
            let change = UpdateRunner {
                draining: Some(!drained.undo),
                ..UpdateRunner::default()
            };
            let name = &drained.one.name;
            let found = server.call(server.client.update_runner(name, &change))?;
            show(context, json, &found)?;
        }
        Fleet::Archive(one) => {
            let change = UpdateRunner {
                archived: Some(true),
                ..UpdateRunner::default()
            };
            let found = server.call(server.client.update_runner(&one.name, &change))?;
            show(context, json, &found)?;
        }
    }
    Ok(Exit::Ok)
}

fn create(server: &Connection, new: &directory::NewRunner) -> Result<RunnerKey, Failure> {
    let runner = NewRunner {
        name: parse(&new.new.name)?,
        slug: new.new.slug.as_deref().map(parse).transpose()?,
    };
    let made = server.call(server.client.create_runner(&runner))?;
    for spec in &new.spec {
        server.call(server.client.link_spec(&made.uuid.to_string(), spec))?;
    }
    Ok(made)
}

fn show_key(context: &Context<'_>, json: bool, key: &RunnerKey) -> Result<(), Failure> {
    if json {
        context.terminal.json(key)
    } else {
        context.terminal.data(&key.key)
    }
}

fn list(context: &Context<'_>, json: bool, server: &Connection) -> Result<(), Failure> {
    let found = server.call(server.client.list_runners(Page::default()))?;
    if json {
        return context.terminal.json(&found);
    }
    let rows: Vec<[String; 6]> = found
        .iter()
        .map(|runner| {
            [
                runner.slug.to_string(),
                runner.name.to_string(),
                runner.specs.len().to_string(),
                or_dash(runner.last_heartbeat.as_ref()),
                or_dash(runner.metadata.as_ref().map(|told| &told.version)),
                state(runner).to_owned(),
            ]
        })
        .collect();
    let names = [
        "slug",
        "name",
        "specs",
        "last heartbeat",
        "version",
        "state",
    ];
    print(context.terminal, names, &rows)
}

fn state(runner: &Found) -> &'static str {
    match (runner.archived, runner.draining, runner.state) {
        (Some(_), ..) => "archived",
        (None, Some(_), _) => "draining",
        (None, None, Some(RunnerState::Away)) => "away",
        (None, None, Some(RunnerState::Idle)) => "idle",
        (None, None, Some(RunnerState::Busy)) => "busy",
        // A stock server does not tell.
        (None, None, None) => "-",
    }
}

fn show(context: &Context<'_>, json: bool, found: &Found) -> Result<(), Failure> {
    if json {
        return context.terminal.json(found);
    }
    let specs: Vec<String> = found.specs.iter().map(ToString::to_string).collect();
    let told = found.metadata.as_ref();
    let host = told.and_then(|told| told.host.as_ref());
    let host = host.map(|host| {
        let memory = host.memory_bytes >> 20;
        format!(
            "{}, kernel {}, {} CPUs, {memory} MiB, isolation {} by {}",
            host.name, host.kernel, host.cpus, host.isolation, host.backend
        )
    });
    let (version, host) = (
        or_dash(told.map(|told| &told.version)),
        or_dash(host.as_ref()),
    );
    let slots = told.and_then(|told| told.slots).unwrap_or(1);
    let (heartbeat, archived) = (
        or_dash(found.last_heartbeat.as_ref()),
        or_dash(found.archived.as_ref()),
    );
    print_one(
        context.terminal,
        &[
            ("uuid", &found.uuid),
            ("name", &found.name),
            ("slug", &found.slug),
            ("specs", &specs.join(", ")),
            ("last heartbeat", &heartbeat),
            ("version", &version),
            ("host", &host),
            ("slots", &slots),
            ("state", &state(found)),
            ("archived", &archived),
        ],
    )
}
