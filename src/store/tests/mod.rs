//! The store as a whole: its schema, plans, opening, crowds, and random histories against a plain model.

mod counts;
mod crowd;
mod expiry;
mod fixture;
mod lookalikes;
mod many;
mod opening;
mod plans;
mod prune;
mod random;
mod recover;
mod schema;
mod stats;
