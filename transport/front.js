"use strict";
(() => {
  const form = document.querySelector("form.find");
  const progress = document.getElementById("progress");
  if (!form || !window.fetch || !window.ReadableStream) return;
  const say = (text) => { progress.textContent = text; };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    explain(form.elements.hash.value)
      .catch((error) => say(error.message))
      .finally(() => { button.disabled = false; });
  });

  async function explain(text) {
    say("Looking it up …");
    const found = await fetch("tx?hash=" + encodeURIComponent(text), { headers: { Accept: "application/json" } });
    if (!found.ok) throw new Error("Enter the hash of a transaction, the address of its page in an explorer, or a signed transaction.");
    const tx = await found.json();
    const body = { txHash: tx.txHash };
    if (tx.chainId) body.chainId = tx.chainId;
    const answer = await fetch("explain", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error((await answer.json()).error || answer.statusText);
    await follow(answer.body.getReader(), tx, answer.headers.get("X-Request-Id"));
  }

  // follow reads events until the last one. The result itself is not parsed: it is on
  // record before it is sent, and may be large.
  async function follow(reader, tx, id) {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) throw new Error("The connection broke off. Try again.");
      rest += decoder.decode(value, { stream: true });
      if (/^data: \{"type":"result"/m.test(rest)) {
        reader.cancel();
        location.assign(form.dataset.runs === "1" && id ? "run/" + id : tx.page);
        return;
      }
      const lines = rest.split("\n");
      rest = lines.pop();
      for (const line of lines) {
        if (!line.startsWith("data: ")) continue;
        const event = JSON.parse(line.slice(6));
        if (event.type === "error") throw new Error(event.message || event.error || "The analysis failed.");
        const text = told(event);
        if (text) say(text);
      }
    }
  }

  function told(event) {
    switch (event.type) {
      case "preflight_status": return [event.phase, event.state, event.chain].filter(Boolean).join(" ");
      case "preflight_done": return "The evidence is there.";
      case "iteration": return "The language model is at turn " + event.iteration + ".";
      case "complete": return "Done.";
    }
    return "";
  }
})();
