//! What is wrong with a log or a command line, and what is said of it.

use super::{Format, done, file, folder, log, refused};

#[test]
fn what_is_no_request_is_counted_and_shown() {
    let folder = folder();
    let text = log(Format::Combined) + "garbage\n10.0.0.1 - - [when] \"GET / HTTP/1.1\" 200 1\n";
    let path = file(&folder, "a.log", text);
    let (_, said) = done(&[&path, "--servers", "2", "--policy", "wrr"]);
    assert!(said.contains("2 of 4002 lines are no requests"), "{said}");
    assert!(said.contains("line 4001: ") && said.contains("no valid time"), "{said}");
}

#[test]
fn mistakes_get_one_clear_answer_and_the_right_exit_code() {
    let folder = folder();
    let good = file(&folder, "a.log", log(Format::Combined));
    let empty = file(&folder, "empty.log", "");
    let noise = file(&folder, "noise.log", "nothing\nof\nthe kind\n");
    let table: [(&[&str], i32, &str); 12] = [
        (&[&empty], 1, "there is nothing in it"),
        (&[&noise], 1, "no known format fits it"),
        (&[&noise, "--format", "combined"], 1, "none of the log's 3 lines is a request"),
        (&["/no/such/file.log"], 3, "cannot read /no/such/file.log"),
        (&[&good, "--policy", "lrad"], 1, "did you mean \"lard\"?"),
        (&[&good, "--format", "combnied"], 2, "did you mean \"combined\"?"),
        (&[&good, "--servers", "16..2"], 2, "is no number of servers"),
        (&[&good, "--cache", "4"], 2, "32MiB"),
        (&[&good, "--costs", "flush"], 2, "known: asplos, apache, flash"),
        (&[&good, "--times", "log"], 1, "the log has no times"),
        (&[&good, "--set", "policy.t_high=x"], 1, "policy.t_high cannot be"),
        (&[&good, "--demand", "nil=cpu:1ms"], 2, "there is no class"),
    ];
    for (args, code, words) in table {
        let said = refused(args, b"", code);
        assert!(said.contains(words), "{args:?}: {said}");
    }
}
