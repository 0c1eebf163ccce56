//! Verbs of other programs, and what does the same here.

/// What to type in place of this verb, with what it does.
pub(super) fn tips(verb: &str) -> Vec<String> {
    let tips: &[&str] = match verb {
        "run" | "exec" => {
            &["`runner work` runs the jobs that are there", "`runner enqueue -- CMD` puts a command there"]
        }
        "start" | "daemon" | "serve" | "server" | "worker" => {
            &["`runner work` runs jobs, until it is told to stop"]
        }
        "add" | "push" | "submit" | "queue" | "new" => {
            &["`runner enqueue NAME` puts a job on disk; `runner enqueue -- CMD` any command"]
        }
        "list" | "ls" | "ps" => &["`runner inspect jobs` lists them; `runner inspect` is the overview"],
        "status" | "top" | "show" | "stat" | "info" => {
            &["`runner inspect` is the overview; `runner inspect ID` tells of one job"]
        }
        "jobs" | "attempts" | "dead" | "workers" | "queues" | "stats" => {
            return vec![format!("`runner inspect {verb}` lists them")];
        }
        "stop" => &["`runner cancel ID` calls a job off; a worker stops on SIGTERM or Ctrl-C", PAUSE],
        "kill" | "abort" => &["`runner cancel ID` calls a job off"],
        "rm" | "remove" | "delete" | "clean" | "gc" => &[
            "`runner prune --older-than 30d` removes finished jobs",
            "`runner cancel ID` calls one off that has not finished",
        ],
        "tail" => &["`runner logs -f ID` prints what a job writes"],
        "output" | "log" => &["`runner logs ID` prints what a job wrote"],
        "replay" | "requeue" | "restart" | "rerun" => {
            &["`runner retry ID` puts a dead or cancelled job back"]
        }
        "validate" | "lint" => &["`runner check` checks the job file"],
        "unpause" | "continue" => &["`runner resume QUEUE` opens a paused queue again"],
        "hold" | "suspend" => &[PAUSE],
        "why" => &["`runner explain ID` says why a job is in its state"],
        "version" => &["`runner --version`"],
        _ => &[],
    };
    tips.iter().map(|tip| (*tip).to_owned()).collect()
}

const PAUSE: &str = "`runner pause QUEUE` keeps a queue from being worked on";
