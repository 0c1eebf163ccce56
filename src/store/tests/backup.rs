//! A backup while others write.

use super::fixture::{Scene, definition, new_job};
use crate::store::{Filter, Store, StoreFile};
use crate::text::Timestamp;

#[test]
fn a_backup_sees_one_moment_however_often_others_commit() {
    let mut scene = Scene::new();
    for second in 0..4 {
        let mut job = new_job(definition("a"));
        job.stdin = Some(vec![7; 4 << 20]);
        scene.add(job, 1_000 * second);
    }
    let mut other = scene.other();
    let target = scene.path("copy.db");
    let mut steps = 0;
    let on_progress = &mut |copied: u64, all: u64| {
        steps += 1;
        assert!(steps <= 10, "{copied} of {all} pages after {steps} steps: it began anew");
        other.at(Timestamp(9_000)).add(&[new_job(definition("late"))]).unwrap();
    };
    scene.store.backup(&target, on_progress).unwrap();
    assert!(steps >= 4, "{steps}");
    let copy = Store::open(StoreFile::new(&target).unwrap()).unwrap();
    assert_eq!(copy.ids(&Filter::default(), Timestamp(9_000)).unwrap(), [1, 2, 3, 4]);
    assert_eq!(scene.store.ids(&Filter::default(), Timestamp(9_000)).unwrap().len(), 4 + steps);
}
