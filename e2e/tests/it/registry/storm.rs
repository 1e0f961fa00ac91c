//! Many pushes at once, and a server that is killed under them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kiln_e2e::{Town, kiln};
use kiln_image::{
    Client, Credentials, Image, Layout, Platform, Progress, Recipe, RegistryUrl, Source, Version,
    build,
};
use tokio::task::JoinSet;

const PUSHES: usize = 200;
const KILLS: usize = 5;

fn pack(scratch: &Path, number: usize) -> Image {
    let root = scratch.join(format!("root-{number}"));
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join("number"), number.to_string()).unwrap();
    // Every image shares this one, so pushes of the same blob race.
    std::fs::write(root.join("shared"), vec![b'x'; 10_000]).unwrap();
    let layout = Layout::create(scratch.join(format!("layout-{number}"))).unwrap();
    let recipe = Recipe {
        cmd: vec![(number % 7).to_string()],
        ..Recipe::new(Source::Directory(root))
    };
    build(&recipe, &layout, None).unwrap()
}

fn client(url: &str, key: &str) -> Client {
    let registry: RegistryUrl = url.parse().unwrap();
    let credentials = Credentials::Basic {
        user: "admin@localhost".to_owned(),
        password: key.to_owned(),
    };
    Client::new(reqwest::Client::new(), registry, credentials)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_pushes_survive_a_server_that_is_killed_again_and_again() {
    let town = Town::new();
    let mut server = town.server(0, &[]);
    let url = server.url.clone();
    let port: u16 = url.rsplit_once(':').unwrap().1.parse().unwrap();
    let key = town.admin_key();
    let images: Vec<_> = (0..PUSHES)
        .map(|number| Arc::new(pack(town.path(), number)))
        .collect();

    let mut pushes = JoinSet::new();
    for (number, image) in images.iter().cloned().enumerate() {
        let (client, repository) = (client(&url, &key), format!("storm-{}/r", number % 8));
        pushes.spawn(async move {
            let repository = repository.parse().unwrap();
            let tag = format!("v{number}").parse().unwrap();
            let tags = [tag];
            // Whoever is told that it failed tries again.
            while client
                .push(&image, &repository, &tags, &Progress::silent())
                .await
                .is_err()
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
    }
    // Each kill comes after some more pushes were acknowledged, wherever the others are at that moment.
    for _ in 0..KILLS {
        for _ in 0..PUSHES / (KILLS * 2) {
            pushes.join_next().await.unwrap().unwrap();
        }
        server.process.kill();
        server = town.server(port, &[]);
    }
    while let Some(pushed) = pushes.join_next().await {
        pushed.unwrap();
    }

    let data = town.data();
    let data = data.to_str().unwrap();
    let collected = kiln(&["registry", "gc", "--older-than", "0", "--data", data], "");
    assert_eq!(collected.code, Some(0), "{}", collected.stderr);
    let verified = kiln(&["registry", "verify", "--json", "--data", data], "");
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    let stats = kiln(&["registry", "stats", "--json", "--data", data], "");
    let stats: serde_json::Value = serde_json::from_str(&stats.stdout).unwrap();
    assert_eq!(stats["tags"], PUSHES);
    assert_eq!(
        (&stats["uploads"], &stats["spare_blobs"]),
        (&0.into(), &0.into())
    );

    let client = client(&url, &key);
    let into = Layout::create(town.path().join("pulled")).unwrap();
    for (number, image) in images.iter().enumerate() {
        let repository = format!("storm-{}/r", number % 8).parse().unwrap();
        let version = Version::Tag(format!("v{number}").parse().unwrap());
        let platform = Platform::host();
        let pulled = client
            .pull(&repository, &version, &platform, &into, &Progress::silent())
            .await
            .unwrap();
        assert_eq!(pulled.digest(), image.digest());
    }
}
