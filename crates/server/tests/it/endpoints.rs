//! The endpoints of the bench door, one request after the other: what they take, answer and refuse.

mod limits;
mod members;
mod numbers;
mod people;
mod projects;
mod recorded;
mod runners;
mod server;
mod specs;
mod town;

/// Every test on both engines and on two servers; each list of tests shares them, so each test uses names of its own.
macro_rules! on_both_engines {
    ($(fn $name:ident($town:ident: &Town) $body:block)*) => {
        $(fn $name($town: &Town) $body)*

        mod sqlite {
            use crate::endpoints::town::Town;
            $(#[test] fn $name() { super::$name(Town::sqlite()); })*
        }

        mod postgres {
            use crate::endpoints::town::Town;
            $(#[test] fn $name() { super::$name(Town::postgres()); })*
        }

        mod two_servers {
            use crate::endpoints::town::Town;
            $(#[test] fn $name() { super::$name(Town::two_servers()); })*
        }
    };
}
use on_both_engines;
