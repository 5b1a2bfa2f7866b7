// A client made from /openapi.json alone: every path, member and event below is
// checked by the compiler against the types that were made from that document.
// Usage: node build/main.js BASE_URL TX_HASH. Prints one JSON object.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];
type Result = Schemas["ExplanationResult"];
type StreamEvent = Schemas["StreamEvent"];

const [base, txHash] = process.argv.slice(2);
if (!base || !txHash) throw new Error("usage: main.js BASE_URL TX_HASH");
const client = createClient<paths>({ baseUrl: base });

function must<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`no ${what}`);
  return value;
}

function told(r: Result) {
  const moved = (r.balanceChanges ?? []).flatMap((c) => c.tokens.map((t) => t.tokenSymbol));
  return { txType: r.txType, confidence: r.confidence, partial: r.analysisModel === "partial-synthesis", nodes: r.prettyTrace.length, usd: r.costs.totalUsd, moved: moved.length };
}

async function blocking(): Promise<Result> {
  const { data, error } = await client.POST("/explain", { body: { txHash: must(txHash, "hash"), chainId: 1 } });
  if (error) throw new Error(JSON.stringify(error));
  if (typeof data === "string") throw new Error("a page where a result was asked for");
  return must(data, "result");
}

// next takes whole events off the front of what was read so far.
function next(text: string): { events: StreamEvent[]; rest: string } {
  const parts = text.split("\n\n");
  const rest = parts.pop() ?? "";
  return { rest, events: parts.map((p) => JSON.parse(p.replace(/^data: /gm, "")) as StreamEvent) };
}

async function streamed(): Promise<{ id: string; types: string[]; result: Result }> {
  const { data, response } = await client.POST("/explain", {
    body: { txHash: must(txHash, "hash") }, headers: { Accept: "text/event-stream" }, parseAs: "stream",
  });
  const types: string[] = [];
  let rest = "", last: StreamEvent | undefined;
  for await (const chunk of must(data ?? undefined, "stream") as unknown as AsyncIterable<Uint8Array>) {
    const got = next(rest + new TextDecoder().decode(chunk, { stream: true }));
    rest = got.rest;
    for (const e of got.events) {
      if (types.at(-1) !== e.type) types.push(e.type);
      if (e.type === "preflight_status" && e.state === "failed") throw new Error(e.message ?? e.phase);
      last = e;
    }
  }
  // The compiler knows the members of each type of event.
  if (last?.type === "error") throw new Error(`${last.code}: ${last.message} ${last.recover ?? ""}`);
  if (last?.type !== "result") throw new Error(`the stream ended with ${last?.type}`);
  return { id: must(response.headers.get("X-Request-Id") ?? undefined, "request id"), types, result: last };
}

async function job(): Promise<{ states: string[]; job: Schemas["Job"] }> {
  const { data, error } = await client.POST("/explain/async", { body: { txHash: must(txHash, "hash"), report: true } });
  if (error) throw new Error(JSON.stringify(error));
  const states: string[] = [must(data, "job").status];
  for (let i = 0; i < 600; i++) {
    const poll = await client.GET("/result/{jobId}", { params: { path: { jobId: must(data, "job").jobId } } });
    const at = must(poll.data, "answer to the poll");
    if (states.at(-1) !== at.status) states.push(at.status);
    if (at.status === "complete" || at.status === "error") return { states, job: at };
    await new Promise((wake) => setTimeout(wake, 100));
  }
  throw new Error("the job does not end");
}

const health = must((await client.GET("/health")).data, "health");
const spec = (await (await fetch(`${base}/tool-spec.json`)).json()) as { defaultModel: string; anthropic: { name: string }[] };
const opened = must((await client.POST("/session/deposit")).data, "deposit");
const result = await blocking();
const stream = await streamed();
const done = await job();

const run = must((await client.GET("/explain/run/{requestId}", { params: { path: { requestId: stream.id } } })).data, "run");
const replayed = run.frames.at(-1);

const wrong = await client.POST("/explain", { body: { txHash: "0x12" } });
const unknown = await client.GET("/result/{jobId}", { params: { path: { jobId: "00000000-0000-4000-8000-000000000000" } } });

console.log(JSON.stringify({
  health: health.status, version: health.version, defaultModel: spec.defaultModel, tools: spec.anthropic.map((t) => t.name), deposit: opened.ok,
  blocking: told(result), streamed: told(stream.result), types: stream.types,
  states: done.states, job: done.job.result && told(done.job.result), html: (done.job.html ?? "").startsWith("<!DOCTYPE html>"),
  replayed: replayed?.type === "result" && told(replayed),
  wrong: [wrong.response.status, wrong.error && "error" in wrong.error ? wrong.error.error : ""],
  unknown: [unknown.response.status, unknown.error && "error" in unknown.error ? unknown.error.error : ""],
}));
