/** One server-sent event: its name, message where none is given, and its data. */
export interface Message {
    event: string;
    data: string;
}
/** messages reads server-sent events of a body, whatever its chunks are. */
export declare function messages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message, void>;
