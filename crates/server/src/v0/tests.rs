//! The bench door's people and projects over real sockets, each test on both engines.

mod members;
mod numbers;
mod people;
mod projects;
mod recorded;
mod runners;
mod server;
mod specs;
mod town;

/// Every test twice: one server per engine for the whole list, so each test uses names of its own.
macro_rules! on_both_engines {
    ($(fn $name:ident($town:ident: &Town) $body:block)*) => {
        $(fn $name($town: &Town) $body)*

        mod sqlite {
            use crate::v0::tests::town::Town;
            $(#[test] fn $name() { super::$name(Town::sqlite()); })*
        }

        mod postgres {
            use crate::v0::tests::town::Town;
            $(#[test] fn $name() { super::$name(Town::postgres()); })*
        }
    };
}
use on_both_engines;
