//! Each call that the program makes of the system fails once, and for ever from then on.
//!
//! The shim (`tests/shim`) lets the n-th call of a kind fail: writes, syncs, opens, starts of processes and threads, locks;
//! some do what they are asked and say that they failed, as a disk may at a commit. After each: a documented exit status
//! with words that go with it, no panic, no hang, and once the fault is gone a file without a flaw in which a
//! worker brings every job to its end, none started twice that must not be.
//!
//! `FAULTS` points are drawn besides those of the scenes that are looked at in full. How often a worker makes a call
//! differs from run to run: a point is a place in the order of its calls, not in the program.

mod play;
mod scenes;

use std::collections::HashMap;
use std::env;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use rand::seq::SliceRandom;

use crate::tools::{Plan, Violations};
use scenes::{Scene, Starts};

/// How many scenes are played side by side: they wait most of their time.
const THREADS: usize = 4;

/// The number of a scene, and the fault that the shim injects.
type Play = (usize, String);

#[test]
fn whatever_call_fails_every_promise_is_kept() {
    let plan = Plan::of("faults", "FAULTS", 160);
    let began = Instant::now();
    let starts = Starts::new();
    let scenes = scenes::scenes();
    let plays = plays(&starts, &scenes, plan);
    let before: Vec<usize> = scenes.iter().map(|scene| starts.copy(scene).count_jobs()).collect();
    let (next, hits, violations) = (AtomicUsize::new(0), AtomicUsize::new(0), Violations::default());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((number, fault)) = plays.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let scene = &scenes[*number];
                    let place = starts.copy(scene);
                    let played = play::play(&place, scene, fault);
                    hits.fetch_add(usize::from(played.hit), Ordering::Relaxed);
                    let wrong = play::wrong_after(&place, scene, fault, &played, before[*number]);
                    if !wrong.is_empty() {
                        let wrong = wrong.join("\n  and ");
                        violations.add(format!("SCENE={:?} FAULT={fault}: {wrong}", scene.name));
                    }
                }
            });
        }
    });
    let (hits, seconds) = (hits.into_inner(), began.elapsed().as_secs_f64());
    println!("{} points, {hits} of them met, {seconds:.1} s", plays.len());
    violations.check(plan);
    assert!(hits * 10 >= plays.len() * 9, "hardly any fault was met");
}

/// The points that are asked for by the environment.
fn plays(starts: &Starts, scenes: &[Scene], plan: Plan) -> Vec<Play> {
    let (only, fault) = (env::var("SCENE").ok(), env::var("FAULT").ok());
    let mut chosen: Vec<_> = scenes.iter().enumerate().collect();
    chosen.retain(|(_, scene)| only.as_ref().is_none_or(|name| name == scene.name));
    assert!(!chosen.is_empty(), "there is no scene {only:?}");
    if let Some(fault) = fault {
        return chosen.into_iter().map(|(number, _)| (number, fault.clone())).collect();
    }
    let (mut all, mut some) = (Vec::new(), Vec::new());
    for (number, scene) in chosen {
        let counts = count(starts, scene);
        let points = scenes::points(|kind| counts.get(kind).copied().unwrap_or(0));
        println!("{:5} points of {}: {counts:?}", points.len(), scene.name);
        let points = points.into_iter().map(|fault| (number, fault));
        if scene.in_full { all.extend(points) } else { some.extend(points) }
    }
    some.shuffle(&mut plan.dice(0));
    some.truncate(usize::try_from(plan.length).unwrap_or(usize::MAX));
    all.extend(some);
    all
}

/// How many calls of each kind a scene makes where nothing fails.
fn count(starts: &Starts, scene: &Scene) -> HashMap<String, usize> {
    let place = starts.copy(scene);
    let before = place.count_jobs();
    let fault = "none:0:once:0:count";
    let played = play::play(&place, scene, fault);
    let wrong = play::wrong_after(&place, scene, fault, &played, before);
    assert!(wrong.is_empty(), "{} without a fault: {wrong:#?}", scene.name);
    let mut counts = HashMap::new();
    for kind in fs::read_to_string(place.path("hits")).expect("the counts").lines() {
        *counts.entry(kind.to_owned()).or_default() += 1;
    }
    counts
}
