//! `runner init --from-crontab`: what cron ran, as jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Finished, Sandbox, is_root, json};

/// The crontab of a small server.
const SMALL_SERVER: &str = include_str!("crontabs/small-server");

/// A sandbox with this crontab, a `crontab` that keeps it in a file, and a `mail`.
fn with_crontab(crontab: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    let bin = sandbox.path("bin").display().to_string();
    sandbox.write("crontab", crontab.replace("/bin-of-the-test", &bin));
    sandbox
        .write("bin/crontab", format!("#!/bin/sh\ncd {} || exit\n{KEEPS_A_FILE}", sandbox.dir().display()));
    sandbox.write("bin/mail", "#!/bin/sh\necho \"$@\" >> $HOME/mails; cat >> $HOME/mails\n");
    for program in ["bin/crontab", "bin/mail"] {
        fs::set_permissions(sandbox.path(program), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
    }
    sandbox
}

const KEEPS_A_FILE: &str = "\
case $1 in
-l) if [ -e crontab ]; then cat crontab; else echo 'no crontab for me' >&2; exit 1; fi ;;
esac
";

/// `runner init --from-crontab` with these options.
fn import(sandbox: &Sandbox, options: &str) -> Finished {
    let path = format!("{}:/usr/bin:/bin", sandbox.path("bin").display());
    sandbox.call(&format!("init --from-crontab {options}")).env("PATH", path).run()
}

/// The text without what differs from machine to machine: the user who runs the tests, and the temporary folder.
fn redacted(sandbox: &Sandbox, text: &str) -> String {
    let line = |line: &str| match line.split_once(" = ") {
        Some((key @ ("HOME" | "cwd"), _)) => format!("{key} = \"/home/me\"\n"),
        Some(("LOGNAME", _)) => "LOGNAME = \"me\"\n".to_owned(),
        _ => format!("{line}\n"),
    };
    let text = text.replace(&sandbox.dir().display().to_string(), "/home/me");
    text.lines().map(line).collect()
}

#[test]
fn the_page_shows_what_is_written() {
    let page = include_str!("../docs/crontab.md");
    let block = |language: &str| {
        let (_, rest) = page.split_once(&format!("```{language}\n")).expect("a block");
        rest.split("```").next().unwrap().to_owned()
    };
    let sandbox = with_crontab(&block("crontab"));
    import(&sandbox, "").ok().quietly();
    assert_eq!(redacted(&sandbox, &sandbox.read("jobs.toml")), block("toml"));
}

#[test]
fn the_crontab_of_a_small_server() {
    let sandbox = with_crontab(SMALL_SERVER);
    let told = import(&sandbox, "")
        .says("is not taken over: it starts the worker, and cron has to go on doing")
        .ok();
    insta::assert_snapshot!(redacted(&sandbox, &told.stdout), @r"
    wrote /home/me/jobs.toml with 11 jobs from crontab -l; 1 line stayed out, as a comment
    next: runner check, then runner apply; a worker must run: runner service install
    cron goes on: until these jobs are out of the crontab, cron and runner both run them. crontab -l > crontab.saved keeps a copy, and crontab -e opens it to comment them out.
    ");
    told.says(
        "line 20 is not taken over: it starts the worker, and cron has to go on doing so: * * * * * runner",
    );
    let written = redacted(&sandbox, &sandbox.read("jobs.toml"));
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crontabs/small-server.expected");
    if std::env::var_os("REWRITE").is_some() {
        fs::write(&expected, &written).unwrap();
    }
    assert_eq!(written, fs::read_to_string(expected).unwrap(), "REWRITE=1 writes what is written now");
    // This machine may have other programs than the server.
    let checked = sandbox.run("check").exits(0);
    let is_missing = |line: &&str| line.contains(" cannot start here: no such program: /usr/");
    let others: Vec<&str> = checked.stderr.lines().filter(|line| !is_missing(line)).collect();
    let is_pipe = others.iter().all(|line| line.contains("mysqldump: the exit status of a pipe"));
    assert!(others.len() == 1 && is_pipe, "{checked}");
}

#[test]
fn where_the_crontab_comes_from() {
    let sandbox = with_crontab("@daily own\n");
    sandbox.write("file", "@daily from-a-file\n");
    let names = |file: &str| {
        let jobs = sandbox.run(&format!("check --json {file}")).ok().json_lines();
        jobs.iter().map(|job| job["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    import(&sandbox, "--file a.toml").ok().shows("with 1 job from crontab -l\n");
    import(&sandbox, "file --file b.toml").ok().shows("runner apply --file ").shows("crontab -e opens it");
    sandbox.call("init --from-crontab - --file c.toml").stdin("@daily from-stdin\n").run().ok();
    assert_eq!(names("a.toml"), ["own"]);
    let mode = fs::metadata(sandbox.path("a.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "a crontab may hold passwords");
    assert_eq!(names("b.toml"), ["from-a-file"]);
    assert_eq!(names("c.toml"), ["from-stdin"]);

    fs::remove_file(sandbox.path("crontab")).unwrap();
    import(&sandbox, "").exits(66).says("no crontab for me").says("--from-crontab FILE");
    sandbox
        .call("init --from-crontab")
        .env("PATH", "/missing")
        .run()
        .exits(66)
        .says("could not run crontab -l");
    import(&sandbox, "missing").exits(66).says("could not read the crontab");
    import(&sandbox, "bin").exits(74).says("name one file");
    assert!(!sandbox.path("jobs.toml").exists());
    sandbox.run("init --system").exits(2);
}

#[test]
fn an_existing_file_stays_as_it_is() {
    let sandbox = with_crontab("@daily a\n");
    sandbox.write("jobs.toml", "# mine\n");
    import(&sandbox, "").exits(73).says("was left as it is");
    assert_eq!(sandbox.read("jobs.toml"), "# mine\n");
    assert_eq!(sandbox.read("crontab"), "@daily a\n");
}

#[test]
fn quiet_says_nothing_and_an_empty_crontab_is_no_failure() {
    let sandbox = with_crontab("99 * * * * a\n");
    import(&sandbox, "-q").ok().prints("").quietly();
    sandbox.call("init --from-crontab - --file empty.toml").stdin("").run().ok().shows("0 jobs").quietly();
    sandbox.run("check").ok();
    sandbox.run("check empty.toml").ok();
}

#[test]
fn json_has_the_facts_and_no_prose() {
    let sandbox = with_crontab("@daily a\n99 * * * * b\n");
    let told = import(&sandbox, "--json").says("cannot be the minute of a schedule").ok();
    let file = sandbox.path("jobs.toml");
    let expected = json!({
        "file": file,
        "source": "crontab -l",
        "jobs": [{ "line": 1, "name": "a" }],
        "left": [{ "line": 2, "text": "99 * * * * b", "why": told.json()["left"][0]["why"] }],
        "readings": [],
        "ignored_for": { "line": 2, "why": "it cannot read the time" },
        "lacks_mail": false,
    });
    assert_eq!(told.json(), expected);
    assert_eq!(told.stdout.lines().count(), 1, "{told}");
    fs::remove_file(&file).unwrap();
    let told = sandbox.run("init --json").ok();
    assert_eq!(told.json(), json!({ "file": file }));
    assert_eq!(told.stdout.lines().count(), 1, "{told}");
}

#[test]
fn what_another_cron_reads_otherwise_is_said() {
    let sandbox =
        with_crontab("MAILTO=\n0 2 * * 5#3 a\n0 3 * * * b $(date +%F)\nCRON_TZ=Asia/Tokyo 0 2 * * * c\n");
    import(&sandbox, "--file a.toml")
        .says("line 2: 5#3 is one week of the month here, as in libraries; Debian's cron ran it each week")
        .says("line 3 is not taken over: Debian's cron ends the command at the first %")
        .says("line 4 is not taken over: libraries run it by the clocks of a zone")
        .says("Debian's cron ignores this whole crontab, because of line 1: an empty value needs quotes")
        .ok();
    sandbox.run("check a.toml").ok();
    let told = import(&sandbox, "--json --file b.toml").says("line 2: ").says("line 3 ").says("line 4 ");
    let told = told.says("ignores this whole crontab").ok().json();
    assert_eq!((&told["readings"][0]["line"], &told["ignored_for"]["line"]), (&json!(2), &json!(1)));
}

#[test]
fn the_table_of_anacron_is_refused_by_its_name_and_by_its_lines() {
    let sandbox = with_crontab("");
    sandbox.write("anacrontab", "SHELL=/bin/sh\n");
    sandbox.write("copy", "1\t5\tcron.daily\trun-parts --report /etc/cron.daily\n");
    for table in ["anacrontab", "copy"] {
        import(&sandbox, table)
            .exits(65)
            .says("is a table of anacron")
            .says("schedule = \"@daily\", missed = \"once\"");
    }
    assert!(!sandbox.path("jobs.toml").exists());
}

#[test]
fn a_second_import_does_not_make_everything_twice() {
    let sandbox = with_crontab("@daily a\n@daily b\n");
    import(&sandbox, "").ok().quietly();
    sandbox.run("apply").ok();
    import(&sandbox, "--file again.toml").says("has applied a schedule of the name a,").says(" name b,").ok();
    sandbox.run("apply --file again.toml").exits(65);
    assert_eq!(sandbox.run("inspect schedules --json").ok().json_lines().len(), 2);
}

#[test]
fn the_summary_fits_a_screen_of_eighty_columns() {
    let sandbox = with_crontab(SMALL_SERVER);
    let path = format!("{}:/usr/bin:/bin", sandbox.path("bin").display());
    let told = sandbox.call("init --from-crontab --file jobs.toml").env("PATH", path).at_terminal(80).ok();
    let long: Vec<_> = told.stdout.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{told}");
}

#[test]
fn a_system_crontab_that_is_not_said_to_be_one_is_noticed() {
    let sandbox = with_crontab("");
    sandbox.write("copy", "@daily root a\n0 1 * * * root b\n");
    import(&sandbox, "copy --file a.toml").says("call it with --system").ok();
    import(&sandbox, "copy --system --file b.toml")
        .ok()
        .shows("both run them")
        .shows("/etc/cron.d")
        .quietly();
    sandbox.write("ids", "@daily 0 a\n");
    import(&sandbox, "ids --system --file c.toml").says("this machine has no user \"0\"").ok();
    assert!(sandbox.read("b.toml").contains("\"-u\", \"root\", \"--\"]"), "{}", sandbox.read("b.toml"));
}

/// A line, and what cron executes for it: the shell, its line, and standard input.
type Case = (&'static str, &'static str, &'static str, &'static str);

/// The variables `A`, `B`, `Q` and `SHELL` change between the lines; the test gives `HOME` and `PATH`.
const CASES: [Case; 16] = [
    ("0 2 * * * echo plain > file", "/bin/sh", "echo plain > file", ""),
    ("@daily\techo \"a  b\"  'c'   # no comment", "/bin/sh", "echo \"a  b\"  'c'   # no comment", ""),
    (r"0 2 * * * date -u -d @0 +\%F", "/bin/sh", "date -u -d @0 +%F", ""),
    ("0 2 * * * cat > in%one%two", "/bin/sh", "cat > in", "one\ntwo\n"),
    (r"0 2 * * * tr a-z A-Z% a\%b %%c\d%", "/bin/sh", "tr a-z A-Z", " a%b \n\nc\\d\n"),
    ("0 2 * * 7 cat", "/bin/sh", "cat", ""),
    (r"0 2 * * * printf '\\n[\n]'", "/bin/sh", r"printf '\n[\n]'", ""),
    ("A = \"x  y\" ", "", "A=x  y", ""),
    ("B='${HOME} $A'", "", "B=${HOME} $A", ""),
    (
        "0 2 * * * echo \"[$A] [$B]\" `echo sub` $((1 + 2)) >&2",
        "/bin/sh",
        "echo \"[$A] [$B]\" `echo sub` $((1 + 2)) >&2",
        "",
    ),
    ("Q=it's \"here\" # too", "", "Q=it's \"here\" # too", ""),
    (
        "*/5 * * * * pwd | sed 's,.*/,,'; echo \"$Q\"; mkdir -p d && cd d && touch $LOGNAME",
        "/bin/sh",
        "pwd | sed 's,.*/,,'; echo \"$Q\"; mkdir -p d && cd d && touch $LOGNAME",
        "",
    ),
    ("SHELL=/bin/bash", "", "SHELL=/bin/bash", ""),
    ("A=later", "", "A=later", ""),
    ("@weekly arr=(1 2 3); echo ${arr[1]} $A <<< x", "/bin/bash", "arr=(1 2 3); echo ${arr[1]} $A <<< x", ""),
    (
        "@hourly flock -n lock timeout 60 sh -c 'cat >> in; exit 3'%more",
        "/bin/bash",
        "flock -n lock timeout 60 sh -c 'cat >> in; exit 3'",
        "more\n",
    ),
];

/// The files below a folder with their text.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if entry.is_dir() {
            found.extend(files(&entry).into_iter().map(|(path, text)| (format!("{name}/{path}"), text)));
        } else {
            found.insert(name, fs::read_to_string(&entry).expect("text"));
        }
    }
    found
}

#[test]
fn jobs_run_what_cron_ran() {
    let sandbox = with_crontab("");
    let user = Command::new("id").arg("-un").output().expect("id").stdout;
    let user = String::from_utf8(user).unwrap().trim().to_owned();
    for folder in ["cron/home", "runner/home"] {
        fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    let home = |of: &str| sandbox.path(of).join("home").display().to_string();
    let show_env = "0 2 * * * env | sort > env";
    let lines = CASES.iter().flat_map(|(line, ..)| [*line, show_env]).collect::<Vec<_>>().join("\n");
    sandbox.write("crontab", format!("HOME={}\nMAILTO=\"\"\n{lines}\n", home("runner")));
    import(&sandbox, "").ok().quietly();
    sandbox.run("enqueue --all").ok();

    let set = |text: &str| -> BTreeSet<String> {
        let own = |line: &&str| !["PWD=", "OLDPWD=", "SHLVL=", "_="].iter().any(|own| line.starts_with(own));
        text.lines().filter(own).map(str::to_owned).collect()
    };
    let mut env = BTreeMap::from([
        ("HOME".to_owned(), home("cron")),
        ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
        ("SHELL".to_owned(), "/bin/sh".to_owned()),
        ("LOGNAME".to_owned(), user),
        ("MAILTO".to_owned(), String::new()),
    ]);
    let mut id = 0;
    for (line, shell, command, stdin) in CASES {
        if shell.is_empty() {
            let (name, value) = command.split_once('=').unwrap();
            env.insert(name.to_owned(), value.to_owned());
        }
        let by_cron = |line: &str, stdin: &str| {
            let mut program = Command::new(&env["SHELL"]);
            program.arg("-c").arg(line).env_clear().envs(&env).current_dir(home("cron"));
            program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = program.spawn().expect("a shell");
            // It may end without reading it.
            let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), stdin.as_bytes());
            child.wait_with_output().expect("its output")
        };
        if !shell.is_empty() {
            assert_eq!(env["SHELL"], shell, "{line}");
            id += 1;
            sandbox.run("work -j1 --max-jobs 1 -q");
            let expected = by_cron(command, stdin);
            let attempt = sandbox.attempt(id, 1);
            let text = |bytes| String::from_utf8(bytes).unwrap();
            let job = sandbox.job(id);
            assert_eq!(attempt["stdout"], text(expected.stdout), "{line}");
            let there = text(expected.stderr).replace(&home("cron"), &home("runner"));
            assert_eq!(attempt["stderr"], there, "{line}");
            assert_eq!(attempt["exit_code"], expected.status.code().unwrap(), "{line}");
            assert_eq!(job["max_attempts"], 1);
        }
        id += 1;
        sandbox.run("work -j1 --max-jobs 1 -q").ok();
        by_cron("env | sort > env", "");
        let [cron, runner] = ["cron", "runner"].map(|of| files(&sandbox.path(of).join("home")));
        let expected = set(&cron["env"].replace(&home("cron"), &home("runner")));
        let found = set(&runner["env"]).into_iter().filter(|line| !line.starts_with("RUNNER_")).collect();
        assert_eq!(expected, found, "{line}");
        let but_env = |files: BTreeMap<String, String>| {
            files.into_iter().filter(|(name, _)| name != "env").collect::<Vec<_>>()
        };
        assert_eq!(but_env(runner), but_env(cron), "{line}");
    }
}

#[test]
fn the_alert_mails_a_death_to_the_address() {
    let sandbox = with_crontab(
        "PATH=/bin-of-the-test:/usr/bin:/bin\nHOME=/\nMAILTO=me@example.org\n@daily echo help >&2; exit 7\n",
    );
    let crontab = sandbox.read("crontab").replace("HOME=/\n", &format!("HOME={}\n", sandbox.dir().display()));
    sandbox.write("crontab", crontab);
    import(&sandbox, "").ok().quietly();
    sandbox.run("enqueue echo").ok();
    sandbox.run("work -j1 --drain -q").exits(1);
    let mail = sandbox.read("mails");
    let (subject, text) = mail.split_once('\n').expect("lines");
    assert!(subject.starts_with("-s echo failed on ") && subject.ends_with(" me@example.org"), "{mail}");
    assert!(text.starts_with("EXIT_7: help\nhelp\n\nrunner inspect 1"), "{mail}");
}

#[test]
fn the_column_of_users_says_who_runs_the_job() {
    if !is_root() || !Path::new("/usr/sbin/runuser").exists() {
        return; // only root runs the jobs of others
    }
    let sandbox = with_crontab("");
    let show = "id -un; echo $LOGNAME $HOME $PATH $A; pwd; cat";
    sandbox.write("system", format!("A=b\n@daily nobody {show}%input\nHOME=/\n@weekly\tnobody\t{show}\n"));
    import(&sandbox, "system --system").ok();
    sandbox.run("enqueue --all").ok();
    sandbox.run("work -j1 --drain -q").ok();
    let home = if Path::new("/nonexistent").exists() { "/nonexistent" } else { "/" };
    let expected = format!("nobody\nnobody /nonexistent /usr/bin:/bin b\n{home}\ninput\n");
    assert_eq!(sandbox.attempt(1, 1)["stdout"], expected);
    assert_eq!(sandbox.attempt(2, 1)["stdout"], "nobody\nnobody / /usr/bin:/bin b\n/\n");
}

#[test]
fn what_steers_a_terminal_is_written_as_escapes() {
    let hostile = "\u{202e}\u{2028}\u{9b}\u{ad}\u{1b}";
    let sandbox = with_crontab(&format!(
        "# a note {hostile}\n\n# {hostile} why\nMAILTO=me{hostile}@x\nA{hostile}=b{hostile}\n\
         0 2 * * * echo '{hostile}'%in{hostile}\nnonsense {hostile}\n"
    ));
    let ran = import(&sandbox, "")
        .says("is not taken over: it is neither a variable nor the times of a command")
        .ok();
    let written = sandbox.read("jobs.toml");
    for text in [&written, &ran.stdout, &ran.stderr] {
        assert!(!text.contains(|c: char| hostile.contains(c)), "{text}");
    }
    assert!(written.contains("\\U0000202E\\U00002028\\U0000009B"), "{written}");
    sandbox.run("check").ok();
    let dry = sandbox.run("enqueue --dry-run --json --all").ok().json();
    assert_eq!(dry["command"], format!("echo '{hostile}'"));
}

#[test]
fn a_line_that_is_left_out_says_how_its_times_are_read() {
    let sandbox = Sandbox::empty();
    std::fs::create_dir_all(sandbox.path("etc/crontabs")).expect("a folder");
    sandbox.write("etc/crontabs/root", "30 1 */2 * * tar czf a-$(date +%F).tgz /srv\n");
    let ran = sandbox.run("init --from-crontab etc/crontabs/root").exits(0);
    ran.says("so the shell refuses it").says("busybox counts */2 from day 0");
    assert!(sandbox.read("jobs.toml").contains("busybox counts */2 from day 0"));
}
