//! Anyone can read a record.

use kiln_e2e::{Town, kiln};

const MINIMAL: &str = "4c4d5347000000003d00000000000000050000000000000005000000000000006300000000000000000000000000000001000000ffffffff000000006d";
const FULL: &str = "4c4d5347000000004a000000013900004d000000000000000b0000000000000040e20100000000002a000000000000000500000005000000040000006d73672d317472616365deadbeef";
const OUTBOX: &str = "4c494e54000000005c000000000000000000000000000000400000004c4d5347000000004000000000000000070000000000000007000000000000007b00000000000000000000000000000002000000ffffffff020000006d316f6b";

#[test]
fn golden_frames_decode_and_encode_back() {
    for golden in [MINIMAL, FULL, OUTBOX] {
        let decoded = kiln(&["kernel", "frame", "decode", golden], "");
        assert_eq!(decoded.code, Some(0), "{}", decoded.stderr);
        let encoded = kiln(&["kernel", "frame", "encode"], &decoded.stdout);
        assert_eq!(encoded.stdout.trim(), golden, "{}", decoded.stdout);
    }
}

#[test]
fn bad_bytes_name_their_error_and_exit_with_one() {
    let cut = &MINIMAL[..MINIMAL.len() - 2];
    let version = MINIMAL.replacen("4c4d534700000000", "4c4d534700000100", 1);
    for (bytes, name) in [
        (cut, "ETRUNC"),
        (version.as_str(), "EVERSION"),
        ("6e6f7065", "ETRUNC"),
    ] {
        let exited = kiln(&["kernel", "frame", "decode", bytes], "");
        assert_eq!(exited.code, Some(1));
        assert!(exited.stderr.contains(name), "{}", exited.stderr);
    }
    assert_eq!(
        kiln(&["kernel", "frame", "decode", "xyz"], "").code,
        Some(2)
    );
}

#[test]
fn keys_and_values_of_every_database_are_read() {
    let check = |dbi: &str, key: &str, value: &str, says: &str| {
        let exited = kiln(
            &[
                "kernel", "key", "decode", key, "--dbi", dbi, "--value", value,
            ],
            "",
        );
        assert_eq!(exited.code, Some(0), "{dbi}: {}", exited.stderr);
        assert!(exited.stdout.contains(says), "{dbi}: {}", exited.stdout);
    };
    check(
        "app_state",
        "72756e6e65722e736368656d612e76657273696f6e",
        "5253563001000200",
        "\"minor\": 2",
    );
    check(
        "inbox",
        "00000000000000070000000000000063",
        MINIMAL,
        "\"seq\": 99",
    );
    check("outbox", "0000000000000064", MINIMAL, "\"seq\": 100");
    check(
        "leases",
        "00000000000000070000000000000063",
        "4c5345300700000000000000d20400000000000004000000",
        "\"deadline\": 1234",
    );
    check(
        "timers",
        "0000018bcfe5687b0000000000000005",
        MINIMAL,
        "1700000000123",
    );
    check("dedupe", "72657472793a6d31", "01000000", "\"failures\": 1");
    check(
        "dead_letter",
        "00000000000000070000000000000063",
        "444c5130fbffffff00000000040000006e6f7065",
        "\"failure\": -5",
    );
}

#[test]
fn a_server_tells_its_operator_what_the_kernel_holds() {
    let town = Town::new();
    let _server = town.server(0, &[]);
    let data = town.data();
    let exited = kiln(
        &[
            "kernel",
            "stats",
            "--json",
            "--data",
            data.to_str().unwrap(),
        ],
        "",
    );
    assert_eq!(exited.code, Some(0), "{}", exited.stderr);
    let stats: serde_json::Value = serde_json::from_str(&exited.stdout).unwrap();
    assert_eq!(stats["dead_letters"], 0);
    let missing = kiln(
        &[
            "kernel",
            "dead-letters",
            "show",
            "1:7",
            "--data",
            data.to_str().unwrap(),
        ],
        "",
    );
    assert_eq!(missing.code, Some(22), "{}", missing.stderr);
}
