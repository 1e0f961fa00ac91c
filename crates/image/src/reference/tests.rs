use proptest::prelude::*;

use super::*;

fn check(text: &str, host: Option<&str>, repository: &str, tag: Option<&str>) {
    let reference: Reference = text.parse().unwrap();
    assert_eq!(reference.host().map(Host::as_str), host, "{text}");
    assert_eq!(reference.repository().as_str(), repository, "{text}");
    assert_eq!(reference.tag().map(Tag::as_str), tag, "{text}");
    assert_eq!(reference.to_string(), text);
}

#[test]
fn the_first_part_is_a_host_only_if_it_can_be_nothing_else() {
    check("app", None, "app", None);
    check("team/app:v1", None, "team/app", Some("v1"));
    check("localhost/app", Some("localhost"), "app", None);
    check(
        "127.0.0.1:5000/app:v1",
        Some("127.0.0.1:5000"),
        "app",
        Some("v1"),
    );
    check("[::1]:5000/app", Some("[::1]:5000"), "app", None);
    check(
        "registry.example/a/b__c/d--e:x",
        Some("registry.example"),
        "a/b__c/d--e",
        Some("x"),
    );
}

#[test]
fn a_digest_outranks_a_tag() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let reference: Reference = format!("app:v1@{digest}").parse().unwrap();
    assert_eq!(reference.version().as_str(), digest);
    assert_eq!(
        "app".parse::<Reference>().unwrap().version().as_str(),
        "latest"
    );
}

#[test]
fn what_is_no_reference_is_refused() {
    for bad in [
        "",
        "/",
        "app/",
        "/app",
        "App",
        "a//b",
        "a/../b",
        "a..b",
        "a___b",
        "-a",
        "a-",
        "a:",
        "a: b",
        "a@sha256:xyz",
        "a@",
        "host.example/",
        "host:99999/app",
        "host:0/app",
        "host:/app",
        "[::1/app",
        "[::g]/app",
        "-x.example/app",
        "http://host/app",
        "a%2fb",
        "a\u{202e}b",
        "a\0b",
    ] {
        assert!(bad.parse::<Reference>().is_err(), "{bad:?}");
    }
    assert!("a".repeat(256).parse::<Repository>().is_err());
    assert!("a".repeat(129).parse::<Tag>().is_err());
}

proptest! {
    #[test]
    fn any_text_parses_to_itself_or_not_at_all(text in "\\PC{0,80}") {
        if let Ok(reference) = text.parse::<Reference>() {
            prop_assert_eq!(reference.to_string(), text);
        }
    }

    #[test]
    fn well_formed_references_round_trip(
        host in proptest::option::of("[a-z]{1,8}\\.[a-z]{2,4}(:[1-9][0-9]{1,3})?"),
        // A dot in the first part would make it a host.
        repository in "[a-z0-9]{1,8}((_|__|-{1,3})[a-z0-9]{1,5}){0,2}(/[a-z0-9]{1,5}(\\.[a-z0-9]{1,4})?){0,3}",
        tag in proptest::option::of("[A-Za-z0-9_][A-Za-z0-9._-]{0,20}"),
        digest in proptest::option::of("sha256:[0-9a-f]{64}"),
    ) {
        let mut text = String::new();
        if let Some(host) = &host {
            text += host;
            text.push('/');
        }
        text += &repository;
        if let Some(tag) = &tag {
            text.push(':');
            text += tag;
        }
        if let Some(digest) = &digest {
            text.push('@');
            text += digest;
        }
        let reference: Reference = text.parse().unwrap();
        prop_assert_eq!(reference.to_string(), text);
        prop_assert_eq!(reference.host().map(Host::as_str), host.as_deref());
        prop_assert_eq!(reference.repository().as_str(), repository.as_str());
        prop_assert_eq!(reference.tag().map(Tag::as_str), tag.as_deref());
    }

    #[test]
    fn a_parsed_repository_is_safe_in_a_url_and_a_path(text in "[a-zA-Z0-9./_%-]{1,40}") {
        if let Ok(repository) = text.parse::<Repository>() {
            for part in repository.as_str().split('/') {
                prop_assert!(!part.is_empty() && part != "." && part != "..");
                prop_assert!(!part.contains('%'));
            }
        }
    }
}
