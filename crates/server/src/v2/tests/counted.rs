//! What operators see of it.

use super::client::Door;
use crate::metrics::prometheus;

#[tokio::test]
async fn what_is_pushed_and_pulled_is_counted_once_it_is_done() {
    let door = Door::open().await;
    let manifest = door.push_image("p", "v1").await;
    door.call("POST", "/v2/p/blobs/uploads/", &[], b"").await;
    for path in ["manifests/v1", "tags/list", "tags/list", "manifests/none"] {
        door.get(&format!("/v2/p/{path}")).await;
    }
    let head = format!("/v2/p/manifests/{manifest}");
    door.call("HEAD", &head, &[], b"").await;
    let text = prometheus::render(&door.app.metrics.read(0));
    for line in [
        "project_create_total 1\n",
        "oci_blob_push_total 2\n",
        "oci_manifest_push_total 1\n",
        "oci_manifest_pull_total 1\n",
        "oci_tags_list_total 2\n",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("oci_blob_pull"), "{text}");
}
