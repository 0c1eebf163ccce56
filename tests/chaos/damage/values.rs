//! Values that the schema refuses, and a damaged page has all the same: of the wrong type, out of every range.

use rand::RngExt;

use super::population::Population;
use super::trial::Trial;
use super::{numbers, plan};
use crate::support::{Sandbox, Sql};
use crate::tools::Violations;

/// Tables with columns that are read back.
const TABLES: [&str; 7] = ["definitions", "jobs", "attempts", "outputs", "inputs", "workers", "queues"];

/// As they stand in SQL.
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

/// Those that are tried also when the dice choose the others.
const SURE: [(&str, &str, &str); 8] = [
    ("jobs", "attempts", "4294967295"),
    ("jobs", "budget_used", "4294967295"),
    ("jobs", "worker_id", "9223372036854775807"),
    ("jobs", "run_at", "'a.b/../c'"),
    ("jobs", "state", "'running'"),
    ("attempts", "signal", "2147483647"),
    ("attempts", "finished_at", "-9223372036854775808"),
    ("outputs", "stdout_head", "-1"),
];

/// What every column may be given, and whether all rows are, or one in three.
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
    let sql = sandbox.sql();
    let triggers = sql.all("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'", |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    });
    sql.run("PRAGMA ignore_check_constraints = ON");
    for (name, _) in &triggers {
        sql.run(&format!("DROP TRIGGER {name}"));
    }
    let which = if everywhere { "1" } else { "abs(random()) % 3 = 0" };
    // An integer key takes nothing else: that is how the file is made.
    let _ = sql.try_run(&format!("UPDATE OR IGNORE {table} SET {column} = {value} WHERE {which}"));
    for (_, statement) in &triggers {
        sql.run(statement);
    }
    drop(sql);
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
