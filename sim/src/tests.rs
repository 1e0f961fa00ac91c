//! A thousand seeds, in parts so that every core has some; and the proof that a broken guard is noticed.

mod sabotage;
mod seeds;
