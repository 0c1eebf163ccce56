// Prints the next times by croner, for days.py: each line of standard input is a JSON array [zone, seconds, count, line of cron];
// the answer is these times in seconds, or a mistake.

import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.cwd() + "/");
const { Cron } = await import(pathToFileURL(require.resolve("croner")));

for await (const question of createInterface({ input: process.stdin })) {
  const [timezone, seconds, count, line] = JSON.parse(question);
  try {
    const times = new Cron(line, { timezone }).nextRuns(count, new Date(seconds * 1000));
    console.log(times.map((time) => time.getTime() / 1000).join(" "));
  } catch (error) {
    console.log(`mistake: ${error.message}`);
  }
}
