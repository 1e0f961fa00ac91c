//! The kernel's own conformance suite, on every kind of store.

use std::sync::Arc;

use crate::testing::{ManualClock, MemoryDatabase, NoFaults, SeededEntropy, postgres_database};
use crate::{Ledger, Store, StoreConfig};

fn open(database: &str) -> Ledger {
    let clock = Arc::new(ManualClock::default());
    let mut config = StoreConfig::new(database, clock, Arc::new(crate::SystemEntropy));
    config.objects = "memory:".into();
    Store::open(&config).unwrap().ledger
}

mod sqlite {
    fn store() -> crate::Ledger {
        super::open("sqlite::memory:")
    }

    kiln_kernel::kernel_conformance!(store);
}

mod postgres {
    fn store() -> crate::Ledger {
        super::open(&super::postgres_database())
    }

    kiln_kernel::kernel_conformance!(store);
}

mod inline {
    use super::*;

    fn store() -> Ledger {
        let database = MemoryDatabase::new().unwrap();
        let clock = Arc::new(ManualClock::default());
        Ledger::inline(&database, clock, &SeededEntropy::new(1), Arc::new(NoFaults)).unwrap()
    }

    kiln_kernel::kernel_conformance!(store);
}
