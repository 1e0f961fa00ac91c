//! `kiln key`.

use kiln_client::Page;
use kiln_model::v0::NewKey;

use super::Context;
use super::connection::{Connection, parse};
use super::table::{or_dash, print, print_one};
use crate::cli::directory::{KeyOwner, Keys, OneKey};
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, command: Keys) -> Result<Exit, Failure> {
    let server = Connection::find(context)?;
    let json = command.access().json.json;
    match command {
        Keys::Create(new) => {
            let key = NewKey {
                name: parse(&new.name)?,
                ttl: new.ttl,
            };
            let made = server.call(server.client.create_user_key(&new.owner.user, &key))?;
            if json {
                context.terminal.json(&made)?;
            } else {
                context.terminal.data(&made.key)?;
            }
        }
        Keys::List(owner) => list(context, json, &server, &owner)?,
        Keys::Show(one) => show(context, json, &server, &one)?,
        Keys::Revoke(one) => {
            server.call(server.client.revoke_user_key(&one.owner.user, &one.uuid))?;
        }
    }
    Ok(Exit::Ok)
}

fn list(
    context: &Context<'_>,
    json: bool,
    server: &Connection,
    owner: &KeyOwner,
) -> Result<(), Failure> {
    let found = server.call(server.client.list_user_keys(&owner.user, Page::default()))?;
    if json {
        return context.terminal.json(&found);
    }
    let rows: Vec<[String; 4]> = found
        .iter()
        .map(|key| {
            [
                key.uuid.to_string(),
                key.name.to_string(),
                key.creation.to_string(),
                key.expiration.to_string(),
            ]
        })
        .collect();
    let names = ["uuid", "name", "created", "expires"];
    print(context.terminal, names, &rows)
}

fn show(
    context: &Context<'_>,
    json: bool,
    server: &Connection,
    one: &OneKey,
) -> Result<(), Failure> {
    let found = server.call(server.client.get_user_key(&one.owner.user, &one.uuid))?;
    if json {
        return context.terminal.json(&found);
    }
    let revoked = or_dash(found.revoked.as_ref());
    print_one(
        context.terminal,
        &[
            ("uuid", &found.uuid),
            ("user", &found.user),
            ("name", &found.name),
            ("created", &found.creation),
            ("expires", &found.expiration),
            ("revoked", &revoked),
        ],
    )
}
