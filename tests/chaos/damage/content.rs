//! A file that SQLite can read and whose content is wrong: values that the schema refuses, and indexes that contradict their
//! tables.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::population::Population;
use super::trial::Trial;
use super::{numbers, plan};
use crate::support::{Sandbox, Sql};
use crate::tools::Violations;

/// Tables with columns that are read back.
const TABLES: [&str; 7] = ["job_definitions", "jobs", "attempts", "outputs", "inputs", "workers", "queues"];

/// The values, as SQL has them.
const VALUES: [&str; 16] = [
    "-9223372036854775808",
    "-1",
    "0",
    "255",
    "2147483647",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "1e308",
    "NULL",
    "''",
    "'a.b/../c'",
    "'running'",
    "x'ff00fe'",
    "CAST(x'c328' AS TEXT)",
    "zeroblob(70000)",
];

/// Values that are tried in every run.
const SURE: [(&str, &str, &str); 8] = [
    ("jobs", "attempts", "4294967295"),
    ("jobs", "attempts_used", "4294967295"),
    ("jobs", "worker_id", "9223372036854775807"),
    ("jobs", "run_at", "'a.b/../c'"),
    ("jobs", "state", "'running'"),
    ("attempts", "signal", "2147483647"),
    ("attempts", "finished_at", "-9223372036854775808"),
    ("outputs", "stdout_head", "-1"),
];

/// Every column with every value, in all rows or in one of three.
fn all_values(sql: &Sql) -> Vec<(String, String, &'static str, bool)> {
    let mut all = Vec::new();
    for table in TABLES {
        // Generated columns, which nobody can set, are not listed.
        let columns =
            sql.all(&format!("SELECT name FROM pragma_table_info('{table}')"), |row| row.get::<_, String>(0));
        for column in columns {
            for value in VALUES {
                for everywhere in [false, true] {
                    all.push((table.to_owned(), column.clone(), value, everywhere));
                }
            }
        }
    }
    all
}

/// Puts the value there, past types, checks and triggers; these are as before afterwards.
fn put(sandbox: &Sandbox, table: &str, column: &str, value: &str, everywhere: bool) {
    let schema = |from: &str, to: &str| {
        let sql = sandbox.sql();
        sql.run(&format!(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') WHERE name = '{table}';"
        ));
    };
    // WITHOUT ROWID is a matter of the file's format, STRICT and NOT NULL are not.
    let (strict, lax) = if ["attempts", "queues"].contains(&table) {
        (") STRICT, WITHOUT ROWID", ") /*------*/ WITHOUT ROWID")
    } else {
        (") STRICT", ") /*----*/")
    };
    schema(strict, lax);
    for kind in ["TEXT", "INTEGER", "BLOB"] {
        schema(&format!("{kind} NOT NULL"), &format!("{kind} /*-NN-*/"));
    }
    let which = if everywhere { "1" } else { "abs(random()) % 3 = 0" };
    // An integer key takes nothing else: that is how the file is made.
    let statement = format!("UPDATE OR IGNORE {table} SET {column} = {value} WHERE {which}");
    let _ = sandbox.sql().try_force(&statement);
    schema("/*-NN-*/", "NOT NULL");
    schema(lax, strict);
}

#[test]
fn whatever_value_stands_in_a_column_every_verb_answers_in_words() {
    let plan = plan();
    let population = Population::get();
    let all = all_values(&population.closed().settle().sql());
    let violations = Violations::default();
    // The long form takes them one after the other, so that none is left out.
    for number in numbers(plan) {
        let mut dice = plan.dice(5_000_000 + number);
        let at = if plan.length < all.len() as u64 {
            dice.random_range(0..all.len())
        } else {
            usize::try_from(number).expect("few") % all.len()
        };
        let sure = usize::try_from(number).ok().and_then(|number| SURE.get(number));
        let (table, column, value, everywhere) = match sure {
            Some((table, column, value)) => (*table, *column, *value, true),
            None => (all[at].0.as_str(), all[at].1.as_str(), all[at].2, all[at].3),
        };
        let mut trial = Trial::new(
            &population.closed(),
            format!("value {number}: {table}.{column} = {value}, {everywhere}"),
        );
        put(trial.sandbox(), table, column, value, everywhere);
        trial.every_verb(&mut dice);
        trial.tell(&violations);
    }
    println!("{} of {} values", plan.length, all.len());
    violations.check(plan);
}

/// An index, a part of its definition, and what replaces that part while the index is built: so it is in another order, has
/// rows too many, or has none. Random damage seldom does this, and a worker walks over these indexes again and again.
const BUILT_AS: [(&str, &str, &str); 17] = [
    ("jobs_claimable", "(queue,", "(queue DESC,"),
    ("jobs_claimable", "priority DESC", "priority ASC"),
    ("jobs_claimable", "run_at,", "run_at DESC,"),
    ("jobs_claimable", "state = 'pending'", "1"),
    ("jobs_claimable", "state = 'pending'", "0"),
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
        sandbox.run("resume net").exits(0);
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
