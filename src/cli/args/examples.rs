//! What stands below the help of the longer verbs.

pub(super) const WORK_EXAMPLES: &str = "\
Examples:
  runner work                       until SIGTERM or Ctrl-C
  runner work -j 4 --queue net      four at once, from one queue
  runner work --drain               until nothing waits or runs; waits out retries
  runner work --until-idle          until nothing is due or runs";

pub(super) const INSPECT_EXAMPLES: &str = "\
Examples:
  runner inspect                    the overview
  runner inspect 7                  job 7 and the story of its attempts
  runner inspect 7.2                its second attempt, with output
  runner inspect dead               dead letters by error code, and what to type next
  runner inspect jobs --since today     also yesterday, 2026-11-20, 14:30, 1h
  runner inspect stats --since 1d   by name: how often they succeed, how long they run and wait
  runner inspect jobs --state retrying --queue net
  runner inspect dead --fail-if-any --since 1d     exit 1 if there are any: for monitoring";

pub(super) const WAIT_EXAMPLES: &str = "\
Examples:
  runner wait 7                     exits as the job did
  runner wait 7 8 9                 0 if all succeeded, else 1
  runner wait 7 --json | jq .result

Exit status of a single job that did not succeed: its last attempt's own; 128 and the number of
a signal; 124 after a timeout; 127 or 126 where the command could not be started; else 1.
Ctrl-C ends the waiting (130), and the job goes on.";

pub(super) const RETRY_EXAMPLES: &str = "\
Examples:
  runner retry 7
  runner retry --dead --error-code CURL_TIMEOUT
  runner retry 7 --force            also if it is declared retryable = false
  runner retry 7 --now              a waiting job is due at once";

pub(super) const LOGS_EXAMPLES: &str = "\
Examples:
  runner logs 7                     the last attempt of job 7
  runner logs 7.2 --stderr          what its second attempt wrote to standard error
  runner logs 7 -f                  what it writes from now on, retries included
  runner logs 7 -n 20               the last 20 lines

What a running job has written is saved about once a second.
Ctrl-C ends the following (130), and the job goes on.";
