//! Compares screens and JSON with snapshots, and looks at pages with a browser.

use regex::Regex;
use serde_json::Value;

use super::Sandbox;

/// Patterns of text that differs from run to run, and its substitutes in snapshots.
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

/// Runs a check of snapshots in which text that differs from run to run is replaced.
pub fn assert_screen(sandbox: &Sandbox, check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(&sandbox.dir().display().to_string().replace('.', r"\."), "[DIR]");
    for (pattern, shown) in REDACTIONS {
        settings.add_filter(pattern, shown);
    }
    settings.bind(check);
}

/// Text that differs from day to day besides.
const DAILY: [(&str, &str); 3] = [
    (r"\b\d+ (?:B|KiB)\b", "[SIZE]"),
    (r"SQLite +\d+\.\d+\.\d+", "SQLite [VERSION]"),
    (r"\buntil (?:\d\d-\d\d )?\d\d:\d\d\b", "until [CLOCK]"),
];

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

/// A page without the elements around words of commands.
pub fn page_text(page: &str) -> String {
    page.replace("<i>", "").replace("</i>", "")
}

/// The names of the browser.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Shows the page in frames of these widths, and tells what they are like.
const FRAMES: &str = r#"<!DOCTYPE html><meta charset="utf-8"><body><script>
const page = PAGE;
for (const scheme of ["light", "dark"]) for (const width of [1280, 768, 390]) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 900; frame.srcdoc = page; frame.style.border = 0;
  frame.style.colorScheme = scheme;
  document.body.append(frame);
}
// The words in which a line of these elements ends, and the short words in which any line ends: none may.
const whole = "time, .at, .number, .tiles li, thead th";
function broken(shown) {
  const found = [];
  for (const [elements, words] of [[whole, /\S+/g], ["body", /(?<!\S)\w{1,12}(?!\S)/g]]) for (const element of shown.querySelectorAll(elements)) {
    const walk = shown.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode());) {
      for (const word of node.data.matchAll(words)) {
        const range = shown.createRange();
        range.setStart(node, word.index); range.setEnd(node, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map(rect => Math.round(rect.top))).size > 1) found.push(word[0]);
      }
    }
  }
  return [...new Set(found)];
}
// The least contrast of any text with what it stands on.
function contrast(shown) {
  const parts = colour => (colour.match(/[\d.]+/g) || []).map(Number);
  const luminance = colour => parts(colour).slice(0, 3).map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0.05);
  const ground = element => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const all = [...shown.body.querySelectorAll("*")]
    .filter(element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
    .map(element => [luminance(getComputedStyle(element).color), luminance(ground(element))])
    .map(([one, other]) => Math.max(one, other) / Math.min(one, other));
  return Math.min(...all);
}
addEventListener("load", () => {
  const told = [...document.querySelectorAll("iframe")].map(frame => {
    const shown = frame.contentDocument, root = shown.documentElement;
    const height = root.scrollHeight;
    shown.querySelectorAll("details").forEach(details => { details.open = true; });
    return {
      width: root.clientWidth, dark: frame.contentWindow.matchMedia("(prefers-color-scheme: dark)").matches, needs: root.scrollWidth,
      requests: frame.contentWindow.performance.getEntriesByType("resource").length,
      alien: shown.querySelectorAll("script, img, iframe, object, link, base, form, [src], [href], [onerror], [onload]").length,
      title: shown.title, text: root.innerText, broken: broken(shown), contrast: contrast(shown),
      focusable: [...shown.querySelectorAll("*")].filter(element => element.tabIndex >= 0).length,
      facts: shown.querySelectorAll("details .facts tbody tr").length,
      height, blocks: [...shown.querySelectorAll("table")].filter(table => getComputedStyle(table).display !== "table").length,
      rows: shown.querySelectorAll("table:not(.facts) tr").length,
      told: shown.querySelectorAll("table:not(.facts) tr[role=row]").length,
    };
  });
  // Without the characters that the browser would escape when it prints this document.
  const escaped = c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0");
  document.body.textContent = "TOLD" + JSON.stringify(told).replace(/[<>&]|[^ -~]/g, escaped) + "TOLD";
});
</script></body>"#;

/// Opens a page in a browser at three widths, in light and in dark, and gives its measures and its console; none, with a
/// word, without a browser.
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
        .says("unexpected operator")
        .says("unexpected operator")
        .says("unexpected operator")
        .ok();
    let told =
        shown.stdout.split("TOLD").nth(1).unwrap_or_else(|| panic!("the browser tells nothing: {shown}"));
    let console = shown.stderr.lines().filter(|line| line.contains("CONSOLE")).collect::<Vec<_>>().join("\n");
    Some((serde_json::from_str(told).expect("JSON"), console))
}
