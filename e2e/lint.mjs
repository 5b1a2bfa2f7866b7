// Lints the OpenAPI document at a URL with the recommended rules of Redocly, an
// independent reader of OpenAPI 3.1. Prints one line for each problem; the exit
// code is 1 when there is any, warnings included.
import { createConfig, lintFromString } from "@redocly/openapi-core";

const [url] = process.argv.slice(2);
const source = await (await fetch(url)).text();
const config = await createConfig({
  extends: ["recommended-strict"],
  rules: {
    "no-server-example.com": "off", // a server of tests is at 127.0.0.1
  },
});
// OpenAPI 3.1 cannot say what the events of a stream are: the first is named by an
// extension, the others by one where the server is metered and in the text elsewhere.
const ofEvents = ["StreamEvent", "NeedVoucher", "PaymentReceipt"];
const problems = (await lintFromString({ source, absoluteRef: url, config })).filter(
  (p) => !(p.ruleId === "no-unused-components" && ofEvents.some((name) => p.message.includes(`"${name}"`))),
);
for (const p of problems) {
  const at = p.location.map((l) => l.pointer ?? "").join(", ");
  console.log(`${p.severity} ${p.ruleId}: ${p.message} at ${at}`);
}
console.log(`${problems.length} problems`);
process.exit(problems.length > 0 ? 1 : 0);
