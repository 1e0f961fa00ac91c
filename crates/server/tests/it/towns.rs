//! On what tests run: a server on either engine, or two servers one of which is killed now and then.

use std::sync::{Arc, OnceLock};

use kiln_store::testing::postgres_database;

use crate::pair::Pair;
use crate::town::Town;
use crate::ways::Ways;

/// Runs each of the named tests on both engines and on two servers; on stock ones, or of the ways of other towns.
macro_rules! on_both_engines {
    ($($name:ident),* $(,)?) => {
        $crate::towns::on_both_engines!(of $crate::towns::STOCK; $($name),*);
    };
    (of $towns:path; $($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                Box::pin($towns.on($crate::towns::Engine::Sqlite, super::$name)).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                Box::pin($towns.on($crate::towns::Engine::Postgres, super::$name)).await;
            })*
        }
        mod two_servers {
            $(#[tokio::test]
            async fn $name() {
                Box::pin($towns.on($crate::towns::Engine::TwoServers, super::$name)).await;
            })*
        }
    };
}
pub(crate) use on_both_engines;

/// Runs each test on both engines and on two servers, of its own, for which something is prepared.
macro_rules! on_both_engines_anew {
    ($($prepare:expr => $name:ident),* $(,)?) => {
        $(mod $name {
            use super::*;

            #[tokio::test]
            async fn on_sqlite() {
                Box::pin($crate::towns::anew($crate::towns::Engine::Sqlite, $prepare, super::$name)).await;
            }

            #[tokio::test]
            async fn on_postgresql() {
                Box::pin($crate::towns::anew($crate::towns::Engine::Postgres, $prepare, super::$name)).await;
            }

            #[tokio::test]
            async fn on_two_servers() {
                Box::pin($crate::towns::anew($crate::towns::Engine::TwoServers, $prepare, super::$name)).await;
            }
        })*
    };
}
pub(crate) use on_both_engines_anew;

/// A test that is interrupted more often than this has no chance.
const MAX_ATTEMPTS: usize = 50;
pub(crate) const MEMORY: &str = "sqlite::memory:";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
    TwoServers,
}

/// Servers of the same ways, which many tests share.
pub(crate) struct Towns {
    ways: fn() -> Ways,
    sqlite: OnceLock<Town>,
    postgres: OnceLock<Town>,
    pair: OnceLock<Arc<Pair>>,
}

/// As everybody has them.
pub(crate) static STOCK: Towns = Towns::of(Ways::default);

impl Towns {
    pub(crate) const fn of(ways: fn() -> Ways) -> Self {
        Self {
            ways,
            sqlite: OnceLock::new(),
            postgres: OnceLock::new(),
            pair: OnceLock::new(),
        }
    }

    pub(crate) async fn on(&'static self, engine: Engine, test: impl AsyncFn(&Town)) {
        let ways = self.ways;
        match engine {
            Engine::Sqlite => {
                let town = self.sqlite.get_or_init(|| Town::start(MEMORY, ways()));
                test(town).await;
            }
            Engine::Postgres => {
                let start = || Town::start(&postgres_database(), ways());
                test(self.postgres.get_or_init(start)).await;
            }
            Engine::TwoServers => {
                let start = move || self.pair.get_or_init(|| Pair::start(ways()));
                let pair = tokio::task::spawn_blocking(start).await.unwrap();
                for _ in 0..MAX_ATTEMPTS {
                    if pair.attempt(&test).await.is_ok() {
                        return;
                    }
                }
                panic!("interrupted {MAX_ATTEMPTS} times");
            }
        }
    }
}

/// Runs a test on servers of its own, which know something that was prepared for it.
pub(crate) async fn anew<T>(
    engine: Engine,
    prepare: impl Fn() -> (T, Ways),
    test: impl AsyncFn(&T, &Town),
) {
    for _ in 0..MAX_ATTEMPTS {
        let (prepared, ways) = prepare();
        let town = match engine {
            Engine::Sqlite => Town::start(MEMORY, ways),
            Engine::Postgres => Town::start(&postgres_database(), ways),
            Engine::TwoServers => {
                let start = move || Pair::start(ways);
                let pair = tokio::task::spawn_blocking(start).await.unwrap();
                let test = async |town: &Town| test(&prepared, town).await;
                if pair.attempt(&test).await.is_ok() {
                    return;
                }
                continue;
            }
        };
        return test(&prepared, &town).await;
    }
    panic!("interrupted {MAX_ATTEMPTS} times");
}
