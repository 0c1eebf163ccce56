//! What a person sees, on a screen and in a browser, and what a program reads as JSON.

use regex::Regex;
use serde_json::Value;

use super::Sandbox;

/// What differs from run to run, and what stands in its place in a snapshot.
const REDACTIONS: [(&str, &str); 12] = [
    (r"≤ \d+(?:\.\d)? MiB", "[SIZE]"),
    (r"\b[0-9a-f]{16}\b", "[WORKER]"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "[TIME]"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "[TIME]"),
    (r"\bpid \d+", "pid [PID]"),
    (r"\b(?:\d+(?:\.\d)? (?:ms|s)|\d+[mhd](?: \d+[smh])?) ago\b", "[AGO]"),
    (r"\bnow\b", "[AGO]"),
    (r"\bdied (?:(?:\d{4}-)?\d\d-\d\d )?\d\d:\d\d\b", "died [CLOCK]"),
    (r"\bin \d+[mhd](?: \d+[smh])?", "in [DURATION]"),
    (r"\b\d+(?:\.\d)? (?:ms|s)\b", "[DURATION]"),
    // Columns are as wide as what was redacted. A caret after a bar stays under what it points at.
    (r"([^\s|]) {2,}", "$1  "),
    (r"(?m) +$", ""),
];

/// What a person sees, without what differs from run to run.
pub fn assert_screen(sandbox: &Sandbox, check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(&sandbox.dir().display().to_string().replace('.', r"\."), "[DIR]");
    for (pattern, shown) in REDACTIONS {
        settings.add_filter(pattern, shown);
    }
    settings.bind(check);
}

/// What differs from day to day besides.
const DAILY: [(&str, &str); 2] =
    [(r"\b\d+ (?:B|KiB)\b", "[SIZE]"), (r"SQLite +\d+\.\d+\.\d+", "SQLite [VERSION]")];

/// A text without what differs from run to run.
pub fn redacted(text: &str) -> String {
    let redact = |text: String, (pattern, shown): &(&str, &str)| {
        Regex::new(pattern).expect("a pattern").replace_all(&text, *shown).into_owned()
    };
    DAILY.iter().chain(&REDACTIONS).fold(text.to_owned(), redact)
}

/// The object has these fields with these values, among others.
#[track_caller]
pub fn assert_fields(object: &Value, expected: &Value) {
    for (field, value) in expected.as_object().expect("an object of expected fields") {
        assert_eq!(object.get(field), Some(value), "{field} of {object:#}");
    }
}

/// The names of the browser.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Shows the page in frames of these widths, and tells what they are like.
const FRAMES: &str = r#"<!DOCTYPE html><meta charset="utf-8"><body><script>
const page = PAGE;
for (const width of [1280, 390]) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 900; frame.srcdoc = page; frame.style.border = 0;
  document.body.append(frame);
}
addEventListener("load", () => {
  const told = [...document.querySelectorAll("iframe")].map(frame => {
    const shown = frame.contentDocument, root = shown.documentElement;
    return {
      width: root.clientWidth, needs: root.scrollWidth,
      requests: frame.contentWindow.performance.getEntriesByType("resource").length,
      alien: shown.querySelectorAll("script, img, iframe, object, link, base, form, [src], [href], [onerror], [onload]").length,
      title: shown.title, text: root.innerText, marks: shown.querySelectorAll("svg rect").length,
    };
  });
  // Without the characters that the browser would escape when it prints this document.
  const escaped = c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0");
  document.body.textContent = "TOLD" + JSON.stringify(told).replace(/[<>&]|[^ -~]/g, escaped) + "TOLD";
});
</script></body>"#;

/// What a browser tells of a page at two widths, and its console; none, with a word, where there is no browser.
pub fn browse(sandbox: &Sandbox, page: &str) -> Option<(Vec<Value>, String)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = |name: &&&str| std::env::split_paths(&path).any(|folder| folder.join(name).exists());
    let Some(browser) = NAMES.iter().find(found) else {
        println!("skipped: there is no browser ({})", NAMES.join(", "));
        return None;
    };
    let literal = serde_json::to_string(page).expect("text").replace('<', "\\u003c");
    sandbox.write("frames.html", FRAMES.replace("PAGE", &literal));
    let shown = sandbox
        .program(browser)
        .arg("--headless")
        .arg("--no-sandbox")
        .arg("--disable-gpu")
        .arg("--disable-dev-shm-usage")
        .arg("--hide-scrollbars")
        .arg("--enable-logging=stderr")
        .arg(format!("--user-data-dir={}", sandbox.path("browser").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", sandbox.path("frames.html").display()))
        .run()
        .ok();
    let told =
        shown.stdout.split("TOLD").nth(1).unwrap_or_else(|| panic!("the browser tells nothing: {shown}"));
    let console = shown.stderr.lines().filter(|line| line.contains("CONSOLE")).collect::<Vec<_>>().join("\n");
    Some((serde_json::from_str(told).expect("JSON"), console))
}
