//! `kiln org`.

use kiln_client::Page;
use kiln_model::Millis;
use kiln_model::v0::{NewMember, NewOrganization, Organization, Role};

use super::Context;
use super::connection::{Connection, parse};
use super::table::{or_dash, print, print_one};
use crate::cli::directory::{Invite, MemberRole, New, One, Org, Period};
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, command: Org) -> Result<Exit, Failure> {
    let server = Connection::find(context)?;
    let json = command.access().json.json;
    match command {
        Org::Create(new) => show(context, json, &create(&server, &new)?)?,
        Org::List(_) => list(context, json, &server)?,
        Org::Show(one) => show_with_members(context, json, &server, &one)?,
        Org::Usage(period) => show_usage(context, json, &server, &period)?,
        Org::Invite(invitation) => invite(context, json, &server, &invitation)?,
        Org::Delete(one) => server.call(server.client.delete_organization(&one.name))?,
    }
    Ok(Exit::Ok)
}

fn create(server: &Connection, new: &New) -> Result<Organization, Failure> {
    let new = NewOrganization {
        name: parse(&new.name)?,
        slug: new.slug.as_deref().map(parse).transpose()?,
    };
    server.call(server.client.create_organization(&new))
}

fn list(context: &Context<'_>, json: bool, server: &Connection) -> Result<(), Failure> {
    let found = server.call(server.client.list_organizations(Page::default()))?;
    if json {
        return context.terminal.json(&found);
    }
    let rows: Vec<[String; 3]> = found
        .iter()
        .map(|organization| {
            [
                organization.slug.to_string(),
                organization.name.to_string(),
                or_dash(organization.claimed.as_ref()),
            ]
        })
        .collect();
    print(context.terminal, ["slug", "name", "claimed"], &rows)
}

fn show(context: &Context<'_>, json: bool, found: &Organization) -> Result<(), Failure> {
    if json {
        return context.terminal.json(found);
    }
    let claimed = or_dash(found.claimed.as_ref());
    print_one(
        context.terminal,
        &[
            ("uuid", &found.uuid),
            ("name", &found.name),
            ("slug", &found.slug),
            ("created", &found.created),
            ("claimed", &claimed),
        ],
    )
}

fn show_with_members(
    context: &Context<'_>,
    json: bool,
    server: &Connection,
    one: &One,
) -> Result<(), Failure> {
    let found = server.call(server.client.get_organization(&one.name))?;
    let members = server.call(server.client.list_members(&one.name, Page::default()))?;
    if json {
        let both = serde_json::json!({ "organization": found, "members": members });
        return context.terminal.json(&both);
    }
    show(context, false, &found)?;
    context.terminal.data("")?;
    let rows: Vec<[String; 3]> = members
        .iter()
        .map(|member| {
            [
                member.slug.to_string(),
                member.email.to_string(),
                member.role.name().to_owned(),
            ]
        })
        .collect();
    print(context.terminal, ["member", "email", "role"], &rows)
}

fn show_usage(
    context: &Context<'_>,
    json: bool,
    server: &Connection,
    period: &Period,
) -> Result<(), Failure> {
    let start = period.start_time.map(Millis::from_secs);
    let end = period.end_time.map(Millis::from_secs);
    let used = server.call(server.client.usage(&period.organization, start, end))?;
    if json {
        return context.terminal.json(&used);
    }
    print_one(
        context.terminal,
        &[
            ("organization", &used.organization),
            ("plan", &used.plan.level.name()),
            ("since", &used.start_time),
            ("until", &used.end_time),
            ("runner minutes", &used.runner_minutes),
            ("metrics", &used.metrics),
            ("active series", &used.active_series),
        ],
    )
}

fn invite(
    context: &Context<'_>,
    json: bool,
    server: &Connection,
    invite: &Invite,
) -> Result<(), Failure> {
    let new = NewMember {
        email: parse(&invite.email)?,
        name: None,
        role: match invite.role {
            MemberRole::Member => Role::Member,
            MemberRole::Leader => Role::Leader,
        },
    };
    let invited = server.call(server.client.invite(&invite.organization, &new))?;
    if json {
        return context.terminal.json(&invited);
    }
    context
        .terminal
        .data(&format!("{} is a {}", invited.email, new.role.name()))
}
