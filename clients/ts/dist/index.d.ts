import type { components, operations } from "./schema.js";
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
export declare class TxlensError extends Error {
    /** Status of the answer; 0 where a stream failed. */
    readonly status: number;
    /** Code of the error, such as transaction_not_found; empty where there is none. */
    readonly code: string;
    /** Under which a run can be recovered. */
    readonly requestId: string;
    /** Seconds to wait before asking again; undefined where that makes no sense. */
    readonly retryAfter: number | undefined;
    readonly name = "TxlensError";
    constructor(message: string, 
    /** Status of the answer; 0 where a stream failed. */
    status: number, 
    /** Code of the error, such as transaction_not_found; empty where there is none. */
    code: string, 
    /** Under which a run can be recovered. */
    requestId: string, 
    /** Seconds to wait before asking again; undefined where that makes no sense. */
    retryAfter: number | undefined);
}
export declare class Txlens {
    #private;
    constructor(options: Options);
    /** Explains a transaction and waits for the result. */
    explain(request: Omit<ExplainRequest, "report">, options?: CallOptions): Promise<ExplanationResult>;
    /** Explains a transaction and returns the report as an HTML page. */
    report(request: Omit<ExplainRequest, "report" | "view">, options?: CallOptions): Promise<string>;
    /** Explains a transaction and yields its events; the last one is the result. */
    stream(request: Omit<ExplainRequest, "report">, options?: CallOptions): AsyncGenerator<StreamEvent, ExplanationResult>;
    /** Starts a job and returns its id. */
    start(request: ExplainRequest, options?: CallOptions): Promise<string>;
    /** Returns where a job stands. */
    job(jobId: string, query?: {
        view?: View;
    }, options?: CallOptions): Promise<Job>;
    /** Asks for a job until it has ended, every 5 seconds or as often as is said. */
    wait(jobId: string, options?: CallOptions & {
        everyMs?: number;
        view?: View;
    }): Promise<Job>;
    /** Returns the final frames of a run. */
    run(requestId: string, query?: {
        view?: View;
    }, options?: CallOptions): Promise<RunRecovery>;
    /** Returns one page of a part of a finished run or job. */
    page(requestId: string, part: Part, query?: PageQuery, options?: CallOptions): Promise<Page>;
    /** Yields the items of a part, page by page. */
    items(requestId: string, part: Part, query?: PageQuery, options?: CallOptions): AsyncGenerator<unknown, void>;
    /** Returns a finished run or job in another format, such as transfers.csv. */
    export(requestId: string, format: ExportFormat, options?: CallOptions): Promise<string>;
    /** Returns whether the server lives, and its version. */
    health(options?: CallOptions): Promise<Health>;
}
export {};
