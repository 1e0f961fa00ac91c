//! Two servers on one PostgreSQL, one of them killed at random: nothing is lost and nothing happens twice.

use kiln_e2e::{Several, kill_servers};
use kiln_store::testing::{SeededEntropy, postgres_database};

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_lose_and_double_nothing_while_one_of_them_is_killed() {
    let several = Several {
        servers: 2,
        runners: 4,
        clients: 3,
        kills: 8,
    };
    let outcome = kill_servers(several, &postgres_database(), &SeededEntropy::new(7)).await;
    assert_eq!(outcome.wrong, Vec::<String>::new());
    assert!(outcome.jobs > 8, "{} jobs are no test", outcome.jobs);
}
