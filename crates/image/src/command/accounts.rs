//! Users and groups of an image, read from its own `/etc/passwd` and `/etc/group`.

use super::CommandError;
use crate::limits::MAX_ACCOUNT_FILE_BYTES;
use crate::root::Root;

const PASSWD: &str = "/etc/passwd";
const GROUP: &str = "/etc/group";

/// Who a command runs as, inside the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub uid: u32,
    pub gid: u32,
    /// Further groups the user is in.
    pub groups: Vec<u32>,
    pub home: String,
}

impl Identity {
    /// Finds `user[:group]`, each a name or a number. Nobody named is root. A number needs no entry;
    /// without one its group is 0. Further groups are the user's unless a group is given.
    pub(super) fn resolve(wanted: &str, root: &Root) -> Result<Self, CommandError> {
        let (user, group) = match wanted.split_once(':') {
            Some((user, group)) => (user, Some(group).filter(|group| !group.is_empty())),
            None => (wanted, None),
        };
        let user = if user.is_empty() { "0" } else { user };
        let account = find_account(user, &read(root, PASSWD)?);
        let uid = match (&account, number(user)) {
            (Some(account), _) => account.uid,
            (None, Some(uid)) => uid,
            (None, None) => return Err(CommandError::UnknownUser(user.to_owned())),
        };
        let (gid, groups) = match (group, &account) {
            (None, None) => (0, Vec::new()),
            (None, Some(account)) => (account.gid, groups_of(account, &read(root, GROUP)?)),
            (Some(group), _) => (find_group(group, &read(root, GROUP)?)?, Vec::new()),
        };
        let home = account
            .map(|account| account.home)
            .filter(|home| home.starts_with('/'));
        Ok(Self {
            uid,
            gid,
            groups,
            home: home.unwrap_or_else(|| "/".to_owned()),
        })
    }
}

#[derive(Debug)]
struct Account {
    name: String,
    uid: u32,
    gid: u32,
    home: String,
}

/// Lines that are no UTF-8 or no entry are passed over, as the C library does.
fn read(root: &Root, path: &'static str) -> Result<String, CommandError> {
    let bytes = root
        .read_file(path.as_bytes(), MAX_ACCOUNT_FILE_BYTES)
        .map_err(|source| CommandError::Accounts { path, source })?;
    Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
}

/// By name first: a user may be called `1000`.
fn find_account(wanted: &str, passwd: &str) -> Option<Account> {
    let accounts = || passwd.lines().filter_map(account);
    accounts()
        .find(|account| account.name == wanted)
        .or_else(|| {
            let uid = number(wanted)?;
            accounts().find(|account| account.uid == uid)
        })
}

fn account(line: &str) -> Option<Account> {
    let mut fields = line.split(':');
    let name = fields.next()?;
    let _password = fields.next()?;
    let uid = number(fields.next()?)?;
    let gid = number(fields.next()?)?;
    let _comment = fields.next();
    let home = fields.next().unwrap_or_default();
    Some(Account {
        name: name.to_owned(),
        uid,
        gid,
        home: home.to_owned(),
    })
}

struct Group<'a> {
    name: &'a str,
    gid: u32,
    members: &'a str,
}

fn groups(text: &str) -> impl Iterator<Item = Group<'_>> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let _password = fields.next()?;
        let gid = number(fields.next()?)?;
        Some(Group {
            name,
            gid,
            members: fields.next().unwrap_or_default(),
        })
    })
}

fn find_group(wanted: &str, text: &str) -> Result<u32, CommandError> {
    groups(text)
        .find(|group| group.name == wanted)
        .map(|group| group.gid)
        .or_else(|| number(wanted))
        .ok_or_else(|| CommandError::UnknownGroup(wanted.to_owned()))
}

fn groups_of(account: &Account, text: &str) -> Vec<u32> {
    let mut gids: Vec<u32> = groups(text)
        .filter(|group| {
            group
                .members
                .split(',')
                .any(|member| member == account.name)
        })
        .map(|group| group.gid)
        .filter(|gid| *gid != account.gid)
        .collect();
    gids.sort_unstable();
    gids.dedup();
    gids
}

/// The largest number means "unchanged" to the kernel and is nobody's.
fn number(text: &str) -> Option<u32> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|number| *number != u32::MAX)
}
