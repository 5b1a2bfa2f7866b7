// Client of a Txlens server. The types of requests, results and events are generated from
// the server's OpenAPI document (npm run generate); this file sends them by fetch and has no
// dependencies.
import { messages } from "./sse.js";
import type { components, operations, paths } from "./schema.js";

type Schemas = components["schemas"];

export type ExplainRequest = Schemas["ExplainRequest"];
export type ExplanationResult = Schemas["ExplanationResult"];
export type StreamEvent = Schemas["StreamEvent"];
export type Job = Schemas["Job"];
export type RunRecovery = Schemas["RunRecovery"];
export type Page = Schemas["Page"];
export type Health = Schemas["Health"];
export type View = NonNullable<ExplainRequest["view"]>;
export type Part = operations["readPart"]["parameters"]["path"]["part"];
export type PageQuery = NonNullable<operations["readPart"]["parameters"]["query"]>;
export type ExportFormat = operations["exportRun"]["parameters"]["path"]["format"];

export interface Options {
  /** Address of the server, such as http://127.0.0.1:8402. */
  baseUrl: string;
  /** Key of the caller, where the server asks for one. */
  key?: string;
  /** Headers of every request. */
  headers?: Record<string, string>;
  /** In place of the global fetch: one that pays, for example. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
}

/** An answer that is no success, or a stream that ended without a result. */
export class TxlensError extends Error {
  override readonly name = "TxlensError";
  constructor(
    message: string,
    /** Status of the answer; 0 where a stream failed. */
    readonly status: number,
    /** Code of the error, such as transaction_not_found; empty where there is none. */
    readonly code: string,
    /** Under which a run can be recovered. */
    readonly requestId: string,
    /** Seconds to wait before asking again; undefined where that makes no sense. */
    readonly retryAfter: number | undefined,
  ) {
    super(message);
  }
}

/** maxFailures bounds how often in turn wait finds the server away. */
const maxFailures = 8;

/** minPauseMs is the least pause after the first failure: a restart takes seconds. */
const minPauseMs = 500;

/** maxPauseMs bounds the pause after a failure, whatever the server asks for. */
const maxPauseMs = 15_000;

/** Statuses of a server that is busy, or of a proxy that does not reach it; those above 519 are Cloudflare's. */
const passingStatuses = [429, 502, 503, 504, 520, 521, 522, 523, 524, 530];

/** Names of what fetch throws without an answer, and what reading one that was cut throws. */
const networkFaults = ["TypeError", "SyntaxError", "FetchError", "NetworkError", "TimeoutError", "AbortError"];

/** passing tells whether a poll may succeed later. */
function passing(error: unknown): boolean {
  if (error instanceof TxlensError) return passingStatuses.includes(error.status);
  return networkFaults.includes((error as Error | undefined)?.name ?? "");
}

type Query = Record<string, string | number | undefined>;

export class Txlens {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #fetch: typeof fetch;

  constructor(options: Options) {
    this.#base = options.baseUrl.replace(/\/+$/, "");
    this.#headers = { ...options.headers };
    if (options.key !== undefined) this.#headers["Authorization"] = `Bearer ${options.key}`;
    this.#fetch = options.fetch ?? ((...args) => fetch(...args));
  }

  /** Explains a transaction and waits for the result. */
  async explain(request: Omit<ExplainRequest, "report">, options?: CallOptions): Promise<ExplanationResult> {
    return (await this.#post("/explain", request, options)).json() as Promise<ExplanationResult>;
  }

  /** Explains a transaction and returns the report as an HTML page. */
  async report(request: Omit<ExplainRequest, "report" | "view">, options?: CallOptions): Promise<string> {
    return (await this.#post("/explain", { ...request, report: true }, options)).text();
  }

  /** Explains a transaction and yields its events; the last one is the result. */
  async *stream(request: Omit<ExplainRequest, "report">, options?: CallOptions): AsyncGenerator<StreamEvent, ExplanationResult> {
    const answer = await this.#post("/explain", request, { ...options, accept: "text/event-stream" });
    const id = answer.headers.get("X-Request-Id") ?? "";
    if (!answer.body) throw new TxlensError("the answer has no body", 0, "", id, undefined);
    for await (const message of messages(answer.body)) {
      if (message.event !== "message") continue; // of payment
      const event = JSON.parse(message.data) as StreamEvent;
      if (event.type === "error") throw new TxlensError(event.message, 0, event.code ?? "", id, undefined);
      yield event;
      if (event.type === "result") return event;
    }
    throw new TxlensError(`the stream ended without a result; recover it with run("${id}")`, 0, "stream_cut", id, undefined);
  }

  /** Starts a job and returns its id. */
  async start(request: ExplainRequest, options?: CallOptions): Promise<string> {
    const accepted = (await (await this.#post("/explain/async", request, options)).json()) as Schemas["JobAccepted"];
    return accepted.jobId;
  }

  /** Returns where a job stands. */
  async job(jobId: string, query: { view?: View } = {}, options?: CallOptions): Promise<Job> {
    return this.#json("/result/{jobId}", { jobId }, query, options);
  }

  /**
   * Asks for a job until it has ended, every 5 seconds or as often as is said. A server that is
   * away, as during a restart, is asked again with growing pauses, for a minute or two.
   */
  async wait(jobId: string, options: CallOptions & { everyMs?: number; view?: View } = {}): Promise<Job> {
    const every = options.everyMs ?? 5000;
    for (let failed = 0; ; ) {
      try {
        const job = await this.job(jobId, options.view === undefined ? {} : { view: options.view }, options);
        if (job.status === "complete" || job.status === "error") return job;
        failed = 0;
      } catch (error) {
        if (failed++ === maxFailures || !passing(error)) throw error;
        const asked = error instanceof TxlensError ? error.retryAfter : undefined;
        const usual = Math.min(Math.max(every, minPauseMs) * 2 ** (failed - 1), maxPauseMs);
        await pause(asked === undefined ? usual : Math.min(Math.max(asked, 0) * 1000, maxPauseMs), options.signal);
        continue;
      }
      await pause(every, options.signal);
    }
  }

  /** Returns the final frames of a run. */
  async run(requestId: string, query: { view?: View } = {}, options?: CallOptions): Promise<RunRecovery> {
    return this.#json("/explain/run/{requestId}", { requestId }, query, options);
  }

  /** Returns one page of a part of a finished run or job. */
  async page(requestId: string, part: Part, query: PageQuery = {}, options?: CallOptions): Promise<Page> {
    return this.#json("/explain/run/{requestId}/{part}", { requestId, part }, query as Query, options);
  }

  /** Yields the items of a part, page by page. */
  async *items(requestId: string, part: Part, query: PageQuery = {}, options?: CallOptions): AsyncGenerator<unknown, void> {
    for (let from: number | null = query.from ?? 0; from !== null; ) {
      const page: Page = await this.page(requestId, part, { ...query, from }, options);
      yield* page.items;
      from = page.next;
    }
  }

  /** Returns a finished run or job in another format, such as transfers.csv. */
  async export(requestId: string, format: ExportFormat, options?: CallOptions): Promise<string> {
    return (await this.#get("/explain/run/{requestId}/export/{format}", { requestId, format }, {}, options)).text();
  }

  /** Returns whether the server lives, and its version. */
  async health(options?: CallOptions): Promise<Health> {
    return this.#json("/health", {}, {}, options);
  }

  async #json<T>(path: keyof paths & string, values: Record<string, string>, query: Query, options?: CallOptions): Promise<T> {
    return (await this.#get(path, values, query, options)).json() as Promise<T>;
  }

  async #get(path: keyof paths & string, values: Record<string, string>, query: Query, options?: CallOptions): Promise<Response> {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
    const suffix = search.size > 0 ? `?${search}` : "";
    return this.#send(filled + suffix, { method: "GET", headers: { ...this.#headers, Accept: "*/*" } }, options);
  }

  async #post(path: keyof paths & string, body: unknown, options?: CallOptions & { accept?: string }): Promise<Response> {
    const headers = { ...this.#headers, "Content-Type": "application/json", Accept: options?.accept ?? "application/json, text/html;q=0.9" };
    return this.#send(path, { method: "POST", headers, body: JSON.stringify(body) }, options);
  }

  async #send(path: string, init: RequestInit, options?: CallOptions): Promise<Response> {
    if (options?.signal) init.signal = options.signal;
    const answer = await this.#fetch(this.#base + path, init);
    if (answer.ok) return answer;
    throw await failure(answer);
  }
}

/** failure reads the error of an answer, whose body may be of anybody between here and there. */
async function failure(answer: Response): Promise<TxlensError> {
  let message = `HTTP status ${answer.status}`;
  let code = "";
  try {
    const body = (await answer.json()) as { error?: unknown; detail?: unknown; code?: unknown };
    if (typeof body.error === "string") message = body.error;
    else if (typeof body.detail === "string") message = body.detail;
    if (typeof body.code === "string") code = body.code;
  } catch {
    // no JSON: the status is all that is known
  }
  const wait = Number(answer.headers.get("Retry-After") ?? Number.NaN);
  return new TxlensError(message, answer.status, code, answer.headers.get("X-Request-Id") ?? "", Number.isFinite(wait) ? wait : undefined);
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
