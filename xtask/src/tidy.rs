//! Rules that no compiler checks. Each is a function from texts to offences, a test of that function, and a test that applies it to
//! this checkout.

mod arrows;
mod deny;
mod length;
mod licences;
mod links;
mod manifests;
mod purity;
mod tree;
mod words;

/// Fails with every offence at once, and with the rule they break.
fn assert_none(rule: &str, offences: &[String]) {
    assert!(offences.is_empty(), "{rule}\n  {}\n", offences.join("\n  "));
}
