//! The same rights that hold at `/v0`, with the credentials that people give to skopeo.

use std::process::Command;

use kiln_client::Client;
use kiln_e2e::{ServerProcess, Town};
use kiln_image::{Layout, Recipe, Source, build};
use serde_json::{Value, json};

/// Everybody's logins, and an image to push.
struct Village {
    host: String,
    layout: String,
    leader: String,
    stranger: String,
    project: String,
}

impl Village {
    /// A leader, a stranger, and the leader's projects: one open, one closed with a key of its own.
    async fn found(town: &Town, server: &ServerProcess) -> Self {
        let admin = Desk::new(server, &town.admin_key());
        let leader = admin.person("leader").await;
        let stranger = admin.person("stranger").await;
        let desk = Desk::new(server, &leader);
        for (slug, visibility) in [("open", "public"), ("closed", "private")] {
            let new = json!({"name": slug, "slug": slug, "visibility": visibility});
            desk.post("/v0/organizations/leader/projects", &new).await;
        }
        let key = desk
            .post("/v0/projects/closed/keys", &json!({"name": "ci"}))
            .await;
        Self {
            host: server.url.strip_prefix("http://").unwrap().to_owned(),
            layout: image(town),
            leader: format!("leader@example.com:{leader}"),
            stranger: format!("stranger@example.com:{stranger}"),
            project: format!("closed:{}", key["key"].as_str().unwrap()),
        }
    }

    fn pushes(&self, login: Option<&str>, project: &str) -> bool {
        let remote = format!("docker://{}/{project}:v1", self.host);
        let login = login.map_or_else(
            || vec!["--dest-no-creds"],
            |login| vec!["--dest-creds", login],
        );
        let mut arguments = vec!["copy", "--dest-tls-verify=false"];
        arguments.extend(login);
        arguments.extend([self.layout.as_str(), &remote]);
        skopeo(&arguments)
    }

    fn pulls(&self, login: Option<&str>, project: &str) -> bool {
        let remote = format!("docker://{}/{project}:v1", self.host);
        let login = login.map_or_else(|| vec!["--no-creds"], |login| vec!["--creds", login]);
        let mut arguments = vec!["inspect", "--tls-verify=false"];
        arguments.extend(login);
        arguments.push(&remote);
        skopeo(&arguments)
    }
}

/// Asks at `/v0` as somebody.
struct Desk {
    url: String,
    key: String,
    http: reqwest::Client,
}

impl Desk {
    fn new(server: &ServerProcess, key: &str) -> Self {
        Self {
            url: server.url.clone(),
            key: key.to_owned(),
            http: reqwest::Client::new(),
        }
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let request = self.http.post(format!("{}{path}", self.url));
        let request = request.bearer_auth(&self.key).body(body.to_string());
        let answer = request.send().await.unwrap().error_for_status().unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }

    /// A new person's key.
    async fn person(&self, slug: &str) -> String {
        let new = json!({"name": slug, "slug": slug, "email": format!("{slug}@example.com")});
        self.post("/v0/users", &new).await;
        let path = format!("/v0/users/{slug}/keys");
        let made = self.post(&path, &json!({"name": "key"})).await;
        made["key"].as_str().unwrap().to_owned()
    }
}

fn image(town: &Town) -> String {
    let root = town.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("hello"), "hello").unwrap();
    let layout = Layout::create(town.path().join("layout")).unwrap();
    let tag = "v1".parse().unwrap();
    build(&Recipe::new(Source::Directory(root)), &layout, Some(&tag)).unwrap();
    format!("oci:{}:v1", town.path().join("layout").display())
}

fn skopeo(arguments: &[&str]) -> bool {
    let output = Command::new("skopeo")
        .args(arguments)
        .output()
        .expect("skopeo is not installed: run `cargo xtask setup`");
    output.status.success()
}

#[tokio::test]
async fn skopeo_opens_with_each_kind_of_login_what_it_opens_elsewhere() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let village = Village::found(&town, &server).await;
    let admin = format!("admin@localhost:{}", town.admin_key());
    let logins = [
        Some(admin.as_str()),
        Some(&village.leader),
        Some(&village.project),
        Some(&village.stranger),
        None,
    ];
    let push = |project: &str| logins.map(|login| village.pushes(login, project));
    let pull = |project: &str| logins.map(|login| village.pulls(login, project));
    assert_eq!(push("closed"), [true, true, true, false, false]);
    assert_eq!(pull("closed"), [true, true, true, false, false]);
    assert_eq!(push("open"), [true, true, false, false, false]);
    assert_eq!(pull("open"), [true; 5]);
}

#[tokio::test]
async fn skopeo_begins_a_project_for_whoever_pushes_first() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let village = Village::found(&town, &server).await;
    assert!(!village.pushes(Some(&village.project), "another"));
    assert!(village.pushes(Some(&village.stranger), "mine/image"));
    assert!(!village.pushes(Some(&village.leader), "mine/image"));
    assert!(village.pushes(None, "nobodys"));
    assert!(village.pushes(Some(&village.leader), "nobodys"));
    let key = village.stranger.split_once(':').unwrap().1;
    let client = Client::new(&server.url, Some(key)).unwrap();
    let mine = client.get_project("mine").await.unwrap();
    let nobodys = client.get_project("nobodys").await.unwrap();
    assert!(mine.claimed.is_some());
    assert!(nobodys.claimed.is_none());
}
