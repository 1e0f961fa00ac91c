//! What goes wrong, by the name under which the double was started.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    None,
    /// Its host cannot take snapshots.
    NoSnapshots,
    /// Snapshots are taken, but cannot be read back.
    BadSnapshots,
    /// The guest ends without a word as soon as it has orders.
    Crash,
    /// The guest is none of ours, and turns itself off.
    Halt,
    /// The first who asks for the guest is never answered, and the first after a restore hears no more than that.
    Silence,
}

impl Trouble {
    pub(super) fn of_this_program() -> Self {
        let name = std::env::args().next().unwrap_or_default();
        [
            ("no-snapshots", Self::NoSnapshots),
            ("bad-snapshots", Self::BadSnapshots),
            ("crash", Self::Crash),
            ("halt", Self::Halt),
            ("silence", Self::Silence),
        ]
        .into_iter()
        .find(|(ending, _)| name.ends_with(ending))
        .map_or(Self::None, |(_, trouble)| trouble)
    }
}
