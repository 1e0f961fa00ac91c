//! `kiln spec`.

use kiln_client::Page;
use kiln_model::v0::{Architecture, NewSpec, OperatingSystem, Spec as Found, UpdateSpec};

use super::Context;
use super::connection::{Connection, parse};
use super::table::{or_dash, print, print_one};
use crate::cli::directory::{self, Spec};
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, command: Spec) -> Result<Exit, Failure> {
    let server = Connection::find(context)?;
    let json = command.access().json.json;
    let found = match command {
        Spec::List(_) => {
            list(context, json, &server)?;
            return Ok(Exit::Ok);
        }
        Spec::Create(new) => create(&server, &new)?,
        Spec::Show(one) => server.call(server.client.get_spec(&one.name))?,
        Spec::Archive(one) => {
            let change = UpdateSpec {
                archived: Some(true),
                ..UpdateSpec::default()
            };
            server.call(server.client.update_spec(&one.name, &change))?
        }
    };
    show(context, json, &found)?;
    Ok(Exit::Ok)
}

fn create(server: &Connection, new: &directory::NewSpec) -> Result<Found, Failure> {
    let os = match new.os.as_str() {
        "linux" => OperatingSystem::Linux,
        "macos" => OperatingSystem::Macos,
        "windows" => OperatingSystem::Windows,
        other => {
            return Err(Failure::usage(format!(
                "--os is linux, macos or windows, not {other:?}"
            )));
        }
    };
    let architecture = match new.architecture.as_str() {
        "x86_64" => Architecture::X86_64,
        "aarch64" => Architecture::Aarch64,
        other => {
            return Err(Failure::usage(format!(
                "--architecture is x86_64 or aarch64, not {other:?}"
            )));
        }
    };
    let spec = NewSpec {
        name: parse(&new.new.name)?,
        slug: new.new.slug.as_deref().map(parse).transpose()?,
        os,
        architecture,
        sandbox: new.microvm.then(|| "firecracker".to_owned()),
        cpu: new.cpu,
        memory: new.memory,
        disk: new.disk,
        network: new.network,
        fallback: new.fallback,
        shared: new.shared,
        isolation: new.isolation.as_deref().map(parse).transpose()?,
    };
    server.call(server.client.create_spec(&spec))
}

fn list(context: &Context<'_>, json: bool, server: &Connection) -> Result<(), Failure> {
    let found = server.call(server.client.list_specs(Page::default()))?;
    if json {
        return context.terminal.json(&found);
    }
    let rows: Vec<[String; 8]> = found
        .iter()
        .map(|spec| {
            [
                spec.slug.to_string(),
                spec.cpu.to_string(),
                spec.memory.to_string(),
                spec.disk.to_string(),
                spec.sandbox.clone().unwrap_or_else(|| "-".to_owned()),
                isolation(spec),
                if spec.shared { "yes" } else { "" }.to_owned(),
                if spec.fallback.is_some() { "yes" } else { "" }.to_owned(),
            ]
        })
        .collect();
    let names = [
        "slug",
        "cpu",
        "memory",
        "disk",
        "sandbox",
        "isolation",
        "shared",
        "fallback",
    ];
    print(context.terminal, names, &rows)
}

fn show(context: &Context<'_>, json: bool, found: &Found) -> Result<(), Failure> {
    if json {
        return context.terminal.json(found);
    }
    let (sandbox, isolation) = (or_dash(found.sandbox.as_ref()), isolation(found));
    let (fallback, archived) = (
        or_dash(found.fallback.as_ref()),
        or_dash(found.archived.as_ref()),
    );
    print_one(
        context.terminal,
        &[
            ("uuid", &found.uuid),
            ("name", &found.name),
            ("slug", &found.slug),
            ("cpu", &found.cpu),
            ("memory", &found.memory),
            ("disk", &found.disk),
            ("network", &found.network),
            ("sandbox", &sandbox),
            ("isolation", &isolation),
            ("shared", &found.shared),
            ("fallback", &fallback),
            ("archived", &archived),
        ],
    )
}

/// What its jobs are given at least, whichever way it asks for that. What only a newer server knows is shown as it is.
fn isolation(spec: &Found) -> String {
    match spec.wanted_isolation() {
        Ok(wanted) => or_dash(wanted.as_ref()),
        Err(unknown) => unknown.name,
    }
}
