//! Output that does not fit into one message: uploaded in chunks beside the channel, and read again whole or in part.

use kiln_model::Digest;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, RANGE};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::town::{Answer, BMF, Place, Town, ack};
use crate::towns::{on_both_engines, on_both_engines_anew};
use crate::ways::Ways;

on_both_engines!(
    an_uploaded_output_is_read_parsed_and_returned_whole_and_in_part,
    a_chunk_that_comes_again_changes_nothing,
    a_chunk_that_is_not_what_it_says_is_refused,
    a_chunk_that_leaves_a_gap_is_told_where_to_go_on,
    bytes_that_are_not_what_was_announced_are_dropped,
    a_result_is_not_accepted_before_what_it_names,
    nobody_uploads_for_a_job_of_another_runner,
    after_its_end_a_job_takes_no_upload,
    a_small_output_is_read_in_part_too,
);

fn digest(bytes: &[u8]) -> String {
    Digest::from_hash(&Sha256::digest(bytes))
        .unwrap()
        .to_string()
}

pub(crate) struct Upload<'a> {
    town: &'a Town,
    place: &'a Place,
    job: &'a str,
    bytes: &'a [u8],
}

impl<'a> Upload<'a> {
    pub(crate) const fn new(
        town: &'a Town,
        place: &'a Place,
        job: &'a str,
        bytes: &'a [u8],
    ) -> Self {
        Self {
            town,
            place,
            job,
            bytes,
        }
    }

    fn path(&self) -> String {
        let whole = digest(self.bytes);
        format!(
            "/v0/runners/{}/jobs/{}/output/{whole}",
            self.place.runner, self.job
        )
    }

    async fn ask(&self, method: Method, query: &str, body: &[u8]) -> Answer {
        let door = self.town.door();
        let url = format!("{}{}{query}", door.url(), self.path());
        let response = reqwest::Client::new()
            .request(method, url)
            .header(AUTHORIZATION, format!("Bearer {}", self.place.key))
            .body(body.to_vec())
            .send()
            .await
            .unwrap();
        Answer {
            status: response.status().as_u16(),
            total: None,
            body: response.json().await.unwrap_or(Value::Null),
        }
    }

    async fn put(&self, start: usize, end: usize) -> Answer {
        let chunk = &self.bytes[start..end];
        let (size, chunk_digest) = (self.bytes.len(), digest(chunk));
        let query = format!("?start={start}&size={size}&chunk={chunk_digest}");
        self.ask(Method::PUT, &query, chunk).await
    }

    async fn finish(&self) -> Answer {
        self.ask(Method::POST, "", &[]).await
    }

    pub(crate) async fn whole(&self) {
        let middle = self.bytes.len() / 2;
        assert_eq!(self.put(0, middle).await.body["received"], middle);
        let end = self.bytes.len();
        assert_eq!(self.put(middle, end).await.body["received"], end);
        assert_eq!(self.finish().await.body["complete"], true);
    }

    /// A result whose standard output is what was uploaded.
    pub(crate) fn result(&self) -> Value {
        let size = self.bytes.len();
        json!({
            "event": "completed", "job": self.job, "results": [{"exit_code": 0, "stdout": "{\"ad", "stderr": "small"}],
            "large": {"digest": digest(self.bytes), "size": size, "texts": [
                {"iteration": 0, "stream": "stdout", "start": 0, "size": size},
            ]},
        })
    }
}

async fn read(town: &Town, path: &str, range: Option<&str>) -> (u16, String) {
    let door = town.door();
    let mut request = reqwest::Client::new()
        .get(format!("{}{path}", door.url()))
        .header(AUTHORIZATION, format!("Bearer {}", town.admin));
    if let Some(range) = range {
        request = request.header(RANGE, range);
    }
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Longer than one message, and results in the format that the job asks for.
fn long_results() -> String {
    format!("{BMF}{}", " ".repeat(5 << 20))
}

async fn an_uploaded_output_is_read_parsed_and_returned_whole_and_in_part(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    let whole = long_results();
    let bytes = whole.as_bytes();
    let upload = Upload::new(town, &place, &job, bytes);
    let mut start = 0;
    while start < bytes.len() {
        let end = bytes.len().min(start + (2 << 20));
        assert_eq!(upload.put(start, end).await.body["received"], end);
        start = end;
    }
    assert_eq!(upload.finish().await.body["complete"], true);
    channel.say(upload.result()).await;
    assert_eq!(channel.hear().await, ack(&job));
    town.until(&place, &job, "process").await;
    let shown = town.job(&place, &job).await;
    assert_eq!(shown["output"]["results"][0]["stdout"], "{\"ad");
    assert_eq!(shown["output"]["large"]["size"], bytes.len());
    let path = format!("/v0/projects/{}/jobs/{job}/output/0", place.project);
    assert_eq!(
        read(town, &format!("{path}/stdout"), None).await,
        (200, whole.clone())
    );
    let part = read(town, &format!("{path}/stdout"), Some("bytes=2-6")).await;
    assert_eq!(part, (206, whole[2..7].to_owned()));
    assert_eq!(
        read(town, &format!("{path}/stdout"), Some("bytes=99999999-"))
            .await
            .0,
        416
    );
    assert_eq!(
        read(town, &format!("{path}/stderr"), None).await,
        (200, "small".to_owned())
    );
    assert_eq!(
        read(town, &format!("{path}/file?path=/x"), None).await.0,
        404
    );
}

async fn a_chunk_that_comes_again_changes_nothing(town: &Town) {
    let place = town.place().await;
    let (_channel, job) = town.running(&place).await;
    let upload = Upload::new(town, &place, &job, b"one after another");
    assert_eq!(upload.put(0, 5).await.body["received"], 5);
    assert_eq!(upload.put(0, 5).await.body["received"], 5);
    assert_eq!(upload.put(5, 17).await.body["received"], 17);
    assert_eq!(upload.put(0, 5).await.body["received"], 17);
    assert_eq!(upload.finish().await.body["complete"], true);
    assert_eq!(upload.put(5, 17).await.body["complete"], true);
    assert_eq!(upload.finish().await.body["complete"], true);
    assert_eq!(
        upload.ask(Method::GET, "", &[]).await.body["complete"],
        true
    );
}

async fn a_chunk_that_is_not_what_it_says_is_refused(town: &Town) {
    let place = town.place().await;
    let (_channel, job) = town.running(&place).await;
    let upload = Upload::new(town, &place, &job, b"whole");
    let query = format!("?start=0&size=5&chunk={}", digest(b"other"));
    let refused = upload.ask(Method::PUT, &query, b"whole").await;
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(
        refused.body["message"]
            .as_str()
            .unwrap()
            .contains("hashes to")
    );
    let query = format!("?start=3&size=5&chunk={}", digest(b"whole"));
    assert_eq!(upload.ask(Method::PUT, &query, b"whole").await.status, 400);
}

async fn a_chunk_that_leaves_a_gap_is_told_where_to_go_on(town: &Town) {
    let place = town.place().await;
    let (_channel, job) = town.running(&place).await;
    let upload = Upload::new(town, &place, &job, b"one after another");
    upload.put(0, 4).await;
    let refused = upload.put(9, 17).await;
    assert_eq!(refused.status, 416);
    assert!(
        refused.body["message"]
            .as_str()
            .unwrap()
            .contains("4 bytes"),
        "{refused:?}"
    );
    assert_eq!(
        upload.put(2, 9).await.status,
        416,
        "an overlap is no better"
    );
    assert_eq!(upload.finish().await.status, 416);
    assert_eq!(upload.ask(Method::GET, "", &[]).await.body["received"], 4);
}

async fn bytes_that_are_not_what_was_announced_are_dropped(town: &Town) {
    let place = town.place().await;
    let (_channel, job) = town.running(&place).await;
    let upload = Upload::new(town, &place, &job, b"announced");
    let query = format!("?start=0&size=9&chunk={}", digest(b"different"));
    assert_eq!(
        upload.ask(Method::PUT, &query, b"different").await.status,
        200
    );
    let refused = upload.finish().await;
    assert_eq!(refused.status, 409);
    assert_eq!(refused.body["error_code"], "digest_mismatch");
    assert_eq!(
        upload.put(0, 9).await.status,
        409,
        "its remains are being removed"
    );
}

async fn a_result_is_not_accepted_before_what_it_names(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    let upload = Upload::new(town, &place, &job, BMF.as_bytes());
    upload.put(0, BMF.len()).await;
    channel.say(upload.result()).await;
    let end = channel.end().await.unwrap();
    assert_eq!(end.code, CloseCode::Policy);
    assert!(end.reason.contains("upload it first"));
    assert_eq!(town.job(&place, &job).await["status"], "running");
    upload.finish().await;
    let mut channel = town.channel(&place).await;
    channel.say(upload.result()).await;
    assert_eq!(channel.hear().await, ack(&job));
    town.until(&place, &job, "process").await;
}

async fn nobody_uploads_for_a_job_of_another_runner(town: &Town) {
    let (place, other) = (town.place().await, town.place().await);
    let (_channel, job) = town.running(&place).await;
    let upload = Upload::new(town, &other, &job, b"whole");
    assert_eq!(upload.put(0, 5).await.status, 404);
    let wrong = Place {
        key: other.key.clone(),
        ..town.place().await
    };
    let upload = Upload::new(town, &wrong, &job, b"whole");
    assert_eq!(upload.put(0, 5).await.status, 401);
}

async fn after_its_end_a_job_takes_no_upload(town: &Town) {
    let place = town.place().await;
    let (_channel, job) = town.running(&place).await;
    town.cancel(&place, &job).await;
    let upload = Upload::new(town, &place, &job, b"whole");
    assert_eq!(upload.put(0, 5).await.status, 409);
}

async fn a_small_output_is_read_in_part_too(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel.say(crate::town::completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    let path = format!("/v0/projects/{}/jobs/{job}/output/0/stdout", place.project);
    assert_eq!(
        read(town, &path, Some("bytes=-3")).await,
        (206, BMF[BMF.len() - 3..].to_owned())
    );
}

async fn an_output_that_was_put_to_use_leaves_for_its_object_and_is_read_from_there(
    objects: &TempDir,
    town: &Town,
) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel.say(crate::town::completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    drop(channel);
    let project = town.get(&format!("/v0/projects/{}", place.project)).await;
    let project = crate::town::text(&project.body["uuid"]);
    let object = objects
        .path()
        .join(format!("{project}/output/v0/jobs/{job}"));
    while !object.exists() {
        assert_eq!(
            town.job(&place, &job).await["output"]["results"][0]["stdout"],
            BMF
        );
    }
    // The file appears before the row lets go; either way it is the same.
    for _ in 0..100 {
        assert_eq!(
            town.job(&place, &job).await["output"]["results"][0]["stdout"],
            BMF
        );
    }
}

async fn a_server_says_what_it_takes_and_refuses_more((): &(), town: &Town) {
    let place = town.place().await;
    let (_channel, job) = town.running(&place).await;
    let fits = Upload::new(town, &place, &job, b"8 bytes.");
    fits.whole().await;
    let more = Upload::new(town, &place, &job, b"!");
    let refused = more.put(0, 1).await;
    assert_eq!(refused.status, 413, "{refused:?}");
    assert!(
        refused.body["message"]
            .as_str()
            .unwrap()
            .contains("8 bytes beside")
    );
}

fn objects_in_a_directory() -> (TempDir, Ways) {
    let objects = tempfile::tempdir().unwrap();
    let ways = Ways {
        objects: Some(objects.path().to_str().unwrap().to_owned()),
        ..Ways::default()
    };
    (objects, ways)
}

fn eight_bytes() -> ((), Ways) {
    let ways = Ways {
        output_limit: Some(8),
        ..Ways::default()
    };
    ((), ways)
}

on_both_engines_anew!(
    objects_in_a_directory => an_output_that_was_put_to_use_leaves_for_its_object_and_is_read_from_there,
    eight_bytes => a_server_says_what_it_takes_and_refuses_more,
);
