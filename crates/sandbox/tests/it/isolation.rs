//! How far each back end keeps commands from the host.

use kiln_model::v0::Isolation;

use crate::place;

#[test]
fn a_process_of_the_host_is_not_isolated() {
    assert_eq!(place::process().isolation(), None);
}

#[test]
fn a_chamber_of_namespaces_is_less_than_a_machine() {
    assert_eq!(place::namespace().isolation(), Some(Isolation::Namespace));
}

#[test]
fn an_emulated_machine_is_a_machine() {
    assert_eq!(place::qemu().isolation(), Some(Isolation::Microvm));
}

#[test]
fn firecracker_without_its_jailer_is_a_machine_like_others() {
    assert_eq!(place::firecracker().isolation(), Some(Isolation::Microvm));
    let jailed = place::jailed_firecracker();
    assert_eq!(jailed.isolation(), Some(Isolation::Firecracker));
}
