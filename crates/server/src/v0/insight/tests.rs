//! The numbers of a project over a real socket, on both engines: one list of behaviours, one server per engine.

mod alerts;
mod branches;
mod dimensions;
mod door;
mod perf;
mod plots;
mod reports;
mod specs;

/// Runs each behaviour on both engines, in projects of its own.
macro_rules! on_both_engines {
    ($($name:ident,)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::super::door::Door::sqlite().await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::super::door::Door::postgres().await).await;
            })*
        }
    };
}

pub(crate) use on_both_engines;
