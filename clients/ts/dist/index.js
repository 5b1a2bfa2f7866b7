// Client of a Txlens server. The types of requests, results and events are generated from
// the server's OpenAPI document (npm run generate); this file sends them by fetch and has no
// dependencies.
import { messages } from "./sse.js";
/** An answer that is no success, or a stream that ended without a result. */
export class TxlensError extends Error {
    status;
    code;
    requestId;
    retryAfter;
    name = "TxlensError";
    constructor(message, 
    /** Status of the answer; 0 where a stream failed. */
    status, 
    /** Code of the error, such as transaction_not_found; empty where there is none. */
    code, 
    /** Under which a run can be recovered. */
    requestId, 
    /** Seconds to wait before asking again; undefined where that makes no sense. */
    retryAfter) {
        super(message);
        this.status = status;
        this.code = code;
        this.requestId = requestId;
        this.retryAfter = retryAfter;
    }
}
export class Txlens {
    #base;
    #headers;
    #fetch;
    constructor(options) {
        this.#base = options.baseUrl.replace(/\/+$/, "");
        this.#headers = { ...options.headers };
        if (options.key !== undefined)
            this.#headers["Authorization"] = `Bearer ${options.key}`;
        this.#fetch = options.fetch ?? ((...args) => fetch(...args));
    }
    /** Explains a transaction and waits for the result. */
    async explain(request, options) {
        return (await this.#post("/explain", request, options)).json();
    }
    /** Explains a transaction and returns the report as an HTML page. */
    async report(request, options) {
        return (await this.#post("/explain", { ...request, report: true }, options)).text();
    }
    /** Explains a transaction and yields its events; the last one is the result. */
    async *stream(request, options) {
        const answer = await this.#post("/explain", request, { ...options, accept: "text/event-stream" });
        const id = answer.headers.get("X-Request-Id") ?? "";
        if (!answer.body)
            throw new TxlensError("the answer has no body", 0, "", id, undefined);
        for await (const message of messages(answer.body)) {
            if (message.event !== "message")
                continue; // of payment
            const event = JSON.parse(message.data);
            if (event.type === "error")
                throw new TxlensError(event.message, 0, event.code ?? "", id, undefined);
            yield event;
            if (event.type === "result")
                return event;
        }
        throw new TxlensError(`the stream ended without a result; recover it with run("${id}")`, 0, "stream_cut", id, undefined);
    }
    /** Starts a job and returns its id. */
    async start(request, options) {
        const accepted = (await (await this.#post("/explain/async", request, options)).json());
        return accepted.jobId;
    }
    /** Returns where a job stands. */
    async job(jobId, query = {}, options) {
        return this.#json("/result/{jobId}", { jobId }, query, options);
    }
    /** Asks for a job until it has ended, every 5 seconds or as often as is said. */
    async wait(jobId, options = {}) {
        for (;;) {
            const job = await this.job(jobId, options.view === undefined ? {} : { view: options.view }, options);
            if (job.status === "complete" || job.status === "error")
                return job;
            await pause(options.everyMs ?? 5000, options.signal);
        }
    }
    /** Returns the final frames of a run. */
    async run(requestId, query = {}, options) {
        return this.#json("/explain/run/{requestId}", { requestId }, query, options);
    }
    /** Returns one page of a part of a finished run or job. */
    async page(requestId, part, query = {}, options) {
        return this.#json("/explain/run/{requestId}/{part}", { requestId, part }, query, options);
    }
    /** Yields the items of a part, page by page. */
    async *items(requestId, part, query = {}, options) {
        for (let from = query.from ?? 0; from !== null;) {
            const page = await this.page(requestId, part, { ...query, from }, options);
            yield* page.items;
            from = page.next;
        }
    }
    /** Returns a finished run or job in another format, such as transfers.csv. */
    async export(requestId, format, options) {
        return (await this.#get("/explain/run/{requestId}/export/{format}", { requestId, format }, {}, options)).text();
    }
    /** Returns whether the server lives, and its version. */
    async health(options) {
        return this.#json("/health", {}, {}, options);
    }
    async #json(path, values, query, options) {
        return (await this.#get(path, values, query, options)).json();
    }
    async #get(path, values, query, options) {
        const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ""));
        const search = new URLSearchParams();
        for (const [name, value] of Object.entries(query))
            if (value !== undefined)
                search.set(name, String(value));
        const suffix = search.size > 0 ? `?${search}` : "";
        return this.#send(filled + suffix, { method: "GET", headers: { ...this.#headers, Accept: "*/*" } }, options);
    }
    async #post(path, body, options) {
        const headers = { ...this.#headers, "Content-Type": "application/json", Accept: options?.accept ?? "application/json, text/html;q=0.9" };
        return this.#send(path, { method: "POST", headers, body: JSON.stringify(body) }, options);
    }
    async #send(path, init, options) {
        if (options?.signal)
            init.signal = options.signal;
        const answer = await this.#fetch(this.#base + path, init);
        if (answer.ok)
            return answer;
        throw await failure(answer);
    }
}
/** failure reads the error of an answer, whose body may be of anybody between here and there. */
async function failure(answer) {
    let message = `HTTP status ${answer.status}`;
    let code = "";
    try {
        const body = (await answer.json());
        if (typeof body.error === "string")
            message = body.error;
        else if (typeof body.detail === "string")
            message = body.detail;
        if (typeof body.code === "string")
            code = body.code;
    }
    catch {
        // no JSON: the status is all that is known
    }
    const wait = Number(answer.headers.get("Retry-After") ?? Number.NaN);
    return new TxlensError(message, answer.status, code, answer.headers.get("X-Request-Id") ?? "", Number.isFinite(wait) ? wait : undefined);
}
function pause(ms, signal) {
    return new Promise((resolve, reject) => {
        if (signal?.aborted)
            return reject(signal.reason);
        const timer = setTimeout(resolve, ms);
        signal?.addEventListener("abort", () => {
            clearTimeout(timer);
            reject(signal.reason);
        }, { once: true });
    });
}
