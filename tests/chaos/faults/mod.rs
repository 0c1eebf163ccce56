//! Each call that the program makes of the system fails once, and for ever from then on.
//!
//! The shim (`tests/shim`) lets the n-th call of a kind fail: writes, syncs, opens, starts of processes and threads, locks;
//! some do what they are asked and say that they failed, as a disk may at a commit. After each: an exit status of the
//! contract with words that go with it, no panic, no hang, and once the fault is gone a file without a flaw in which a
//! worker brings every job to its end, none started twice that must not be.
//!
//! `FAULTS` is the number of points that are drawn (160) besides those of the scenes that are looked at in full, or `all`;
//! `SEED` the seed by which they are drawn; `SCENE` names one scene, and `FAULT` with it one point. How often a worker
//! makes a call differs from run to run: a point is a place in the order of its calls, not in the program.

mod judge;
mod play;
mod points;
mod scenes;

use std::collections::HashMap;
use std::env;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use crate::power::rows::Rows;
use crate::settings::{number, seed};
use scenes::{Scene, Starts};

/// As many scenes are played side by side: most of their time is waiting.
const THREADS: usize = 4;

/// How many points are drawn where it is not said.
const DRAWN: usize = 160;

/// What is to be played: the number of a scene, and what the shim is told.
type Play = (usize, String);

#[test]
fn whatever_call_fails_every_promise_is_kept() {
    let seed = seed();
    println!("SEED={seed} cargo test --test chaos faults");
    let began = Instant::now();
    let starts = Starts::new();
    let scenes = scenes::all();
    let plays = plays(&starts, &scenes, seed);
    let before: Vec<usize> = scenes.iter().map(|scene| jobs(&starts, scene)).collect();
    let (next, hits, violations) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((number, fault)) = plays.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let scene = &scenes[*number];
                    let place = starts.copy(scene);
                    let played = play::play(&place, scene, fault);
                    hits.fetch_add(usize::from(played.hit), Ordering::Relaxed);
                    let wrong = judge::judge(&place, scene, fault, &played, before[*number]);
                    if !wrong.is_empty() {
                        let told =
                            format!("SCENE={:?} FAULT={fault}: {}", scene.name, wrong.join("\n  and "));
                        println!("violation: {told}");
                        violations.lock().unwrap_or_else(PoisonError::into_inner).push(told);
                    }
                }
            });
        }
    });
    let violations = violations.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (hits, seconds) = (hits.into_inner(), began.elapsed().as_secs_f64());
    println!("{} points, {hits} of them met, {} violations, {seconds:.1} s", plays.len(), violations.len());
    assert!(violations.is_empty(), "{} violations, the first of them:\n{}", violations.len(), violations[0]);
    assert!(hits * 10 >= plays.len() * 9, "hardly any fault was met");
}

/// The points that are asked for by the environment.
fn plays(starts: &Starts, scenes: &[Scene], seed: u64) -> Vec<Play> {
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
        let points = points::all(|kind| counts.get(kind).copied().unwrap_or(0));
        println!("{:5} points of {}: {counts:?}", points.len(), scene.name);
        let points = points.iter().map(|point| (number, point.spec()));
        if scene.in_full { all.extend(points) } else { some.extend(points) }
    }
    some.shuffle(&mut StdRng::seed_from_u64(seed));
    if env::var("FAULTS").as_deref() != Ok("all") {
        some.truncate(number("FAULTS").map_or(DRAWN, |drawn| usize::try_from(drawn).expect("64 bits")));
    }
    all.extend(some);
    all
}

/// How many calls of each kind a scene makes where nothing fails.
fn count(starts: &Starts, scene: &Scene) -> HashMap<String, u64> {
    let place = starts.copy(scene);
    let fault = "none:0:once:0:count";
    let played = play::play(&place, scene, fault);
    let wrong = judge::judge(&place, scene, fault, &played, jobs(starts, scene));
    assert!(wrong.is_empty(), "{} without a fault: {wrong:#?}", scene.name);
    let mut counts = HashMap::new();
    for kind in fs::read_to_string(place.path("hits")).expect("the counts").lines() {
        *counts.entry(kind.to_owned()).or_default() += 1;
    }
    counts
}

/// How many jobs there are before a scene.
fn jobs(starts: &Starts, scene: &Scene) -> usize {
    let place = starts.copy(scene);
    if !place.db().exists() {
        return 0;
    }
    Rows::read(&place.db()).expect("a database").jobs.len()
}
