// Uses a running server: node test/live.mjs BASE_URL TX_HASH. Prints one JSON object.
import { Txlens } from '../dist/index.js'

const [baseUrl, txHash] = process.argv.slice(2)
const client = new Txlens({ baseUrl })
const result = await client.explain({ txHash, chainId: 1 })
const events = []
let streamed
for await (const e of client.stream({ txHash, chainId: 1, view: 'summary', fresh: true })) {
  if (events.at(-1) !== e.type) events.push(e.type)
  streamed = e
}
const job = await client.wait(await client.start({ txHash }), { everyMs: 50 })
const items = []
for await (const item of client.items(streamed.requestId, 'calls', { limit: 7 })) items.push(item)
const csv = await client.export(streamed.requestId, 'calls.csv')
const wrong = await client.explain({ txHash: '0x12' }).catch((e) => e)
console.log(JSON.stringify({
  health: (await client.health()).status, txType: result.txType, summary: result.summary, streamed: streamed.summary, view: streamed.view.name, events,
  job: job.status, frames: result.prettyTrace.filter((n) => n.type !== 'LOG').length, items: items.length, lines: csv.trim().split('\n').length,
  report: (await client.report({ txHash, chainId: 1 })).slice(0, 15), run: (await client.run(streamed.requestId)).frames.at(-1).type, wrong: [wrong.status, wrong.message],
}))
