//! The same program on PostgreSQL and S3.

use std::net::SocketAddr;

use kiln_e2e::{Town, shell_image};
use kiln_model::Status;

const BMF: &str = r#"echo '{"echo": {"latency": {"value": 1.5}}}'"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_job_runs_on_postgresql_and_s3_and_two_servers_share_them() {
    let town = Town::new();
    let bucket = town.path().join("s3").join("kiln");
    std::fs::create_dir_all(&bucket).unwrap();
    let s3 = serve_s3(&town.path().join("s3")).await;
    let database = kiln_store::testing::postgres_database();
    let objects = object_url(s3);
    let more = [
        "--database",
        database.as_str(),
        "--objects",
        objects.as_str(),
    ];
    let first = town.server(0, &more);
    shell_image(
        town.path(),
        &first.url,
        &town.admin_key(),
        "test",
        "latest",
        BMF,
    )
    .await;
    let _runner = town.runner(&first).await;

    // The job enters through the second server; the runner hangs on the first.
    let second = town.server(0, &more);
    let client = town.client(&second);
    let job = Town::submit(&client, "test:latest")
        .await
        .unwrap()
        .job
        .unwrap();
    let ended = Town::ended(&client, job).await;
    assert_eq!(ended.status, Status::Processed);
    assert!(
        ended.output.unwrap().results[0]
            .stdout
            .as_deref()
            .unwrap()
            .contains("echo")
    );
}

const ACCESS: &str = "access";
const SECRET: &str = "secretsecret";

/// Where a server finds the bucket `kiln` of an S3 server.
pub(crate) fn object_url(s3: SocketAddr) -> String {
    format!(
        "s3://kiln/objects?endpoint=http://{s3}&path_style=true&region=us-east-1&access_key_id={ACCESS}&secret_access_key={SECRET}"
    )
}

/// An S3 server on a directory.
pub(crate) async fn serve_s3(root: &std::path::Path) -> SocketAddr {
    let file_system = s3s_fs::FileSystem::new(root).unwrap();
    let mut builder = s3s::service::S3ServiceBuilder::new(file_system);
    builder.set_auth(s3s::auth::SimpleAuth::from_single(ACCESS, SECRET));
    let service = builder.build();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let service = service.clone();
            let http =
                hyper_util::server::conn::auto::Builder::new(hyper_util::rt::TokioExecutor::new());
            tokio::spawn(async move {
                let _ = http
                    .serve_connection(hyper_util::rt::TokioIo::new(socket), service)
                    .await;
            });
        }
    });
    address
}
