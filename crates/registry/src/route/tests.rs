use proptest::prelude::*;

use super::*;

const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn check(path: &str, name: &str, target: &Target) {
    let route = Route::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(
        (route.name.as_str(), &route.target),
        (name, target),
        "{path}"
    );
}

fn refuse(path: &str, expected: &Misroute) {
    assert_eq!(Route::parse(path).as_ref(), Err(expected), "{path}");
}

fn digest() -> Digest {
    format!("sha256:{HEX}").parse().unwrap()
}

fn tag(text: &str) -> Target {
    Target::Manifest(Reference::Tag(text.parse().unwrap()))
}

#[test]
fn every_endpoint_is_found_behind_a_name_of_any_depth() {
    for name in ["p", "p/a", "p/a/b/c"] {
        check(
            &format!("{name}/blobs/sha256:{HEX}"),
            name,
            &Target::Blob(digest()),
        );
        check(&format!("{name}/blobs/uploads/"), name, &Target::Uploads);
        check(&format!("{name}/blobs/uploads"), name, &Target::Uploads);
        check(&format!("{name}/manifests/v1"), name, &tag("v1"));
        check(
            &format!("{name}/manifests/sha256:{HEX}"),
            name,
            &Target::Manifest(Reference::Digest(digest())),
        );
        check(&format!("{name}/tags/list"), name, &Target::Tags);
        check(
            &format!("{name}/referrers/sha256:{HEX}"),
            name,
            &Target::Referrers(digest()),
        );
    }
}

#[test]
fn names_may_contain_the_words_of_the_endpoints() {
    check("p/manifests/manifests/v1", "p/manifests", &tag("v1"));
    check(
        "p/blobs/uploads/manifests/v1",
        "p/blobs/uploads",
        &tag("v1"),
    );
    check("blobs/uploads/tags/list", "blobs/uploads", &Target::Tags);
    check("p/tags/tags/list", "p/tags", &Target::Tags);
}

#[test]
fn an_encoded_colon_is_a_colon_and_an_encoded_slash_is_no_separator() {
    check(
        &format!("p/blobs/sha256%3A{HEX}"),
        "p",
        &Target::Blob(digest()),
    );
    refuse("p%2fa/tags/list", &Misroute::Name(crate::InvalidName));
    refuse(
        "p/..%2f..%2fetc/tags/list",
        &Misroute::Name(crate::InvalidName),
    );
    refuse("p/manifests/a%2Fb", &Misroute::Tag(crate::InvalidTag));
    refuse("p%2/tags/list", &Misroute::Name(crate::InvalidName));
    refuse("p%+1/tags/list", &Misroute::Name(crate::InvalidName));
    refuse("p%ff/tags/list", &Misroute::Name(crate::InvalidName));
}

#[test]
fn tricks_in_names_are_refused() {
    let long = "a".repeat(256);
    for name in [
        "",
        "..",
        "p/..",
        "../p",
        "p//a",
        "/p",
        "p/",
        "P",
        "p/.",
        long.as_str(),
    ] {
        refuse(
            &format!("{name}/tags/list"),
            &Misroute::Name(crate::InvalidName),
        );
    }
    refuse("tags/list", &Misroute::Name(crate::InvalidName));
}

#[test]
fn bad_digests_tags_and_uploads_are_told_apart() {
    for digest in [
        "sha256:abc",
        "sha256:../../../etc/passwd",
        "md5:abc",
        "latest",
        "",
    ] {
        if !digest.contains('/') {
            refuse(&format!("p/blobs/{digest}"), &Misroute::Digest);
            refuse(&format!("p/referrers/{digest}"), &Misroute::Digest);
        }
    }
    refuse("p/manifests/sha256:abc", &Misroute::Digest);
    refuse("p/manifests/.INVALID", &Misroute::Tag(crate::InvalidTag));
    refuse("p/manifests/", &Misroute::Tag(crate::InvalidTag));
    refuse("p/blobs/uploads/nope", &Misroute::Upload);
    refuse(
        "p/blobs/uploads/00000000-0000-4000-8000-00000000000A",
        &Misroute::Upload,
    );
}

#[test]
fn other_paths_lead_nowhere() {
    for path in [
        "",
        "p",
        "p/a/b",
        "_catalog",
        "p/tags",
        "p/tags/list/",
        "p/tags/other",
    ] {
        refuse(path, &Misroute::Nothing);
    }
}

fn names() -> impl Strategy<Value = String> {
    let component = "[a-z0-9]{1,8}((\\.|_|__|-{1,3})[a-z0-9]{1,8}){0,2}";
    let word = prop::sample::select(vec![
        "blobs",
        "uploads",
        "manifests",
        "tags",
        "list",
        "referrers",
    ]);
    let part = prop_oneof![4 => component.prop_map(|text| text), 1 => word.prop_map(str::to_owned)];
    prop::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"))
}

fn targets() -> impl Strategy<Value = Target> {
    let digest = prop_oneof![
        prop::array::uniform32(any::<u8>()).prop_map(|hash| hash.to_vec()),
        prop::collection::vec(any::<u8>(), 64)
    ]
    .prop_map(|hash| Digest::from_hash(&hash).unwrap());
    prop_oneof![
        digest.clone().prop_map(Target::Blob),
        Just(Target::Uploads),
        prop::array::uniform16(any::<u8>()).prop_map(|bytes| Target::Upload(
            uuid::Builder::from_random_bytes(bytes)
                .into_uuid()
                .to_string()
                .parse()
                .unwrap()
        )),
        "[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}".prop_map(|text| tag(&text)),
        digest
            .clone()
            .prop_map(|digest| Target::Manifest(Reference::Digest(digest))),
        Just(Target::Tags),
        digest.prop_map(Target::Referrers),
    ]
}

/// Paths that are nearly right, which random text never is.
fn near_misses() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z0-9._-]{0,6}",
        "\\PC{0,4}",
        prop::sample::select(vec![
            "blobs",
            "uploads",
            "manifests",
            "tags",
            "list",
            "referrers",
            "..",
            "%2f",
            "%2e%2e",
            "%00",
            "",
            "sha256:"
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.join("/"))
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(name in names(), target in targets()) {
        let route = Route { name: name.parse().unwrap(), target };
        prop_assert_eq!(Route::parse(&route.to_string()), Ok(route));
    }

    #[test]
    fn whatever_is_accepted_is_safe_to_use_as_a_path(path in near_misses()) {
        if let Ok(route) = Route::parse(&path) {
            let text = route.to_string();
            prop_assert!(text.split('/').all(|part| part != ".." && part != "."));
            prop_assert!(!text.contains("//") && !text.starts_with('/') && !text.contains(['%', '\0', '\\']));
            prop_assert!(route.name.as_str().len() <= 255);
            prop_assert!(!route.name.project().is_empty() && !route.name.project().contains('/'));
        }
    }

    #[test]
    fn no_input_is_too_strange(path in any::<String>()) {
        // Answering at all is the point: no panic, whatever arrives.
        let _ = Route::parse(&path);
    }
}
