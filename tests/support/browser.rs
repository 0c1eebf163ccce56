//! A page as a real browser shows it.

use serde_json::Value;

use super::Sandbox;

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
