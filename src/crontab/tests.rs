//! Whole crontabs.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::jobfile::{Declared, JobFile};
use crate::model::Missed;
use crate::text::Millis;

fn account(name: &str) -> Option<Account> {
    let home = match name {
        "me" => "/home/me",
        "root" => "/root",
        "www-data" => "/var/www",
        _ => return None,
    };
    Some(Account { name: name.to_owned(), home: home.to_owned() })
}

/// A machine with `mail`, anacron and systemd, on which `/var/www` is missing.
fn is_there(question: char, path: &str) -> bool {
    match question {
        'x' => ["/usr/bin/mail", "/usr/sbin/anacron", "/usr/bin/certbot"].contains(&path),
        _ => path != "/var/www",
    }
}

fn taken(crontab: impl AsRef<[u8]>, has_users: bool) -> TakenOver {
    taken_of(crontab, has_users, false)
}

fn taken_of(crontab: impl AsRef<[u8]>, has_users: bool, is_busybox: bool) -> TakenOver {
    let around = CrontabContext {
        source: "crontab -l",
        has_users,
        is_busybox,
        caller: account("me").unwrap(),
        find_account: &account,
        runuser: "/usr/sbin/runuser",
        is_there: &is_there,
    };
    take_over(crontab.as_ref(), &around)
}

/// The jobs that `runner check` finds in the text.
fn declared(text: &str) -> Vec<Declared> {
    let file = JobFile::parse(Path::new("/home/me/jobs.toml"), text);
    file.unwrap_or_else(|invalid| panic!("{invalid}\n{text}")).jobs
}

fn jobs(crontab: impl AsRef<[u8]>, has_users: bool) -> Vec<Declared> {
    declared(&taken(crontab, has_users).text)
}

fn env(job: &Declared, name: &str) -> Option<String> {
    let mut env = job.definition.env.iter();
    env.find(|(key, _)| key.to_text() == name).map(|(_, value)| value.to_text())
}

#[test]
fn variables_count_from_their_line_on() {
    let jobs = jobs("A=1\n0 1 * * * a\nA=2\nPATH=/x:$PATH\nLOGNAME=you\n0 2 * * * b\n", false);
    let [a, b] = &jobs[..] else { panic!("{jobs:?}") };
    for (job, name, value) in [
        (a, "A", "1"),
        (b, "A", "2"),
        (a, "PATH", "/usr/bin:/bin"),
        (b, "PATH", "/x:$PATH"),
        (a, "HOME", "/home/me"),
        (a, "SHELL", "/bin/sh"),
        (a, "LOGNAME", "me"),
        (b, "LOGNAME", "me"),
    ] {
        assert_eq!(env(job, name).as_deref(), Some(value), "{name}");
    }
}

#[test]
fn what_a_line_leaves_in_the_background_is_noted() {
    let noted = |line: &str| taken(format!("@reboot {line}\n"), false).text.contains("a daemon needs one of");
    assert!(noted("mydaemon &") && noted("mydaemon >/dev/null 2>&1 &"));
    assert!(!noted("a && b") && !noted("a & wait") && !noted("a"));
}

#[test]
fn the_shell_gets_the_whole_line() {
    let text = "0 1 * * * a \"b\" 'c' \\d # e\nSHELL=/bin/bash\n0 2 * * * a \"b\" 'c' \\d\n";
    let jobs = jobs(text, false);
    let commands: Vec<_> = jobs.iter().map(|job| &job.definition.command).collect();
    let words = ["/bin/bash", "-c", "a \"b\" 'c' \\d"].map(crate::model::Bytes::from).to_vec();
    assert_eq!(*commands[0], crate::model::Command::Shell("a \"b\" 'c' \\d # e".into()));
    assert_eq!(*commands[1], crate::model::Command::Argv(words));
}

#[test]
fn users_become_launchers_and_have_their_homes() {
    let text = "@reboot root a\n0 2 * * * www-data b\nHOME=/srv\n0 3 * * * me c\n0 4 * * * nobody-here d\n";
    let taken = taken(text, true);
    let jobs = declared(&taken.text);
    let launchers: Vec<_> = jobs
        .iter()
        .map(|job| {
            job.definition.launcher.iter().map(crate::model::Bytes::to_text).collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(
        launchers,
        ["/usr/sbin/runuser -u root --", "/usr/sbin/runuser -u www-data --", "/usr/sbin/runuser -m -u me --"]
    );
    let facts = |name| jobs.iter().map(|job| env(job, name).unwrap()).collect::<Vec<_>>();
    assert_eq!(facts("LOGNAME"), ["root", "www-data", "me"]);
    assert_eq!(facts("HOME"), ["/root", "/var/www", "/srv"]);
    let folders: Vec<_> = jobs.iter().map(|job| job.definition.cwd.to_text()).collect();
    assert_eq!(folders, ["/root", "/", "/srv"]);
    assert!(taken.text.contains("# There is no folder /var/www"), "{}", taken.text);
    assert_eq!(taken.left.len(), 1);
    assert_eq!((taken.left[0].number, &*taken.left[0].why), (5, "this machine has no user \"nobody-here\""));
}

#[test]
fn cron_does_not_retry_and_makes_up_for_times_of_day() {
    let hours = Some(Millis::from_secs(3 * 3_600));
    for (line, missed, within) in [
        ("* * * * * a", Missed::Skip, None),
        ("30 2 * * * a", Missed::Once, hours),
        ("*/5 2 * * * a", Missed::Skip, None),
        ("0 */4 * * * a", Missed::Skip, None),
        ("0,20 0-23/4 * * 1 a", Missed::Once, hours),
        ("@daily a", Missed::Once, hours),
        ("@hourly a", Missed::Skip, None),
        ("@reboot a", Missed::Once, None),
        ("PERSISTENT=yes\n*/5 2 * * * a", Missed::Once, None),
        ("PERSISTENT=no\n0 2 * * * a", Missed::Once, hours),
    ] {
        let jobs = jobs(format!("{line}\n"), false);
        assert_eq!(jobs[0].definition.policy.max_attempts(), 1);
        let schedule = jobs[0].schedule.as_ref().unwrap();
        assert_eq!((schedule.missed, schedule.missed_within), (missed, within), "{line}");
    }
}

/// Why lines of a crontab are not taken over, and how other crons read the others.
fn told(crontab: &str, is_busybox: bool) -> String {
    let taken = taken_of(format!("{crontab}\n"), false, is_busybox);
    let left = taken.left.into_iter().map(|line| line.why);
    let all: Vec<_> = left.chain(taken.readings.into_iter().map(|(_, reading)| reading)).collect();
    for reading in &all {
        assert!(taken.text.contains(reading), "{reading}: {}", taken.text);
    }
    all.join(" | ")
}

#[test]
fn lines_of_other_crons_are_named_with_both_readings() {
    for (crontab, named) in [
        ("0 2 * * 5#3 a", "Debian's cron ran it each week, as schedule = \"0 2 * * 5\""),
        ("30 2 * 1-6 TUE#1 a", "as schedule = \"30 2 * 1-6 TUE\""),
        ("0 2 L * * a", "L is a day here"),
        ("0 2 15W * * a", "15W is a day here"),
        ("0 2 * * friL a", "friL is a day here"),
        ("0 2 * * * a -$(date +%F).tar", "command = \"a -$(date +%F).tar\""),
        ("0 2 * * * a `date +%F`", "busybox and systemd-cron do not"),
        ("0 2 * * * printf '%s' b", "busybox and systemd-cron do not"),
        ("0 2 * * * printf \"a %s\" b", "busybox and systemd-cron do not"),
        ("0 2 * * * echo \"100%", "so the shell refuses it"),
        ("CRON_TZ=Asia/Tokyo\n0 2 * * * a", "cronie runs the lines below by the clocks"),
        ("TZ=Asia/Tokyo\n0 2 * * * a", "it changes no times"),
        ("CRON_TZ=Asia/Tokyo 0 2 * * * a b", "write \"0 2 * * * a b\" with timezone = \"Asia/Tokyo\""),
        ("TZ=Europe/Rome @daily a", "write \"@daily a\" with timezone = \"Europe/Rome\""),
        ("PERSISTENT=yes\n0 2 * * * a", "systemd-cron makes up"),
        ("PERSISTENT=no\n@daily a", "makes up for no missed times of the lines below; Debian's cron"),
        ("START_HOURS_RANGE=6-22\n@daily a", "at the first hour of it"),
        ("0 2 * * * a \\\n  --exclude=/tmp b\n", "for a variable, --exclude, and so do these jobs"),
        ("RANDOM_DELAY=45\n0 2 * * * a", "up to so many minutes later"),
        ("DELAY=5\n@daily a", "after a boot"),
        ("BATCH=yes\n@daily a", "nothing else to do"),
        ("BATCH=yes\n@weekly a", "systemd-cron runs @weekly on Mondays"),
        ("0 0 2 * * 1-5 a", "1-5 looks like a sixth field"),
        ("0 0 2 * * mon a", "mon looks like a sixth field"),
        ("0 2 * * * -nq a", "OpenBSD's cron takes -nq as an option"),
        ("0 2 * * * a \\\n  b", "it ends with a backslash"),
        ("0~59 4 * * * a", "random_delay = \"59m\""),
    ] {
        let told = told(crontab, false);
        assert!(told.contains(named), "{crontab}: {told}");
    }
    for crontab in [
        "0 2 */2 * * a#b",
        "0 2 1 * 7 a",
        "0 2 * * * a 'b' \"c\"%d",
        "0 2 * * * a $(b)%c",
        "0 2 * * * a # it's%c",
        "0 2 * * * date +\\%F",
        "0 2 * * * a -n",
        "0 2 * * * mon.sh",
        "MAILTO=me\nPATH=/x\n0 2 * * * a",
        "A=b 0 2 * * * a",
        "A=b\n@weekly a",
    ] {
        assert_eq!(told(crontab, false), "", "{crontab}");
    }
}

#[test]
fn a_line_whose_first_percent_leaves_a_quote_open_is_no_job() {
    for (command, is_job) in [
        ("a $(date +%F)", false),
        ("a 'b%c", false),
        ("echo '100%", false),
        ("a $(date +\\%F)", true),
        ("a b%it's", true),
        ("it's", true),
    ] {
        let taken = taken(format!("0 2 * * * {command}\n"), false);
        assert_eq!((taken.jobs.len(), taken.left.len()), if is_job { (1, 0) } else { (0, 1) }, "{command}");
    }
}

#[test]
fn a_crontab_of_busybox_is_read_by_the_rules_of_debian_and_says_so() {
    for (crontab, named) in [
        ("0 2 */2 * * a", "so */2 is each even day"),
        ("0 2 */2 * 1 a", "on days that match both"),
        ("0 2 13 * 0-6 a", "on days that match either"),
        ("0 2 * * * curl h/p#f", "busybox cuts the command at #"),
        ("0 2 * * 5-7 a", "weekday 7 for each day"),
        ("61 * * * * a", "busybox runs a line of a minute that it cannot read each minute"),
        ("0 2 * * * date +\\%F", "busybox hands \\% on"),
        ("0 2 * * * a%b", "busybox and systemd-cron do not"),
        ("PATH=/x\n0 2 * * * a", "busybox drops this line"),
        ("PATH=/x\n0 2 * * * a", "begin with PATH = \"/x\","),
    ] {
        let told = told(crontab, true);
        assert!(told.contains(named), "{crontab}: {told}");
    }
    for crontab in ["0 2 * * * a", "0 2 1 * * a", "0 2 * * 1-5 a", "MAILTO=me\n*/5 * * * * a"] {
        let told = told(crontab, true);
        assert!(told.starts_with("busybox hands the whole environment") && !told.contains(" | "), "{told}");
    }
}

#[test]
fn a_crontab_that_cron_ignores_is_named_with_its_line() {
    let ignored = |crontab: &str, has_users| taken(crontab, has_users).ignored_for.map(|(line, _)| line);
    assert_eq!(ignored("0 1 * * * a\n0 25 * * * b\n", false), Some(2));
    assert_eq!(ignored("MAILTO=\n0 1 * * * a\n", false), Some(1));
    assert_eq!(ignored("# a\n0 1 * * * a", false), Some(2));
    assert_eq!(ignored(&format!("0 1 * * * {}\n", "a".repeat(1_000)), false), Some(1));
    assert_eq!(ignored("0 1 * * * me a\n0 1 * * * nobody-here b\n", true), Some(2));
    assert_eq!(ignored("0 1 * * * me a\n\n", true), None);
    assert_eq!(ignored("0 1 * * * a\n", false), None);
    // Nothing of it was taken over.
    assert_eq!(ignored("0 25 * * * a\n", false), None);
    let taken = taken("0 1 * * * a\nMAILTO=\n", false);
    assert!(
        taken.text.contains("# Debian's cron ignores this whole crontab, because of line 2: "),
        "{}",
        taken.text
    );
}

#[test]
fn the_table_of_anacron_is_no_crontab() {
    for table in [
        "# /etc/anacrontab\nSHELL=/bin/sh\n\n1\t5\tcron.daily\trun-parts --report /etc/cron.daily\n",
        "7 10 weekly-backup /usr/bin/backup\n",
        "@monthly 15 cron.monthly run-parts /etc/cron.monthly\n",
    ] {
        assert!(is_anacrontab(table.as_bytes()), "{table}");
    }
    for crontab in [
        "1 5 * * * a b\n",
        "1 5 L * * a\n",
        "1 5 LW * * a\n",
        "1 5 sun * * a\n",
        "@monthly 15 a b\n",
        "@daily me a b.c d\n",
        "# 1 5 cron.daily a\n",
        "",
    ] {
        assert!(!is_anacrontab(crontab.as_bytes()), "{crontab}");
    }
}

#[test]
fn mail_goes_to_the_address_of_the_line() {
    let alerts = |text: &str| -> Vec<Option<crate::model::Command>> {
        let on_dead = |job: &Declared| Some(job.definition.on_dead.as_ref()?.command.clone());
        jobs(text, false).iter().filter(|job| job.schedule.is_some()).map(on_dead).collect()
    };
    let to = |alert: &Option<crate::model::Command>, address: &str| match alert {
        Some(crate::model::Command::Shell(line)) => {
            line.to_text().contains(&format!(" failed on $(uname -n)\" {address}\n"))
        }
        _ => false,
    };
    assert_eq!(alerts("0 1 * * * a\n"), [None]);
    assert_eq!(alerts("MAILTO=\"\"\n0 1 * * * a\n"), [None]);
    assert_eq!(alerts("MAILTO=\"$(reboot)\"\n0 1 * * * a\n"), [None]);
    let all = alerts("MAILTO=me@example.org\n0 1 * * * a\n0 2 * * * b\n");
    assert!(all.len() == 2 && all.iter().all(|alert| to(alert, "me@example.org")), "{all:?}");
    let some = alerts(
        "0 1 * * * a\nMAILTO=ops,me\n0 2 * * * alert\nMAILTO='a b'\n0 3 * * * c\nMAILTO=\"\"\n0 4 * * * d\n",
    );
    assert!(some.len() == 4 && some[0].is_none() && some[3].is_none(), "{some:?}");
    assert!(to(&some[1], "ops,me") && to(&some[2], "'a b'"), "{some:?}");
}

#[test]
fn the_alert_of_a_system_crontab_has_no_home_of_another_user() {
    let text = "MAILTO=root\n@daily www-data a\n@daily www-data b\n";
    let jobs = jobs(text, true);
    let alert = jobs.iter().find(|job| job.schedule.is_none()).unwrap();
    assert_eq!((env(alert, "HOME"), env(alert, "LOGNAME")), (None, None));
    assert_eq!(env(alert, "PATH").as_deref(), Some("/usr/bin:/bin"));
}

#[test]
fn without_a_program_mail_the_alert_is_a_comment() {
    let text = "PATH=/opt/bin\nMAILTO=me\n0 1 * * * a\n";
    let taken = taken(text, false);
    assert!(taken.lacks_mail);
    let jobs = declared(&taken.text);
    assert!(jobs.len() == 1 && jobs[0].definition.on_dead.is_none(), "{}", taken.text);
    // Its signs can be taken off.
    let comments = ["# on_dead", "# [jobs.alert]", "# command = '''", "# printf", "# sed", "# '''"];
    let lines = taken
        .text
        .lines()
        .map(|line| if comments.iter().any(|it| line.starts_with(it)) { &line[2..] } else { line });
    let jobs = declared(&lines.collect::<Vec<_>>().join("\n"));
    assert!(jobs[0].definition.on_dead.is_some(), "{}", taken.text);
}

#[test]
fn a_zone_stays_a_variable_and_is_suggested() {
    let taken = taken(
        "TZ=Asia/Tokyo\n0 1 * * * a\nCRON_TZ=Europe/Berlin\nRANDOM_DELAY=45\n0 2 * * * b\n@reboot c\n",
        false,
    );
    let jobs = declared(&taken.text);
    assert!(jobs.iter().all(|job| job.schedule.as_ref().unwrap().timezone.is_none()));
    assert_eq!(env(&jobs[1], "CRON_TZ").as_deref(), Some("Europe/Berlin"));
    assert_eq!(env(&jobs[0], "TZ").as_deref(), Some("Asia/Tokyo"));
    let comments =
        |key: &str| taken.text.lines().filter(|line| line.starts_with(&format!("# {key} = "))).count();
    assert_eq!((comments("timezone"), comments("random_delay")), (1, 2), "{}", taken.text);
    let none = self::taken("RANDOM_DELAY=0\nDELAY=0\n0 2 * * * b\n", false);
    assert!(none.readings.is_empty() && !none.text.contains("random_delay"), "{}", none.text);
}

#[test]
fn suggested_keys_are_accepted() {
    let taken = taken("0 1 * * * cd ~/a && flock -n '/tmp/b c' timeout -k 5 2h d\n", false);
    let keys = ["cwd", "unique_key", "timeout", "grace_period"];
    let is_suggested = |line: &str| keys.iter().any(|key| line.starts_with(&format!("# {key} = ")));
    assert_eq!(taken.text.lines().filter(|line| is_suggested(line)).count(), keys.len(), "{}", taken.text);
    let own_cwd = "cwd = \"/home/me\"";
    let lines = taken.text.lines().filter(|line| *line != own_cwd);
    let text: Vec<_> = lines.map(|line| if is_suggested(line) { &line[2..] } else { line }).collect();
    let job = &declared(&text.join("\n"))[0].definition;
    assert_eq!(job.unique_key.as_deref(), Some("/tmp/b c"));
    assert_eq!(job.timeout.unwrap().to_string(), "2h");
}

#[test]
fn comments_are_kept_or_describe_the_job_below() {
    let text = "# About this crontab\n\n# m h dom mon dow command\n# Back up\n0 1 * * * a\n# 0 2 * * * b\n0 3 * * * c\n\
                # one\n# two\n0 4 * * * d\n# end \u{1b}\n";
    let taken = taken(text, false);
    let descriptions: Vec<_> =
        declared(&taken.text).into_iter().map(|job| job.description.unwrap_or_default()).collect();
    assert_eq!(descriptions, ["Back up", "", "one two"]);
    for kept in ["# About this crontab", "# m h dom mon dow command", "# 0 2 * * * b", "# end \\e"] {
        assert!(taken.text.lines().any(|line| line == kept), "{kept}: {}", taken.text);
    }
    let long = format!("# {}\n0 1 * * * a\n", "word ".repeat(50));
    let taken = self::taken(&long, false);
    assert!(taken.text.contains(long.lines().next().unwrap().trim_end()), "{}", taken.text);
    assert!(declared(&taken.text)[0].description.as_ref().unwrap().ends_with('…'));
}

#[test]
fn what_cannot_be_taken_over_is_a_comment_with_the_reason() {
    let text = b"99 * * * * a\n0 1 * * * b\xff\n0 2 * * * runner work --single -q\nSHELL=bash\n0 3 * * * c\n";
    let taken = self::taken(text, false);
    assert_eq!(declared(&taken.text), []);
    let numbers: Vec<_> = taken.left.iter().map(|line| line.number).collect();
    assert_eq!(numbers, [1, 2, 3, 5]);
    for line in &taken.left {
        let (why, text) =
            (format!("# Line {} is not taken over: {}.", line.number, line.why), format!("# {}", line.text));
        let mut lines = taken.text.lines().skip_while(|line| *line != why);
        assert!(lines.next().is_some() && lines.next() == Some(&text), "{line:?}: {}", taken.text);
    }
    let with_tabs = self::taken("99 *\t* * *\ta\n", false);
    assert!(with_tabs.text.contains("\n# 99 *\t* * *\ta\n"), "{}", with_tabs.text);
    assert_eq!(with_tabs.left[0].text, r"99 *\t* * *\ta");
}

#[test]
fn names_that_come_twice_are_numbered() {
    let taken = taken("0 1 * * * a\n0 2 * * * a\n0 3 * * * a-2\n0 4 * * * a\n", false);
    let names: Vec<_> = taken.jobs.iter().map(|(number, name)| format!("{number} {name}")).collect();
    assert_eq!(names, ["1 a", "2 a-2", "3 a-2-2", "4 a-3"]);
}

#[test]
fn a_system_crontab_that_is_read_as_one_of_a_user_is_noticed() {
    assert!(taken("0 1 * * * root a\n@daily me b\n", false).seems_to_name_users);
    assert!(!taken("0 1 * * * root a\n@daily b\n", false).seems_to_name_users);
    assert!(!taken("0 1 * * * root a\n", true).seems_to_name_users);
    assert!(!taken("", false).seems_to_name_users);
}

/// Parts of lines, to be put together at random.
fn crontabs() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::sample::select(vec![
        "0 2 * * *",
        "*/5 * * * *",
        "@daily",
        "@reboot",
        "0 0 30 2 *",
        "-1 2 3 4 5",
        " ",
        "\t",
        "\n",
        "\n",
        "\n",
        "#",
        "# words ",
        "A=",
        "PATH",
        "MAILTO=",
        "MAILTO = me\n",
        "SHELL=/bin/bash\n",
        "CRON_TZ=UTC\n",
        "TZ=UTC 0 1 * * * a",
        "PERSISTENT=1\n",
        "0 0 L * 5#3 ",
        "HOME=/x\n",
        "\"",
        "'",
        "'''",
        "\"\"\"",
        "\\",
        "\\\\",
        "%",
        "\\%",
        "\r",
        "\u{1b}",
        "\u{7f}",
        "\0",
        "\u{202e}",
        "é",
        "root ",
        "me ",
        "nobody ",
        "a",
        "b.sh",
        "&&",
        "||",
        ";",
        "|",
        "(",
        ")",
        "{",
        "}",
        "<",
        ">",
        "2>&1",
        "$(",
        "${",
        "`",
        "cd /x && ",
        "flock -n /x ",
        "timeout 2h ",
        "timeout 99999999999h ",
        "test -x /y || ",
        "[ -x /y ] && ",
        "runner work",
        "sh -c ",
        "~",
        "=",
        "-",
        "*",
    ]);
    let parts = prop::collection::vec(part.prop_map(|part| part.as_bytes().to_vec()), 0..40);
    let bytes = prop::collection::vec(any::<u8>(), 0..60);
    let line = prop_oneof![4 => parts.prop_map(|parts| parts.concat()), 1 => bytes];
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.join(&b'\n'))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn whatever_the_crontab_is_the_file_is_valid(crontab in crontabs(), has_users in any::<bool>(), is_busybox in any::<bool>()) {
        let taken = taken_of(&crontab, has_users, is_busybox);
        let jobs = declared(&taken.text);
        let scheduled = jobs.iter().filter(|job| job.schedule.is_some());
        let names: Vec<_> = scheduled.map(|job| job.definition.name.clone()).collect();
        prop_assert_eq!(names, taken.jobs.into_iter().map(|(_, name)| name).collect::<Vec<_>>());
        prop_assert!(taken.left.iter().all(|line| line.text.chars().all(crate::text::is_safe)));
    }
}
