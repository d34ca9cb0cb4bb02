//! Tests the outlines of drawn tables.

use std::fmt::Write;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::tests::{texts, view_of};

fn shown(text: &str) -> String {
    let view = view_of(text);
    let plan = SamplePlan::spread(view.source(), 0).unwrap();
    texts(&outline(&view, &plan).unwrap())
}

const PS: &str = "\
USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
root           1  0.4  0.0  44688 15292 ?        S<Ll 08:13   1:57 /sbin/init --addr 0.0.0.0
www-data     212  0.0  0.0      0     0 ?        S    08:13   0:00 [kthreadd]
root        1733 12.0  3.7 1515972 932312 pts/0  Rl+  15:45   9:03 rustc --crate-name a error
root       28301  0.0  0.0   7456  3100 pts/0    R+   15:50   0:00 ps aux
";

const PODS: &str = "\
NAMESPACE     NAME                       READY   STATUS             RESTARTS      AGE    NODE     NOMINATED NODE   READINESS GATES
default       web-7c5ddbdf54-abcde       1/1     Running            0             12d    node-a   <none>           <none>
default       web-7c5ddbdf54-fghij       0/1     CrashLoopBackOff   37 (5m ago)   12d    node-b   <none>           <none>
kube-system   coredns-5d78c9869d-xyz12   1/1     Running            3 (9d ago)    100d   node-a   <none>           <none>
kube-system   kube-proxy-9s8d7           1/1     Running            0             100d   node-b   <none>           <none>
";

const CONTAINERS: &str = "\
CONTAINER ID   IMAGE          COMMAND                  CREATED        STATUS                    PORTS                                   NAMES
4c01db0b339c   nginx:1.27     \"/docker-entrypoint.…\"   2 hours ago    Up 2 hours                0.0.0.0:8080->80/tcp, :::8080->80/tcp   web
d7886598dbe2   postgres:16    \"docker-entrypoint.s…\"   3 weeks ago    Up 3 weeks (healthy)      5432/tcp                                db
1f0b5d3c9a77   batch:latest   \"/bin/run --once\"        3 weeks ago    Exited (1) 3 weeks ago                                            nightly_batch
";

const PACKAGES: &str = "\
Desired=Unknown/Install/Remove/Purge/Hold
| Status=Not/Inst/Conf-files/Unpacked/halF-conf/Half-inst/trig-aWait/Trig-pend
|/ Err?=(none)/Reinst-required (Status,Err: uppercase=bad)
||/ Name           Version      Architecture Description
+++-==============-============-============-=================================
ii  adduser        3.134        all          add and remove users and groups
rc  libgpg-error0  1.46-1       amd64        GnuPG development runtime library
ii  openssl        3.0.17-1     amd64        Secure Sockets Layer toolkit
";

#[test]
fn columns_under_a_header() {
    assert_snapshot!(shown(PS), @"
    4 rows, 11 columns
    USER: text (2 distinct: 3× root, 1× www-data)
    PID: integer: 1, 212, 1733, 28301
    %CPU: number (3 distinct: 2× 0.0, 1× 0.4, 1× 12.0)
    %MEM: number (2 distinct: 3× 0.0, 1× 3.7)
    VSZ: integer: 44688, 0, 1515972, 7456
    RSS: integer: 15292, 0, 932312, 3100
    TTY: text (2 distinct: 2× ?, 2× pts/0)
    STAT: text: S<Ll, S, Rl+, R+
    START: text (3 distinct: 2× 08:13, 1× 15:45, 1× 15:50)
    TIME: text (3 distinct: 2× 0:00, 1× 1:57, 1× 9:03)
    COMMAND: text: /sbin/init --addr 0.0.0.…, [kthreadd], rustc --crate-name a err…, ps aux
    ");
    assert_snapshot!(shown(PODS), @"
    4 rows, 9 columns
    NAMESPACE: text (2 distinct: 2× default, 2× kube-system)
    NAME: text: web-7c5ddbdf54-abcde, web-7c5ddbdf54-fghij, coredns-5d78c9869d-xyz12, kube-proxy-9s8d7
    READY: text (2 distinct: 3× 1/1, 1× 0/1)
    STATUS: text (2 distinct: 3× Running, 1× CrashLoopBackOff)
    RESTARTS: text (3 distinct: 2× 0, 1× 37 (5m ago), 1× 3 (9d ago))
    AGE: text (2 distinct: 2× 12d, 2× 100d)
    NODE: text (2 distinct: 2× node-a, 2× node-b)
    NOMINATED NODE: text: always <none>
    READINESS GATES: text: always <none>
    ");
    assert_snapshot!(shown(CONTAINERS), @r#"
    3 rows, 7 columns
    CONTAINER ID: text: 4c01db0b339c, d7886598dbe2, 1f0b5d3c9a77
    IMAGE: text: nginx:1.27, postgres:16, batch:latest
    COMMAND: text: "/docker-entrypoint.…", "docker-entrypoint.s…", "/bin/run --once"
    CREATED: text (2 distinct: 2× 3 weeks ago, 1× 2 hours ago)
    STATUS: text: Up 2 hours, Up 3 weeks (healthy), Exited (1) 3 weeks ago
    PORTS: text: 0.0.0.0:8080->80/tcp, ::…, 5432/tcp; 1 empty
    NAMES: text: web, db, nightly_batch
    "#);
    assert_snapshot!(shown(PACKAGES), @"
    3 rows, 5 columns, header in line 4
    ||/: text (2 distinct: 2× ii, 1× rc)
    Name: text: adduser, libgpg-error0, openssl
    Version: text: 3.134, 1.46-1, 3.0.17-1
    Architecture: text (2 distinct: 2× amd64, 1× all)
    Description: text: add and remove users and…, GnuPG development runtim…, Secure Sockets Layer too…
    ");
    assert_snapshot!(shown("Filesystem     1K-blocks     Used Available Use% Mounted on\ndevtmpfs               4        0         4   0% /dev\ntmpfs           12342060   284120  12057940   3% /dev/shm\n/dev/vda       264212084 79187804 185024280  30% /\n"), @"
    3 rows, 6 columns
    Filesystem: text: devtmpfs, tmpfs, /dev/vda
    1K-blocks: integer: 4, 12342060, 264212084
    Used: integer: 0, 284120, 79187804
    Available: integer: 4, 12057940, 185024280
    Use%: text: 0%, 3%, 30%
    Mounted on: text: /dev, /dev/shm, /
    ");
    assert_snapshot!(shown("id   customer     état    total\n---  -----------  ------  ------\n1    customer é7  payé    1.25\n2    b            ouvert  2.5\n"), @"
    2 rows, 4 columns
    id: integer: 1, 2
    customer: text: customer é7, b
    état: text: payé, ouvert
    total: number: 1.25, 2.5
    ");
}

#[test]
fn lines_beside_the_rows() {
    let mut text = PODS.to_owned();
    for at in 0..20 {
        writeln!(text, "default       job-{at:<22} 0/1     Completed          0             1d     node-c   <none>           <none>").unwrap();
    }
    text.push_str("Unable to connect to the server: net/http: TLS handshake timeout\n");
    assert_snapshot!(shown(&text), @"
    24 rows, 9 columns
    NAMESPACE: text (2 distinct: 22× default, 2× kube-system)
    NAME: text: web-7c5ddbdf54-abcde, …
    READY: text (2 distinct: 21× 0/1, 3× 1/1)
    STATUS: text (3 distinct: 20× Completed, 3× Running, 1× CrashLoopBackOff)
    RESTARTS: text (3 distinct: 22× 0, 1× 37 (5m ago), 1× 3 (9d ago))
    AGE: text (3 distinct: 20× 1d, 2× 12d, 2× 100d)
    NODE: text (3 distinct: 20× node-c, 2× node-a, 2× node-b)
    NOMINATED NODE: text: always <none>
    READINESS GATES: text: always <none>
    1 line beside the rows
      26: Unable to connect to the server: net/http: TLS handshake timeout
    ");
    text.push_str(&"Then something else is printed, for longer than the table.\n".repeat(40));
    assert_eq!(shown(&text), "");
}

#[test]
fn cells_between_bars() {
    assert_snapshot!(shown("+----+------+\n| id | name |\n+----+------+\n|  1 | a    |\n|  2 | NULL |\n+----+------+\n2 rows in set (0.00 sec)\n\n+----------+\n| count(*) |\n+----------+\n|      300 |\n+----------+\n1 row in set (0.01 sec)\n"), @"
    2 tables
    2: table of 2 rows: id, name
      id: integer: 1, 2
      name: text: a, NULL
    10: table of 1 row: count(*)
    ");
    assert_snapshot!(shown(" state | count \n-------+-------\n open  |   100\n late  |   200\n(2 rows)\n\nERROR:  relation \"x\" does not exist\n"), @r#"
    2 rows, 2 columns
    state: text: open, late
    count: integer: 100, 200
    1 line beside the rows
      7: ERROR:  relation "x" does not exist
    "#);
    assert_snapshot!(shown("┌────┬───────┐\n│ id │ state │\n├────┼───────┤\n│ 1  │ open  │\n│ 2  │ open  │\n└────┴───────┘\n"), @"
    2 rows, 2 columns, header in line 2
    id: integer: 1, 2
    state: text: always open
    ");
    assert_snapshot!(shown("| Option | **Default** |\n|:--|--:|\n| `a\\|b` | 1 |\n| `c` | 2 |\n"), @"
    2 rows, 2 columns
    Option: text: `a|b`, `c`
    Default: integer: 1, 2
    ");
}

#[test]
fn texts_that_are_no_tables() {
    for none in [
        "The cat sat on the mat\nand it was warm there\nas mats are in May\nor so they say now\n",
        "Name:         web\nNamespace:    default\nPriority:     0\nNode:         node-a\n",
        "#define A     1\n#define BCD   2\n#define EF    3\n#define GHI   4\n",
        "let a   = 1;\nlet bc  = 2;\nlet def = 3;\n",
        "2026-11-21 10:00:00 INFO  up\n2026-11-21 10:00:01 WARN  at\n2026-11-21 10:00:02 INFO  to\n",
        "drwxr-xr-x 2 root root 4096 a\ndrwxr-xr-x 2 root root 4096 b\ndrwxr-xr-x 2 root root 4096 c\n",
        "a | b\nc | d\n",
        "--- a\n+++ b\n@@ -1 +1 @@\n-a | b\n+a | c\n",
        "----\n\n----\n",
        "",
    ] {
        assert_eq!(shown(none), "", "{none}");
    }
}

proptest! {
    /// Any drawn table is read with the original cells.
    #[test]
    fn rows_are_those_that_were_drawn(rows in proptest::collection::vec(("[a-zé]{1,9}( [a-z]{1,5})?", 0u32..5000, "[a-z/]{1,12}"), 3..30)) {
        let name = rows.iter().map(|row| row.0.chars().count()).max().unwrap().max(4);
        let mut text = format!("{:<name$}  COUNT  PATH\n", "NAME");
        for (first, count, path) in &rows {
            writeln!(text, "{first:<name$}  {count:>5}  {path}").unwrap();
        }
        let table = shown(&text);
        let header = format!("{} rows, 3 columns", rows.len());
        prop_assert!(table.starts_with(&header), "{text}\n{table}");
        let low = rows.iter().map(|row| row.1).min().unwrap().to_string();
        prop_assert!(table.contains(&low), "{text}\n{table}");
    }

    #[test]
    fn any_text_is_read(text in "(NAME|COUNT|--+|é|[|+│┼ab1 ]|\n){0,60}") {
        shown(&text);
    }
}
