//! The audit: rules that hold for every database, whatever happened to it. `doctor` and `restore` check them.
//!
//! The schema refuses most violations when they are written. The audit reads the whole file, so that it also finds the
//! damage that a disk or a person with an editor has done.

use std::path::Path;

use serde::Serialize;

use crate::store::file::error::Result;
use crate::store::file::objects::{differences, integrity};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{all, value};
use crate::store::read::{attempts, jobs, metrics};
use crate::store::write::{definition, limits, outputs, schedules, workers};

/// A rule, and the statement that finds its violations; each row is a sentence.
struct Rule {
    name: &'static str,
    violations: &'static str,
}

const RULES: [Rule; 17] = [
    Rule {
        name: "attempts are numbered from 1 without gaps",
        violations: "SELECT 'job ' || job_id || ' has ' || count(*) || ' attempt' || iif(count(*) = 1, '', 's') || ', numbered up to ' || max(number)
                     FROM attempts GROUP BY job_id HAVING count(*) <> max(number) OR min(number) <> 1",
    },
    Rule {
        name: "a job counts its attempts",
        violations: "SELECT 'job ' || id || ' counts ' || attempts || ' attempt' || iif(attempts = 1, '', 's') FROM jobs
                     WHERE attempts <> (SELECT count(*) FROM attempts WHERE job_id = jobs.id)",
    },
    Rule {
        name: "a success is the last attempt",
        violations: "SELECT 'job ' || a.job_id || ' went on after its success in attempt ' || a.number
                     FROM attempts AS a JOIN jobs AS j ON j.id = a.job_id
                     WHERE a.outcome = 'succeeded' AND (a.number < j.attempts OR j.state <> 'succeeded')",
    },
    Rule {
        name: "a job that succeeded has an attempt that did",
        violations: "SELECT 'job ' || id || ' succeeded without a successful attempt' FROM jobs
                     WHERE state = 'succeeded' AND NOT EXISTS
                         (SELECT 1 FROM attempts WHERE job_id = jobs.id AND number = attempts AND outcome = 'succeeded')",
    },
    Rule {
        name: "a job died of what its last attempt says",
        violations: "SELECT 'job ' || id || ' is dead by ' || error_code || ' (' || dead_reason || '), and its last attempt tells another story'
                     FROM jobs WHERE state = 'dead' AND dead_reason <> 'expired' AND NOT EXISTS
                         (SELECT 1 FROM attempts WHERE job_id = jobs.id AND number = attempts AND next_state = 'dead'
                          AND dead_reason = jobs.dead_reason AND error_code = jobs.error_code)",
    },
    Rule {
        name: "a job was warned of what its last attempt says",
        violations: "SELECT 'job ' || id || ' has the warning ' || coalesce(warning, 'none') || ', and its last attempt tells another story'
                     FROM jobs AS j WHERE state = 'succeeded' AND warning IS NOT
                         (SELECT warning FROM attempts WHERE job_id = j.id AND number = j.attempts)
                     UNION ALL
                     SELECT 'job ' || id || ' is ' || state || ', and has the warning ' || warning FROM jobs
                     WHERE warning IS NOT NULL AND state <> 'succeeded'
                     UNION ALL
                     SELECT 'attempt ' || number || ' of job ' || job_id || ' has the warning ' || warning || ' and did not succeed'
                     FROM attempts WHERE warning IS NOT NULL AND outcome <> 'succeeded'
                     UNION ALL
                     SELECT 'a warning of job ' || id || ' was resolved, and there is none' FROM jobs
                     WHERE coalesce(warning_resolved_at, warning_resolution) IS NOT NULL AND warning IS NULL
                     UNION ALL
                     SELECT name || ' has had ' || count(*) || ' warning' || iif(count(*) = 1, '', 's') || ', and fewer were counted' FROM jobs AS j
                     WHERE warning IS NOT NULL GROUP BY name
                     HAVING count(*) > coalesce((SELECT warnings FROM warning_totals AS t WHERE t.name = j.name), 0)",
    },
    Rule {
        name: "no budget is overdrawn",
        violations: "SELECT 'job ' || j.id || ' has used ' || j.attempts_used || ' attempt' || iif(j.attempts_used = 1, '', 's') || ' of its budget'
                     FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id
                     WHERE j.attempts_used > iif(d.definition ->> '$.policy.retryable', d.definition ->> '$.policy.max_attempts', 1)",
    },
    Rule {
        name: "what is not retryable is not retried",
        violations: "SELECT 'job ' || a.job_id || ' is not retryable and was retried after attempt ' || a.number
                     FROM attempts AS a JOIN jobs AS j ON j.id = a.job_id
                     JOIN job_definitions AS d ON d.id = j.definition_id
                     WHERE a.next_state = 'pending' AND NOT d.definition ->> '$.policy.retryable'",
    },
    Rule {
        name: "a job waits for each dependency that was not met",
        violations: "SELECT 'job ' || id || ' waits for ' || unmet_dependencies || ' job' || iif(unmet_dependencies = 1, '', 's') || ', not ' || unmet
                     FROM (SELECT id, unmet_dependencies, (SELECT count(*) FROM dependencies AS d
                                                    WHERE d.job_id = j.id AND NOT d.met) AS unmet FROM jobs AS j)
                     WHERE unmet_dependencies <> unmet
                     UNION ALL
                     SELECT 'job ' || d.job_id || ' still waits for job ' || d.dependency_id || ', which ' ||
                            iif(a.state = 'succeeded', 'has succeeded', 'is ' || a.state)
                     FROM dependencies AS d JOIN jobs AS a ON a.id = d.dependency_id WHERE NOT d.met
                     AND (a.state = 'succeeded' OR (d.kind = 'any' AND (a.state = 'dead' OR a.state = 'cancelled')))
                     UNION ALL
                     SELECT 'job ' || d.job_id || ' still waits for job ' || d.dependency_id || ', which only a person can get going'
                     FROM dependencies AS d WHERE d.kind = 'any' AND d.met = 0 AND EXISTS
                         (WITH RECURSIVE before (id) AS
                              (VALUES (d.dependency_id) UNION
                               SELECT e.dependency_id FROM before JOIN jobs AS b ON b.id = before.id AND b.state = 'pending'
                               JOIN dependencies AS e ON e.job_id = b.id AND NOT e.met AND e.kind = 'success')
                          SELECT 1 FROM before JOIN jobs AS j ON j.id = before.id
                          WHERE before.id <> d.dependency_id AND (j.state = 'dead' OR j.state = 'cancelled'))
                     UNION ALL
                     SELECT 'a dependency of job ' || job_id || ' has no job' FROM dependencies
                     WHERE job_id NOT IN (SELECT id FROM jobs)",
    },
    Rule {
        name: "no job waits for itself",
        // A job waits for an earlier one, or for what has replaced that. So a circle has an edge to a later job.
        violations: "SELECT 'job ' || d.job_id || ' waits for job ' || d.dependency_id || ', which waits for it'
                     FROM dependencies AS d WHERE NOT d.met AND d.dependency_id >= d.job_id AND EXISTS
                         (WITH RECURSIVE before (id) AS
                              (VALUES (d.dependency_id) UNION
                               SELECT e.dependency_id FROM before JOIN dependencies AS e ON e.job_id = before.id AND NOT e.met)
                          SELECT 1 FROM before WHERE id = d.job_id)",
    },
    Rule {
        name: "every job has its definition",
        violations: "SELECT 'job ' || id || ' has no definition' FROM jobs
                     WHERE definition_id NOT IN (SELECT id FROM job_definitions)",
    },
    Rule {
        name: "a job has the name of its definition",
        violations: "SELECT 'job ' || j.id || ' is named ' || j.name || ', and its definition ' || (d.definition ->> '$.name')
                     FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id
                     WHERE j.name <> d.definition ->> '$.name'",
    },
    Rule {
        name: "a definition says what can be run",
        violations: "SELECT 'definition ' || id || ' allows ' || (definition ->> '$.policy.max_attempts') || ' attempts'
                     FROM job_definitions WHERE definition ->> '$.policy.max_attempts' < 1
                     UNION ALL
                     SELECT 'definition ' || id || ' has an empty command' FROM job_definitions
                     WHERE json_array_length(definition, '$.command.argv') = 0
                     UNION ALL
                     SELECT 'definition ' || id || ' has a timeout of ' || (definition ->> '$.timeout') || ' ms' FROM job_definitions
                     WHERE definition ->> '$.timeout' < 1
                     UNION ALL
                     SELECT 'definition ' || id || ' has a working directory that is not absolute' FROM job_definitions
                     WHERE iif(json_type(definition, '$.cwd') = 'array', definition ->> '$.cwd[0]' IS NOT 47,
                               substr(definition ->> '$.cwd', 1, 1) <> '/')
                     UNION ALL
                     SELECT 'job ' || id || ' has arguments without an end' FROM jobs
                     WHERE args_nul IS NOT NULL AND substr(args_nul, -1) IS NOT x'00'",
    },
    Rule {
        name: "attempts, inputs and outputs belong to a job",
        violations: "SELECT 'attempt ' || number || ' of job ' || job_id || ' has no job' FROM attempts
                     WHERE job_id NOT IN (SELECT id FROM jobs)
                     UNION ALL
                     SELECT 'an input of job ' || job_id || ' has no job' FROM inputs
                     WHERE job_id NOT IN (SELECT id FROM jobs)
                     UNION ALL
                     SELECT 'an output of attempt ' || number || ' of job ' || job_id || ' has no attempt' FROM outputs AS o
                     WHERE NOT EXISTS (SELECT 1 FROM attempts WHERE job_id = o.job_id AND number = o.number)",
    },
    Rule {
        name: "a running job has a worker that has not ended",
        violations: "SELECT 'job ' || j.id || ' is held by a worker that has ended' FROM jobs AS j
                     LEFT JOIN workers AS w ON w.id = j.worker_id
                     WHERE j.state = 'running' AND (w.id IS NULL OR w.ended_at IS NOT NULL)",
    },
    Rule {
        name: "a schedule is past its last time, and has a next one",
        violations: "SELECT 'the schedule ' || name || ' has the next time ' || coalesce(next_at, 'never') FROM schedules
                     WHERE coalesce(next_at, boot_id) IS NULL OR next_at <= last_fired_at",
    },
    Rule {
        name: "ids are never reused",
        violations: "SELECT 'job ' || max(id, coalesce(replaced_by, 0)) || ' has an id that was not given out' FROM jobs
                     WHERE max(id, coalesce(replaced_by, 0)) > coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'jobs'), 0)",
    },
];

/// At most this number of violations of each rule is reported, because more would say nothing new.
const FINDINGS_PER_RULE: usize = 10;

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenRule {
    pub rule: &'static str,
    /// The violation, as a sentence.
    pub what: String,
}

impl Store {
    /// The rules that [`Store::audit`] checks.
    pub fn audit_rules() -> impl Iterator<Item = &'static str> {
        [INTEGRITY_RULE, SCHEMA_RULE, READABLE_RULE].into_iter().chain(RULES.iter().map(|rule| rule.name))
    }

    /// Checks the whole file. The result is empty if every rule holds.
    pub fn audit(&self) -> Result<Vec<BrokenRule>> {
        self.audit_as(self.file().path())
    }

    /// The harmless additions of other programs to the file, a sentence each.
    pub fn additions(&self) -> Result<Vec<String>> {
        self.read(|tx| Ok(differences(tx, self.file().path())?.added))
    }

    /// [`Store::audit`] of a copy of the file at this path, which the findings name.
    pub(in crate::store) fn audit_as(&self, path: &Path) -> Result<Vec<BrokenRule>> {
        self.read(|tx| {
            let of_rule = |rule, found: Vec<String>| {
                found.into_iter().take(FINDINGS_PER_RULE).map(move |what| BrokenRule { rule, what })
            };
            let mut findings: Vec<BrokenRule> = Vec::new();
            findings.extend(of_rule(INTEGRITY_RULE, integrity(tx, FINDINGS_PER_RULE)?));
            findings.extend(of_rule(SCHEMA_RULE, differences(tx, path)?.wrong));
            let mut look = |rule, found: Result<Vec<String>>| match found {
                Ok(found) => {
                    findings.extend(of_rule(rule, found));
                    Ok(())
                }
                // Damage that is told already may make this rule fail.
                Err(_) if !findings.is_empty() => Ok(()),
                Err(error) => Err(error),
            };
            look(READABLE_RULE, damaged_rows(tx))?;
            for Rule { name, violations } in &RULES {
                let sql = format!("SELECT * FROM ({violations}) LIMIT {FINDINGS_PER_RULE}");
                look(name, all(tx, &sql, [], value))?;
            }
            Ok(findings)
        })
    }
}

/// Reads every row with the readers of the verbs: what is damage for one of them, is found here.
fn damaged_rows(tx: &Tx) -> Result<Vec<String>> {
    let mut found = workers::damaged(tx, FINDINGS_PER_RULE)?;
    found.extend(limits::damaged(tx, FINDINGS_PER_RULE)?);
    found.extend(schedules::damaged(tx, FINDINGS_PER_RULE)?);
    found.extend(definition::damaged(tx, FINDINGS_PER_RULE)?);
    found.extend(jobs::damaged(tx, FINDINGS_PER_RULE)?);
    found.extend(attempts::damaged(tx, FINDINGS_PER_RULE)?);
    found.extend(outputs::damaged(tx, FINDINGS_PER_RULE)?);
    found.extend(metrics::damaged(tx, FINDINGS_PER_RULE)?);
    Ok(found)
}

const INTEGRITY_RULE: &str = "the file is sound";
const READABLE_RULE: &str = "every row is as runner writes it";
const SCHEMA_RULE: &str = "the file has the tables, indexes, triggers and views that runner gave it";
