use super::*;

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, expected) in [
        (
            "Running 1s test @ http://a\n    Latency  x 1ms 1ms 80%",
            r#"line 2, column 14: expected a time like `1.23ms`, found "x""#,
        ),
        (
            "Running 1s test @ http://a\nRequests/sec: inf",
            r#"line 2, column 15: expected a finite number, found "inf""#,
        ),
        (
            "Running 1s test @ http://a\nRequests/sec: 1",
            r#"line 1, column 1: expected a line like `Running 10s test @ http://localhost/`, and `Requests/sec:` below it, found "Running 1s test @ http://a""#,
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn socket_errors_are_counted() {
    let text = "\
Running 1s test @ http://a
  Socket errors: connect 1, read 2, write 3, timeout 4
Requests/sec:      1.5k
Transfer/sec:      2.00KB";
    let results = parse(text).unwrap();
    let value = |measure| {
        results
            .get("http://a", measure)
            .unwrap()
            .value()
            .to_string()
    };
    assert_eq!(value("socket-errors"), "10");
    assert_eq!(value("throughput"), "1500");
    assert_eq!(value("bandwidth"), "2048");
}
