//! Databases of earlier versions, and the program of a later one.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Call, Sandbox, Sql};

/// The program under test.
const RUNNER: &str = env!("CARGO_BIN_EXE_runner");

/// The database of each version, as SQL.
pub const VERSIONS: [(&str, &str); 3] = [
    ("1.0", include_str!("../versions/1.0.sql")),
    ("1.1", include_str!("../versions/1.1.sql")),
    ("1.2", include_str!("../versions/1.2.sql")),
];

/// The version of the schema that the program under test knows, and the one that [`next_version`] knows.
pub const TODAY: &str = "1.2";
pub const NEXT: &str = "1.3";
pub const NEXT_NUMBER: i64 = 1_003;

/// Builds an example of this package, because `cargo test --test` does not.
pub fn example(name: &str) -> PathBuf {
    let target = Path::new(RUNNER).parent().expect("the program lies in a folder");
    let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--locked", "--quiet", "--example", name, "--target-dir"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    build.arg(target.parent().expect("the target folder")).current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(build.status().is_ok_and(|status| status.success()), "cargo build --example {name} failed");
    target.join("examples").join(name)
}

/// The program of the next version of the schema.
pub fn next_version() -> &'static Path {
    static PROGRAM: std::sync::LazyLock<PathBuf> = std::sync::LazyLock::new(|| example("next_version"));
    &PROGRAM
}

impl Sandbox {
    /// A sandbox with the database that this SQL makes.
    pub fn of_version(sql: &str) -> Self {
        let sandbox = Self::new(include_str!("../versions/jobs.toml"));
        sandbox.make_database("runner.db", sql);
        sandbox
    }

    /// Makes the database of this SQL, whose workers and jobs were in its folder.
    pub fn make_database(&self, name: &str, sql: &str) {
        self.write_private(name, "");
        let db = self.path(name);
        let dir = db.parent().and_then(Path::to_str).expect("a plain path");
        Sql::open(&db)
            .run(&format!("BEGIN; {} COMMIT; PRAGMA journal_mode = WAL", sql.replace("@DIR@", dir)));
    }

    /// A call of the program of the next version.
    pub fn call_next(&self, line: &str) -> Call {
        let program = next_version().to_str().expect("a plain path");
        line.split_whitespace().fold(self.program(program), Call::arg)
    }
}

/// Every row of the tables of an earlier version, by its columns of then: a table and a line each.
pub fn rows(sql: &Sql, columns: &[(String, String)]) -> Vec<String> {
    let of_table = |(table, columns): &(String, String)| {
        let select = format!("SELECT '{table}: ' || json_array({columns}) FROM {table}");
        sql.all(&select, |row| row.get::<_, String>(0))
    };
    columns.iter().flat_map(of_table).collect()
}

/// The tables of a database, each with an expression for all its columns.
pub fn columns(sql: &Sql) -> Vec<(String, String)> {
    let select = "SELECT t.name AS name, group_concat('quote(' || c.name || ')') AS columns
                  FROM pragma_table_list AS t JOIN pragma_table_xinfo(t.name) AS c
                  WHERE t.type = 'table' AND t.name NOT GLOB 'sqlite_*' AND c.hidden = 0 GROUP BY t.name";
    sql.all(select, |row| Ok((row.get("name")?, row.get("columns")?)))
}
