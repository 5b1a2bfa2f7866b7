import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Txlens, TxlensError } from '../dist/index.js'

const hash = '0x' + 'a'.repeat(64)

// A server that answers from a list and keeps what it was asked.
function fake(...answers) {
  const asked = []
  const client = new Txlens({
    baseUrl: 'http://server/', key: 'secret', headers: { 'X-Mine': '1' },
    fetch: async (url, init) => {
      asked.push({ url: String(url), ...init })
      const next = answers.shift()
      return typeof next === 'function' ? next(init) : next
    },
  })
  return { client, asked }
}
const json = (body, init) => new Response(JSON.stringify(body), init)

function body(...chunks) {
  const bytes = chunks.map((c) => (typeof c === 'string' ? new TextEncoder().encode(c) : c))
  return new ReadableStream({ start(c) { bytes.forEach((b) => c.enqueue(b)); c.close() } })
}

test('a request has its body, key and headers', async () => {
  const { client, asked } = fake(json({ txHash: hash }))
  assert.equal((await client.explain({ txHash: hash, view: 'summary' })).txHash, hash)
  assert.equal(asked[0].url, 'http://server/explain')
  assert.equal(asked[0].method, 'POST')
  assert.deepEqual(JSON.parse(asked[0].body), { txHash: hash, view: 'summary' })
  assert.equal(asked[0].headers.Authorization, 'Bearer secret')
  assert.equal(asked[0].headers['X-Mine'], '1')
})

test('a stream is read whatever its chunks are', async () => {
  const text = ': heartbeat\n\ndata: {"type":"complete","requestId":"1"}\n\nevent: payment-receipt\ndata: {}\n\ndata: {"type":"result","requestId":"1","summary":"für"}\n\n'
  const bytes = new TextEncoder().encode(text)
  for (let size = 1; size < 40; size++) {
    const chunks = []
    for (let i = 0; i < bytes.length; i += size) chunks.push(bytes.slice(i, i + size))
    const { client } = fake(new Response(body(...chunks)))
    const types = []
    let last
    for await (const e of client.stream({ txHash: hash })) { types.push(e.type); last = e }
    assert.deepEqual(types, ['complete', 'result'])
    assert.equal(last.summary, 'für')
  }
})

test('lines of a stream end at LF, CRLF and CR, wherever its chunks are cut', async () => {
  const lines = [': comment', '', 'data: {"type":"complete",', 'data:"requestId":"1"}', '', '', 'event: payment-receipt', 'data: {}', '', 'id', 'event:', 'data: {"type":"result","summary":"a"}', '', '']
  const ends = ['\n', '\r\n', '\r']
  for (const end of [...ends, undefined]) {
    const bytes = new TextEncoder().encode(lines.map((l, i) => l + (end ?? ends[i % 3])).join(''))
    for (let size = 1; size <= bytes.length; size++) {
      const chunks = []
      for (let i = 0; i < bytes.length; i += size) chunks.push(bytes.slice(i, i + size), new Uint8Array())
      const { client } = fake(new Response(body(...chunks)))
      const types = []
      for await (const e of client.stream({ txHash: hash })) types.push(e.type)
      assert.deepEqual(types, ['complete', 'result'], `${JSON.stringify(end)}, chunks of ${size}`)
    }
  }
})

test('an event is there with its last line end, which may be half a CRLF', async () => {
  let control
  const { client } = fake(new Response(new ReadableStream({ start(c) { control = c } })))
  const send = (text) => control.enqueue(new TextEncoder().encode(text))
  const events = client.stream({ txHash: hash })
  send('data: {"type":"a"}\r\n\r')
  assert.equal((await events.next()).value.type, 'a')
  send('\ndata: {"type":"b"}\r\r')
  assert.equal((await events.next()).value.type, 'b')
  send('\n\n\ndata: {"type":"result"}\n\n')
  assert.equal((await events.next()).value.type, 'result')
})

test('a large event in small chunks is searched once', async () => {
  const { messages } = await import('../dist/sse.js')
  const searched = { n: 0 }
  const exec = RegExp.prototype.exec
  RegExp.prototype.exec = function (text) { searched.n += text.length - this.lastIndex; return exec.call(this, text) }
  const index = String.prototype.indexOf
  String.prototype.indexOf = function (...args) { searched.n += this.length; return index.apply(this, args) }
  try {
    const chunk = new TextEncoder().encode('x'.repeat(1000))
    for await (const m of messages(body('data: ', ...Array(2000).fill(chunk), '\n\n'))) assert.equal(m.data.length, 2e6)
  } finally {
    RegExp.prototype.exec = exec
    String.prototype.indexOf = index
  }
  assert.ok(searched.n < 2e7, `${searched.n} characters were searched for an event of 2000000`)
})

test('a stream that fails or breaks off is an error with the id of its run', async () => {
  const f = async (text, code, says) => {
    const { client } = fake(new Response(body(text), { headers: { 'X-Request-Id': 'run-1' } }))
    await assert.rejects(
      async () => { for await (const _ of client.stream({ txHash: hash })); },
      (e) => e instanceof TxlensError && e.code === code && e.requestId === 'run-1' && e.message.includes(says),
    )
  }
  await f('data: {"type":"error","code":"transaction_not_found","message":"no chain knows it"}\n\n', 'transaction_not_found', 'no chain')
  await f('data: {"type":"complete"}\n\n', 'stream_cut', 'run("run-1")')
  await f('data: {"type":"result"', 'stream_cut', 'without a result')
})

test('errors have status, code and when to ask again', async () => {
  const f = async (answer, want) => {
    const { client } = fake(answer)
    await assert.rejects(() => client.explain({ txHash: hash }), (e) => {
      assert.deepEqual({ status: e.status, code: e.code, message: e.message, retryAfter: e.retryAfter }, want)
      return e instanceof TxlensError
    })
  }
  await f(json({ error: 'busy', code: 'busy' }, { status: 503, headers: { 'Retry-After': '5' } }), { status: 503, code: 'busy', message: 'busy', retryAfter: 5 })
  await f(json({ detail: 'pay' }, { status: 402 }), { status: 402, code: '', message: 'pay', retryAfter: undefined })
  await f(new Response('<html>', { status: 502 }), { status: 502, code: '', message: 'HTTP status 502', retryAfter: undefined })
})

test('a job is asked for until it has ended', async () => {
  const { client, asked } = fake(json({ jobId: 'j/1', status: 'pending' }), json({ jobId: 'j/1', status: 'running' }), json({ jobId: 'j/1', status: 'complete' }))
  assert.equal(await client.start({ txHash: hash }), 'j/1')
  assert.equal((await client.wait('j/1', { everyMs: 1, view: 'summary' })).status, 'complete')
  assert.equal(asked[2].url, 'http://server/result/j%2F1?view=summary')
})

test('waiting outlives a server that is away', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const cut = () => { throw new TypeError('fetch failed') }
  const status = (code, headers) => () => new Response('<html>', { status: code, headers })
  const broken = () => new Response(new ReadableStream({ start(c) { c.error(new TypeError('terminated')) } }))
  const done = () => json({ status: 'complete' })
  const waited = async (...answers) => {
    const { client, asked } = fake(...answers)
    let end, at = 0
    const pauses = []
    client.wait('j').then((j) => { end = j }, (e) => { end = e })
    while (end === undefined) {
      const before = asked.length
      for (let i = 0; i < 20; i++) await new Promise(setImmediate)
      if (end !== undefined) break
      for (at = 0; asked.length === before && at < 3600; at++) { t.mock.timers.tick(1000); await new Promise(setImmediate) }
      pauses.push(at)
    }
    return { end, pauses, polls: asked.length }
  }
  for (const bad of [cut, broken, status(502), status(503), status(504), status(429), status(521)]) {
    const { end, pauses } = await waited(bad, bad, bad, () => json({ status: 'running' }), bad, done)
    assert.equal(end.status, 'complete', String(end))
    assert.deepEqual(pauses, [5, 10, 15, 5, 5])
  }
  const { pauses } = await waited(status(503, { 'Retry-After': '2' }), status(503, { 'Retry-After': '9999' }), done)
  assert.deepEqual(pauses, [2, 15])
  const gone = await waited(...Array(20).fill(status(502)))
  assert.deepEqual([gone.end.status, gone.polls], [502, 9])
  for (const final of [status(404), status(402), status(500), () => { throw new RangeError('too much') }]) {
    const { end, polls } = await waited(final, done)
    assert.ok(end instanceof Error)
    assert.equal(polls, 1)
  }
})

test('waiting for a server that is away ends with its signal', async () => {
  const stop = new AbortController()
  const { client, asked } = fake(() => { stop.abort(new Error('enough')); throw new TypeError('fetch failed') })
  await assert.rejects(() => client.wait('j', { signal: stop.signal }))
  assert.equal(asked.length, 1)
})

test('waiting ends with its signal', async () => {
  const { client } = fake(json({ status: 'running' }))
  await assert.rejects(() => client.wait('j', { everyMs: 1e6, signal: AbortSignal.timeout(1) }))
})

test('items are read page by page', async () => {
  const { client, asked } = fake(json({ items: [1, 2], next: 2 }), json({ items: [3], next: null }))
  const got = []
  for await (const item of client.items('run', 'calls', { status: 'failed', limit: 2 })) got.push(item)
  assert.deepEqual(got, [1, 2, 3])
  assert.equal(asked[1].url, 'http://server/explain/run/run/calls?status=failed&limit=2&from=2')
})

test('a run is exported', async () => {
  const { client, asked } = fake(new Response('a,b\n'))
  assert.equal(await client.export('run', 'calls.csv'), 'a,b\n')
  assert.equal(asked[0].url, 'http://server/explain/run/run/export/calls.csv')
})
