//! People, their keys, and their organizations.

use kiln_model::Millis;
use kiln_model::v0::{
    CreatedUserKey, Invited, Member, NewKey, NewMember, NewOrganization, NewUser, Organization,
    Usage, User, UserKey,
};
use reqwest::Method;

use crate::{Client, Error, Page};

impl Client {
    pub async fn create_user(&self, user: &NewUser) -> Result<User, Error> {
        self.post(&["v0", "users"], user).await
    }

    pub async fn list_users(&self, page: Page) -> Result<Vec<User>, Error> {
        self.list(&["v0", "users"], page, &[]).await
    }

    /// A person by their UUID or slug.
    pub async fn get_user(&self, user: &str) -> Result<User, Error> {
        self.get(&["v0", "users", user]).await
    }

    /// Another key for a person. It is in this answer and never again.
    pub async fn create_user_key(&self, user: &str, key: &NewKey) -> Result<CreatedUserKey, Error> {
        self.post(&["v0", "users", user, "keys"], key).await
    }

    pub async fn list_user_keys(&self, user: &str, page: Page) -> Result<Vec<UserKey>, Error> {
        self.list(&["v0", "users", user, "keys"], page, &[]).await
    }

    pub async fn get_user_key(&self, user: &str, key: &str) -> Result<UserKey, Error> {
        self.get(&["v0", "users", user, "keys", key]).await
    }

    /// The key is dead at once.
    pub async fn revoke_user_key(&self, user: &str, key: &str) -> Result<(), Error> {
        self.delete(&["v0", "users", user, "keys", key]).await
    }

    pub async fn create_organization(&self, new: &NewOrganization) -> Result<Organization, Error> {
        self.post(&["v0", "organizations"], new).await
    }

    /// What an organization used in a time; without an end until now, without a beginning since the month began.
    pub async fn usage(
        &self,
        organization: &str,
        start: Option<Millis>,
        end: Option<Millis>,
    ) -> Result<Usage, Error> {
        let path = ["v0", "organizations", organization, "usage"];
        let times = [("start_time", start), ("end_time", end)];
        let times: Vec<(&str, i64)> = times
            .into_iter()
            .filter_map(|(name, time)| Some((name, time?.0)))
            .collect();
        let request = self.request(Method::GET, &path)?.query(&times);
        self.read(self.send(request).await?).await
    }

    pub async fn list_organizations(&self, page: Page) -> Result<Vec<Organization>, Error> {
        self.list(&["v0", "organizations"], page, &[]).await
    }

    /// An organization by its UUID or slug.
    pub async fn get_organization(&self, organization: &str) -> Result<Organization, Error> {
        self.get(&["v0", "organizations", organization]).await
    }

    pub async fn delete_organization(&self, organization: &str) -> Result<(), Error> {
        self.delete(&["v0", "organizations", organization]).await
    }

    pub async fn claim_organization(&self, organization: &str) -> Result<Organization, Error> {
        self.post_nothing(&["v0", "organizations", organization, "claim"])
            .await
    }

    pub async fn list_members(&self, organization: &str, page: Page) -> Result<Vec<Member>, Error> {
        self.list(&["v0", "organizations", organization, "members"], page, &[])
            .await
    }

    pub async fn invite(&self, organization: &str, member: &NewMember) -> Result<Invited, Error> {
        self.post(&["v0", "organizations", organization, "members"], member)
            .await
    }

    pub async fn remove_member(&self, organization: &str, user: &str) -> Result<(), Error> {
        self.delete(&["v0", "organizations", organization, "members", user])
            .await
    }
}
