/** One server-sent event: its name, message where none is given, and its data. */
export interface Message {
  event: string;
  data: string;
}

/** maxMessage bounds one event, in characters. */
const maxMessage = 256 << 20;

/** messages reads server-sent events of a body, whatever its chunks are. */
export async function* messages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const lines = new Lines();
  const fields = new Fields();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      for (const line of lines.add(done ? decoder.decode() : decoder.decode(value, { stream: true }))) {
        const message = fields.add(line);
        if (message) yield message;
      }
      if (lines.length + fields.length > maxMessage) throw new Error("an event is larger than 256 MiB");
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/**
 * Lines splits text at LF, CRLF and CR. Each character is looked at once: an event of many
 * megabytes comes in thousands of chunks.
 */
class Lines {
  /** Pieces of the line whose end has not come. */
  #pieces: string[] = [];
  /** The last character was CR, so that an LF belongs to it. */
  #afterCR = false;
  length = 0;

  *add(text: string): Generator<string, void> {
    if (text === "") return;
    let from = this.#afterCR && text[0] === "\n" ? 1 : 0;
    this.#afterCR = text.endsWith("\r");
    const ends = /\r\n?|\n/g;
    ends.lastIndex = from;
    for (let end = ends.exec(text); end; end = ends.exec(text)) {
      const line = this.#pieces.join("") + text.slice(from, end.index);
      this.#pieces = [];
      this.length = 0;
      from = ends.lastIndex;
      yield line;
    }
    if (from === text.length) return;
    this.#pieces.push(text.slice(from));
    this.length += text.length - from;
  }
}

/** Fields collects the lines of an event. */
class Fields {
  #name = "";
  #data: string[] = [];
  length = 0;

  /** add returns the event that an empty line ends; undefined where it was of comments alone. */
  add(line: string): Message | undefined {
    if (line === "") {
      const message = this.#data.length > 0 ? { event: this.#name || "message", data: this.#data.join("\n") } : undefined;
      this.#name = "";
      this.#data = [];
      this.length = 0;
      return message;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.#name = value;
    if (field !== "data") return undefined;
    this.#data.push(value);
    this.length += value.length + 1;
    return undefined;
  }
}
