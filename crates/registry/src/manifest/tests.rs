use serde_json::{Value, json};

use super::*;

const CONFIG: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
const LAYER: &str = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

fn descriptor(media_type: &str, digest: &str) -> Value {
    json!({"mediaType": media_type, "digest": digest, "size": 7})
}

fn manifest() -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": descriptor("application/vnd.oci.image.config.v1+json", CONFIG),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", LAYER)],
    })
}

fn index() -> Value {
    json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [descriptor(OCI_MANIFEST, LAYER)]})
}

fn with(mut document: Value, field: &str, value: Value) -> Value {
    document[field] = value;
    document
}

fn without(mut document: Value, field: &str) -> Value {
    document.as_object_mut().unwrap().remove(field);
    document
}

fn parse(document: &Value, content_type: Option<&str>) -> Result<Content, InvalidManifest> {
    Content::parse(document.to_string().as_bytes(), content_type)
}

fn digests(digests: &[Digest]) -> Vec<&str> {
    digests.iter().map(Digest::as_str).collect()
}

#[test]
fn a_manifest_names_its_config_and_layers() {
    let content = parse(&manifest(), Some(OCI_MANIFEST)).unwrap();
    assert_eq!(digests(&content.blobs), [CONFIG, LAYER]);
    assert!(content.children.is_empty());
}

#[test]
fn an_index_names_manifests() {
    let content = parse(&index(), Some(OCI_INDEX)).unwrap();
    assert_eq!(digests(&content.children), [LAYER]);
    assert!(content.blobs.is_empty());
}

#[test]
fn docker_formats_are_taken_under_their_own_names() {
    let docker = with(manifest(), "mediaType", json!(DOCKER_MANIFEST));
    assert_eq!(
        parse(&docker, Some(DOCKER_MANIFEST)).unwrap().media_type,
        MediaType::DockerManifest
    );
    let list = with(index(), "mediaType", json!(DOCKER_LIST));
    assert_eq!(
        parse(&list, Some(DOCKER_LIST)).unwrap().media_type,
        MediaType::DockerManifestList
    );
}

#[test]
fn the_content_type_must_be_what_the_body_says() {
    for (body, said) in [
        (manifest(), DOCKER_MANIFEST),
        (manifest(), OCI_INDEX),
        (index(), OCI_MANIFEST),
    ] {
        let error = parse(&body, Some(said)).unwrap_err();
        assert!(
            matches!(error, InvalidManifest::OtherMediaType { .. }),
            "{said}: {error}"
        );
    }
    let silent = without(manifest(), "mediaType");
    assert!(parse(&silent, Some(DOCKER_MANIFEST)).is_err());
}

#[test]
fn oci_manifests_may_leave_their_type_to_the_request() {
    assert!(parse(&without(manifest(), "mediaType"), Some(OCI_MANIFEST)).is_ok());
    assert!(parse(&without(index(), "mediaType"), Some(OCI_INDEX)).is_ok());
    assert_eq!(
        parse(&without(index(), "mediaType"), None),
        Err(InvalidManifest::Missing("mediaType"))
    );
    assert!(parse(&manifest(), None).is_ok());
    assert!(parse(&manifest(), Some(&format!("{OCI_MANIFEST}; charset=utf-8"))).is_ok());
}

#[test]
fn bytes_that_could_be_a_manifest_and_an_index_are_refused() {
    let both = with(
        manifest(),
        "manifests",
        json!([descriptor(OCI_MANIFEST, LAYER)]),
    );
    assert_eq!(
        parse(&both, Some(OCI_MANIFEST)),
        Err(InvalidManifest::Ambiguous)
    );
    let both = with(index(), "layers", json!([]));
    assert_eq!(
        parse(&both, Some(OCI_INDEX)),
        Err(InvalidManifest::Ambiguous)
    );
}

#[test]
fn other_documents_are_refused() {
    let bodies = [
        json!({}),
        json!([]),
        with(manifest(), "schemaVersion", json!(1)),
        without(manifest(), "config"),
        with(
            manifest(),
            "layers",
            json!([{"mediaType": "x", "digest": "sha256:abc"}]),
        ),
        with(manifest(), "subject", json!("text")),
        with(manifest(), "annotations", json!({"a": 1})),
    ];
    for body in bodies {
        assert!(parse(&body, Some(OCI_MANIFEST)).is_err(), "{body}");
    }
    assert!(Content::parse(b"\xff", Some(OCI_MANIFEST)).is_err());
    assert!(matches!(
        parse(&manifest(), Some("text/plain")),
        Err(InvalidManifest::MediaType(_))
    ));
}

#[test]
fn an_artifact_is_known_by_its_own_type_or_its_configs() {
    let kind = |document: Value, said| parse(&document, Some(said)).unwrap().artifact_type;
    let config = Some("application/vnd.oci.image.config.v1+json".to_owned());
    assert_eq!(kind(manifest(), OCI_MANIFEST), config);
    assert_eq!(
        kind(with(manifest(), "artifactType", json!("a/b")), OCI_MANIFEST),
        Some("a/b".to_owned())
    );
    assert_eq!(
        kind(with(manifest(), "artifactType", json!("")), OCI_MANIFEST),
        config
    );
    assert_eq!(kind(index(), OCI_INDEX), None);
}

#[test]
fn layers_that_may_not_be_stored_need_not_be_there() {
    let foreign = descriptor(
        "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
        LAYER,
    );
    let content = parse(
        &with(manifest(), "layers", json!([foreign])),
        Some(OCI_MANIFEST),
    )
    .unwrap();
    assert_eq!(digests(&content.blobs), [CONFIG]);
}

#[test]
fn no_manifest_names_more_than_the_limit() {
    let layers = |count| {
        let layer = descriptor("application/vnd.oci.image.layer.v1.tar", LAYER);
        with(manifest(), "layers", Value::Array(vec![layer; count]))
    };
    assert!(parse(&layers(MAX_DESCRIPTORS), Some(OCI_MANIFEST)).is_ok());
    assert_eq!(
        parse(&layers(MAX_DESCRIPTORS + 1), Some(OCI_MANIFEST)),
        Err(InvalidManifest::TooMany)
    );
}
