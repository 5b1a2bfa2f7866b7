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
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
        const message = parse(rest.slice(0, end));
        rest = rest.slice(end + 2);
        if (message) yield message;
      }
      if (rest.length > maxMessage) throw new Error("an event is larger than 256 MiB");
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** parse reads the lines of an event; undefined where they are comments alone. */
function parse(text: string): Message | undefined {
  let event = "message";
  const data: string[] = [];
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0 || line === "") continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "").replace(/\r$/, "");
    if (name === "event") event = value;
    if (name === "data") data.push(value);
  }
  return data.length > 0 ? { event, data: data.join("\n") } : undefined;
}
