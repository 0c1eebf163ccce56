//! Enqueueing many jobs at once, and what becomes of many that expire at once.

use std::sync::Arc;

use super::fixture::{Scene, definition, new_job};
use crate::model::{DependencyKind, JobDefinition};
use crate::store::{Dependency, Enqueued, NewJob, OnConflict, PendingWork, StoreError};
use crate::text::{Millis, Timestamp};

fn expiring(expires_in: u64, key: Option<&str>) -> JobDefinition {
    JobDefinition {
        expires_in: Some(Millis(expires_in)),
        unique_key: key.map(str::to_owned),
        ..definition("a")
    }
}

#[test]
fn one_bad_job_among_many_undoes_all() {
    let mut scene = Scene::new();
    let mut jobs = vec![new_job(definition("a")); 100];
    jobs[90].definition = Arc::new(JobDefinition { priority: 1_001, ..definition("bad") });
    let said = scene.store.at(Timestamp(1)).add(&jobs).unwrap_err().to_string();
    assert!(said.contains("CHECK constraint failed: priority BETWEEN -1000 AND 1000"), "{said}");
    jobs[90] = new_job(expiring(9, Some("k")));
    jobs[95] = NewJob { on_conflict: OnConflict::Error, ..jobs[90].clone() };
    let refused = scene.store.at(Timestamp(1)).add(&jobs).unwrap_err();
    assert!(matches!(refused, StoreError::KeyHeld { holder: 91, index: 95, .. }), "{refused}");
    assert_eq!(scene.store.count_unfinished(None).unwrap(), 0);
    assert_eq!(scene.store.audit().unwrap(), []);
}

#[test]
fn an_alert_of_a_dependency_that_expires_takes_its_key_first() {
    let alert = JobDefinition { unique_key: Some("k".to_owned()), ..definition("alert") };
    let watched = JobDefinition { on_dead: Some(Box::new(alert.clone())), ..expiring(1, None) };
    for on_conflict in [OnConflict::Skip, OnConflict::Replace, OnConflict::Error] {
        let mut scene = Scene::new();
        let watched = scene.add(new_job(watched.clone()), 1);
        let dependencies = vec![(Dependency::Job(watched), DependencyKind::Any)];
        let wanted = NewJob { on_conflict, dependencies, ..new_job(alert.clone()) };
        let found = scene.store.at(Timestamp(2)).add(&[wanted]);
        let called = watched + 1;
        match on_conflict {
            OnConflict::Skip => {
                assert!(matches!(found.unwrap()[..], [Enqueued { id, created: false, .. }] if id == called));
            }
            OnConflict::Replace => {
                assert!(matches!(found.unwrap()[..], [Enqueued { id, created: true, .. }] if id > called));
            }
            OnConflict::Error => {
                assert!(matches!(found, Err(StoreError::KeyHeld { holder, .. }) if holder == called));
            }
        }
        assert_eq!(scene.store.audit().unwrap(), []);
    }
}

#[test]
fn definitions_of_the_same_hash_are_told_apart() {
    let wanted = definition("wanted");
    let mut scene = Scene::new();
    scene.add(new_job(wanted.clone()), 1);
    let hash = scene.column("SELECT CAST(hash AS TEXT) FROM job_definitions").remove(0);
    let mut scene = Scene::new();
    let lookalike = serde_json::to_string(&definition("another")).unwrap();
    let sql = "INSERT INTO job_definitions (hash, definition) VALUES (CAST(?1 AS INTEGER), ?2)";
    scene.store.connection.execute(sql, [hash, lookalike]).unwrap();
    scene.add(new_job(wanted.clone()), 1);
    assert_eq!(*scene.store.job(1, Timestamp(1)).unwrap().unwrap().definition, wanted);
}

#[test]
fn of_many_jobs_that_expired_together_none_is_claimed() {
    let mut scene = Scene::new();
    let jobs = vec![new_job(expiring(1, None)); 1_500];
    scene.store.at(Timestamp(1)).add(&jobs).unwrap();
    let mut expired = 0;
    for _ in 0..2 {
        let turn = scene.turn(&[], 10, 2);
        assert!(turn.claims.is_empty());
        // If some are left for the next turn, that turn is due now.
        assert_eq!(turn.backlog.next_due.is_some(), turn.backlog.pending > PendingWork::Nothing);
        expired += turn.events.len();
    }
    assert_eq!(expired, jobs.len());
}
