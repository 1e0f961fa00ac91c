use kiln_model::v0::{NewProject, Permission, Visibility};
use kiln_model::{Millis, OrganizationUuid, ProjectUuid, UserUuid};
use kiln_store::Tx;
use kiln_store::sql::account::{self, Account};
use kiln_store::sql::{member, project_key};
use kiln_store::testing::SeededEntropy;

use super::*;
use crate::people::{self, NewAccount, NewKeyParts};
use crate::projects;
use crate::testing::World;
use crate::{NewSlug, access};

/// One organization with a private and a public project, an unclaimed one, and everybody who may ask.
struct Town {
    world: World,
    admin: Caller,
    leader: Caller,
    member: Caller,
    stranger: Caller,
    key: Caller,
}

const EVERYTHING: [Permission; 9] = [
    Permission::View,
    Permission::Create,
    Permission::Edit,
    Permission::Delete,
    Permission::Manage,
    Permission::ViewRole,
    Permission::CreateRole,
    Permission::EditRole,
    Permission::DeleteRole,
];

fn person(tx: &mut dyn Tx, seed: u64, name: &str, admin: bool) -> Result<Account, Denied> {
    let entropy = SeededEntropy::new(seed);
    let uuid = UserUuid::mint(Millis(1), &entropy);
    let email = format!("{name}@example.com").parse().unwrap();
    Ok(account::insert(
        tx,
        uuid,
        &name.parse().unwrap(),
        &name.parse().unwrap(),
        &email,
        admin,
    )?)
}

fn slug(suffix: &str) -> NewSlug {
    NewSlug {
        asked: None,
        suffix: suffix.to_owned(),
    }
}

impl Town {
    fn new() -> Self {
        let world = World::new();
        let callers = world.write(|tx| {
            let admin = Caller::Account(person(tx, 1, "admin", true)?);
            let leader = Caller::Account(person(tx, 2, "leader", false)?);
            let plain = person(tx, 3, "member", false)?;
            let stranger = Caller::Account(person(tx, 4, "stranger", false)?);
            let entropy = SeededEntropy::new(5);
            let organization = people::create_organization(
                tx,
                &leader,
                &kiln_model::v0::NewOrganization {
                    name: "Ours".parse().unwrap(),
                    slug: None,
                },
                OrganizationUuid::mint(Millis(1), &entropy),
                &slug("x"),
            )?;
            member::put(tx, organization.id, plain.id, Role::Member)?;
            for (name, visibility) in [
                ("open", Visibility::Public),
                ("closed", Visibility::Private),
            ] {
                let new = NewProject {
                    name: name.parse().unwrap(),
                    slug: None,
                    url: None,
                    visibility: Some(visibility),
                };
                let uuid = ProjectUuid::mint(Millis(1), &entropy);
                projects::create_project(tx, &leader, "ours", &new, uuid, &slug("y"))?;
            }
            let ids = projects::OnTheFly {
                project: ProjectUuid::mint(Millis(1), &entropy),
                organization: OrganizationUuid::mint(Millis(1), &entropy),
            };
            projects::create_on_the_fly(tx, &"nobodys".parse().unwrap(), ids, None)?;
            let parts = NewKeyParts {
                uuid: kiln_model::KeyUuid::mint(Millis(1), &entropy),
                hash: "hash".to_owned(),
            };
            let new = kiln_model::v0::NewKey {
                name: "ci".parse().unwrap(),
                ttl: Some(60),
            };
            projects::create_project_key(tx, &leader, "closed", &new, &parts)?;
            let wall = tx.wall();
            let key = project_key::find_by_hash(tx, "hash", wall)?.unwrap();
            Ok((
                admin,
                leader,
                Caller::Account(plain),
                stranger,
                Caller::ProjectKey(key),
            ))
        });
        let (admin, leader, member, stranger, key) = callers;
        Self {
            world,
            admin,
            leader,
            member,
            stranger,
            key,
        }
    }

    /// What the caller may do in the project, and what everything else is answered with.
    fn check(&self, caller: &Caller, project: &'static str, may: &[Permission], else_: &str) {
        for permission in EVERYTHING {
            let caller = caller.clone();
            let answer = self
                .world
                .try_write(move |tx| access::project(tx, &caller, project, permission));
            match answer {
                Ok(_) => assert!(may.contains(&permission), "{project}: {permission:?}"),
                Err(denied) => {
                    assert!(!may.contains(&permission), "{project}: {permission:?}");
                    assert_eq!(denied.to_string(), else_, "{project}: {permission:?}");
                }
            }
        }
    }
}

const HIDDEN: &str = "there is no such project";
const NO_KEY: &str = "a valid key is needed";
const NOT_YOURS: &str = "these credentials do not allow it";

#[test]
fn administrators_and_leaders_may_do_everything() {
    let town = Town::new();
    for caller in [&town.admin, &town.leader] {
        town.check(caller, "open", &EVERYTHING, "");
        town.check(caller, "closed", &EVERYTHING, "");
    }
}

#[test]
fn members_see_submit_and_edit() {
    let town = Town::new();
    let may = [
        Permission::View,
        Permission::Create,
        Permission::Edit,
        Permission::ViewRole,
    ];
    town.check(&town.member, "open", &may, NOT_YOURS);
    town.check(&town.member, "closed", &may, NOT_YOURS);
}

#[test]
fn strangers_see_what_is_public_and_nothing_of_the_rest() {
    let town = Town::new();
    town.check(&town.stranger, "open", &[Permission::View], NOT_YOURS);
    town.check(&town.stranger, "closed", &[], HIDDEN);
    town.check(&Caller::Anonymous, "open", &[Permission::View], NO_KEY);
    town.check(&Caller::Anonymous, "closed", &[], HIDDEN);
}

#[test]
fn a_projects_key_works_in_its_project_and_is_a_stranger_elsewhere() {
    let town = Town::new();
    let may = [Permission::View, Permission::Create, Permission::Edit];
    town.check(&town.key, "closed", &may, NOT_YOURS);
    town.check(&town.key, "open", &[Permission::View], NOT_YOURS);
    town.check(&town.key, "nobodys", &[Permission::View], NOT_YOURS);
}

#[test]
fn anybody_submits_to_a_project_that_nobody_claimed() {
    let town = Town::new();
    let may = [Permission::View, Permission::Create];
    town.check(&Caller::Anonymous, "nobodys", &may, NO_KEY);
    town.check(&town.stranger, "nobodys", &may, NOT_YOURS);
}

#[test]
fn a_claimed_organization_has_a_leader_and_is_claimed_once() {
    let town = Town::new();
    let (stranger, member) = (town.stranger.clone(), town.member.clone());
    let (first, second) = (stranger.clone(), stranger);
    let claimed = town
        .world
        .write(move |tx| people::claim_organization(tx, &first, "nobodys"));
    assert!(claimed.claimed.is_some());
    town.check(&second, "nobodys", &EVERYTHING, "");
    let again = town
        .world
        .try_write(move |tx| people::claim_organization(tx, &second, "nobodys"));
    assert!(matches!(again, Err(Denied::Conflict(_))), "{again:?}");
    let other = town
        .world
        .try_write(move |tx| people::claim_organization(tx, &member, "nobodys"));
    assert!(matches!(other, Err(Denied::NotFound(_))), "{other:?}");
}

#[test]
fn the_last_leader_stays() {
    let town = Town::new();
    let leader = town.leader.clone();
    let gone = town
        .world
        .try_write(move |tx| people::remove_member(tx, &leader, "ours", "leader"));
    assert!(matches!(gone, Err(Denied::Conflict(_))), "{gone:?}");
}

#[test]
fn every_administrative_change_is_in_the_audit_log() {
    let town = Town::new();
    let leader = town.leader.clone();
    let actor = leader.actor();
    town.world
        .write(move |tx| projects::delete_project(tx, &leader, "open"));
    let (entries, total) = town
        .world
        .write(|tx| Ok(kiln_store::sql::audit::list(tx, None, 10, 0)?));
    assert_eq!(total, u64::try_from(entries.len()).unwrap());
    assert_eq!(entries[0].action, "project.delete");
    assert_eq!(entries[0].actor, actor);
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert!(actions.contains(&"project.key.create"), "{actions:?}");
}

#[test]
fn deleting_a_project_cancels_its_live_jobs_first() {
    let town = Town::new();
    let leader = town.leader.clone();
    let project = town
        .world
        .write(|tx| Ok(project::find_by_ref(tx, "open")?.unwrap()));
    let mut ask = town.world.ask(kiln_model::Kind::Bench);
    ask.project = Some(project.id);
    let job = town.world.submit(ask);
    town.world
        .write(move |tx| projects::delete_project(tx, &leader, "open"));
    assert_eq!(town.world.status(job), kiln_model::Status::Canceled);
}

#[test]
fn a_project_on_the_fly_begins_in_the_first_organization_its_owner_led() {
    let town = Town::new();
    let Caller::Account(leader) = town.leader.clone() else {
        unreachable!("the leader is a person");
    };
    let (entropy, caller) = (SeededEntropy::new(11), town.leader.clone());
    let ids = projects::OnTheFly {
        project: ProjectUuid::mint(Millis(1), &entropy),
        organization: OrganizationUuid::mint(Millis(1), &entropy),
    };
    let made = town.world.write(move |tx| {
        projects::create_on_the_fly(tx, &"begun".parse().unwrap(), ids, Some(leader.id))
    });
    let ours = town
        .world
        .write(move |tx| organization(tx, &caller, "ours", Permission::View));
    assert_eq!(made.organization, ours.uuid);
}

#[test]
fn a_slug_that_nobody_has_becomes_the_callers_and_a_uuid_does_not() {
    let town = Town::new();
    let entropy = SeededEntropy::new(12);
    let ids = projects::OnTheFly {
        project: ProjectUuid::mint(Millis(1), &entropy),
        organization: OrganizationUuid::mint(Millis(1), &entropy),
    };
    let begin = |caller: &Caller, reference: &str| {
        let (caller, reference) = (caller.clone(), reference.to_owned());
        town.world
            .try_write(move |tx| projects::find_or_create(tx, &caller, &reference, ids))
    };
    for (caller, reference) in [
        (&town.stranger, "4a4a4a4a-0000-4000-8000-000000000000"),
        (&town.stranger, "Not A Slug"),
        (&town.stranger, "closed"),
        (&town.key, "begun"),
    ] {
        let refused = begin(caller, reference);
        assert!(matches!(refused, Err(Denied::NotFound(_))), "{reference}");
    }
    assert!(matches!(
        begin(&town.stranger, "open"),
        Err(Denied::Forbidden)
    ));
    let made = begin(&town.stranger, "begun").unwrap();
    town.check(&town.stranger, "begun", &EVERYTHING, "");
    assert_eq!(begin(&town.stranger, "begun").unwrap().id, made.id);
    assert!(matches!(
        begin(&town.member, "begun"),
        Err(Denied::Forbidden)
    ));
}

#[test]
fn a_refused_change_leaves_no_trace() {
    let town = Town::new();
    let stranger = town.stranger.clone();
    let before = town
        .world
        .write(|tx| Ok(kiln_store::sql::audit::list(tx, None, 10, 0)?.1));
    let refused = town
        .world
        .try_write(move |tx| projects::delete_project(tx, &stranger, "closed"));
    assert!(refused.is_err());
    let after = town
        .world
        .write(|tx| Ok(kiln_store::sql::audit::list(tx, None, 10, 0)?.1));
    assert_eq!(before, after);
}

#[test]
fn people_begin_with_an_organization_of_their_own() {
    let town = Town::new();
    let admin = town.admin.clone();
    let entropy = SeededEntropy::new(9);
    let ids = NewAccount {
        uuid: UserUuid::mint(Millis(1), &entropy),
        organization: OrganizationUuid::mint(Millis(1), &entropy),
        slug: slug("z"),
    };
    let new = kiln_model::v0::NewUser {
        name: "New Person".parse().unwrap(),
        slug: None,
        email: "new@example.com".parse().unwrap(),
        admin: false,
    };
    let made = town
        .world
        .write(move |tx| people::create_account(tx, &admin, &new, &ids));
    let caller = Caller::Account(made);
    let home = town
        .world
        .write(move |tx| organization(tx, &caller, "new-person", Permission::Manage));
    assert!(home.claimed.is_some());
}
