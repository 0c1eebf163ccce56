//! Indexes that contradict their tables: in another order, with rows that are not theirs, or without any.
//!
//! The dice seldom come upon these, and they are what a worker walks over again and again.

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::population::Population;
use super::trial::Trial;
use crate::support::Sandbox;
use crate::tools::Violations;

/// An index, a part of its definition, and by what that is replaced while it is built.
const BUILT_AS: [(&str, &str, &str); 17] = [
    ("jobs_waiting", "(queue,", "(queue DESC,"),
    ("jobs_waiting", "priority DESC", "priority ASC"),
    ("jobs_waiting", "run_at,", "run_at DESC,"),
    ("jobs_waiting", "state = 'pending'", "1"),
    ("jobs_waiting", "state = 'pending'", "0"),
    ("jobs_running", "state = 'running'", "1"),
    ("jobs_running", "state = 'running'", "0"),
    ("jobs_expiring", "state = 'pending' AND expires_at IS NOT NULL", "1"),
    ("jobs_expiring", "state = 'pending' AND expires_at IS NOT NULL", "0"),
    ("jobs_expiring", "(expires_at)", "(expires_at DESC)"),
    ("jobs_dead", "state = 'dead'", "1"),
    ("jobs_dead", "state = 'dead'", "0"),
    ("jobs_unique_key", "unique_key IS NOT NULL", "0"),
    ("jobs_idempotency_key", "idempotency_key IS NOT NULL", "0"),
    ("attempts_by_time", "(finished_at,", "(finished_at DESC,"),
    ("workers_open", "ended_at IS NULL", "1"),
    ("workers_open", "ended_at IS NULL", "0"),
];

/// Builds an index by another definition than it has before and afterwards.
fn build(sandbox: &Sandbox, index: &str, from: &str, to: &str) {
    let define = |from: &str, to: &str| {
        let quoted = |text: &str| text.replace('\'', "''");
        let sql = sandbox.sql();
        let condition = format!("name = '{index}' AND instr(sql, '{}')", quoted(from));
        assert_eq!(
            sql.number(&format!("SELECT count(*) FROM sqlite_schema WHERE {condition}")),
            1,
            "{index}: {from}"
        );
        sql.run(&format!(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(sql, '{}', '{}') WHERE {condition}",
            quoted(from),
            quoted(to),
        ));
    };
    let mark = format!("/*-*/ {to}");
    define(from, &mark);
    sandbox.sql().run(&format!("REINDEX {index}"));
    define(&mark, from);
}

#[test]
fn whatever_an_index_says_every_verb_answers_in_words() {
    let violations = Violations::default();
    for (index, from, to) in BUILT_AS {
        let mut trial =
            Trial::new(&Population::get().closed(), format!("{index} built with {to:?} for {from:?}"));
        let sandbox = trial.sandbox();
        sandbox.run("resume net").ok();
        for priority in [-3, 9, 2, 2] {
            sandbox.add(&format!("good --priority {priority} --expires-in 9d"));
        }
        build(sandbox, index, from, to);
        // An entry too many in a partial index is nothing that SQLite looks for.
        let seen = sandbox.sql().text("PRAGMA integrity_check") != "ok";
        assert!(seen || to == "1", "{index} {to}");
        trial.every_verb(&mut StdRng::seed_from_u64(1));
        trial.tell(&violations);
    }
    violations.check("cargo test --test chaos damage::indexes");
}
