// A buyer with mppx's client against `txlens serve`: node txlens.mjs CONFIG.json.
// The configuration holds the program, where its chains are, the data folder and the
// transaction to explain. Exit code 0 when every step went as the SDK and the
// sandbox's books say it must.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import * as client from 'mppx/client'
import { Account, Actions } from 'viem/tempo'
import { Server } from './process.mjs'
import { balanced, chainClient, keys, ousd, pathUSD, payer, rpc } from './parties.mjs'
import { cent, price } from './price.mjs'

const config = JSON.parse(await readFile(process.argv[2], 'utf8'))
const { chainId } = await rpc(config.chain, 'sandbox_info')
const server = new Server(config, chainId, [`--call-price=rpc=${config.callPrice}`, '--settle-token', ousd])

let requests = 0
/** A request that no earlier one equals: an equal one would join its analysis for nothing. */
const post = () => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ txHash: config.txHash, chainId: 1, context: `request ${requests++}` }),
})
const payee = Account.fromSecp256k1(keys.payee)

/** Leaves in a 402 only the challenge in a token, which is how a client chooses. */
function choose(answer, token) {
  if (!token || answer.status !== 402) return answer
  const list = answer.headers.get('www-authenticate').split(/, (?=Payment )/)
  const currency = (challenge) => JSON.parse(Buffer.from(challenge.match(/ request="([^"]+)"/)[1], 'base64url')).currency.toLowerCase()
  assert.deepEqual(list.map(currency), [pathUSD, ousd.toLowerCase()], 'one challenge for each token')
  const headers = new Headers(answer.headers)
  headers.set('www-authenticate', list.find((challenge) => currency(challenge) === token.toLowerCase()))
  return new Response(answer.body, { status: answer.status, headers })
}

/** One payer with one channel, and what it must have been charged so far. */
class Buyer {
  constructor(account, more = {}) {
    this.account = account
    this.statuses = [] // of each request that the SDK made
    const { token, ...rest } = more
    this.token = token // the one to pay with; default that of the first challenge
    this.more = { maxDeposit: '20', ...rest }
    this.owed = 0n
    this.manager = this.newManager()
  }

  newManager() {
    const counted = async (input, init) => {
      const answer = choose(await fetch(input, init), this.token)
      this.statuses.push(answer.status)
      return answer
    }
    return payer({ url: config.chain, account: this.account, chainId, fetch: counted, ...this.more })
  }

  /** One request; its status, unless another is told, must be 200. */
  async ask(path, init, status = 200) {
    const answer = await this.manager.fetch(server.url + path, init)
    if (answer.status !== status) assert.fail(`${path}: ${answer.status}, want ${status}: ${await answer.text()}`)
    return answer
  }

  /** The probe opens a channel and is charged nothing. */
  async deposit() {
    const answer = await this.ask('/session/deposit', { method: 'POST' })
    assert.deepEqual(await answer.json(), { ok: true })
    assert.equal(answer.receipt.spent, '0')
  }

  async submit() {
    const answer = await this.ask('/explain/async', post(), 202)
    this.owed += cent
    assert.equal(answer.receipt.spent, String(this.owed))
    return (await answer.json()).jobId
  }

  /** Polls until the job is complete; each poll pays what accrued. */
  async poll(jobId) {
    let receipt
    for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((next) => setTimeout(next, 50))) {
      const answer = await this.manager.fetch(`${server.url}/result/${jobId}`)
      receipt = answer.receipt ?? receipt
      if (answer.status === 402) continue // it ended between the challenge and its answer
      if (answer.status !== 200) assert.fail(`poll: ${answer.status} ${await answer.text()}`)
      const job = await answer.json()
      if (job.status !== 'complete') continue
      this.owed += price(job.result) - cent
      assert.equal(receipt?.spent, String(this.owed), 'what the last poll that was paid left')
      const free = await fetch(`${server.url}/result/${jobId}`)
      assert.equal(free.status, 200, 'a job that is paid for is free')
      return job.result
    }
    assert.fail('the job does not end')
  }

  /** Streams one analysis to its end; tells how many vouchers it took on the way. */
  async stream(path = '/explain') {
    const before = this.statuses.length
    let receipt
    const frames = []
    for await (const data of await this.manager.sse(server.url + path, { ...post(), onReceipt: (r) => (receipt = r) })) frames.push(JSON.parse(data))
    const last = frames.at(-1)
    assert.equal(last.type, 'result', JSON.stringify(last))
    assert.equal(last.txHash, config.txHash)
    this.owed += price(last)
    assert.equal(receipt?.spent, String(this.owed), 'the last event of the stream')
    return this.statuses.slice(before).filter((s) => s === 204).length
  }

  /** Closes the channel: what was charged is paid out, the rest comes back. */
  async close() {
    const id = this.manager.channelId
    const receipt = await this.manager.close()
    assert.equal(receipt.spent, String(this.owed))
    const books = await rpc(config.chain, 'sandbox_books')
    const row = books.channels.find((c) => c.id === id)
    assert.ok(row && !row.open, 'the channel is still open')
    assert.equal(row.captured, String(this.owed))
    assert.equal(BigInt(row.deposited), BigInt(row.captured) + BigInt(row.refunded))
    return row
  }
}

/** Authorizes an access key to spend for an account. */
async function authorized(root, accessKey) {
  const { receipt } = await Actions.accessKey.authorizeSync(chainClient({ url: config.chain, account: root, chainId }), {
    accessKey,
    expiry: Math.floor(Date.now() / 1000) + 3600,
    limits: [{ token: pathUSD, limit: 50_000_000n }],
  })
  assert.equal(receipt.status, 'success')
  return accessKey
}

/** All that one channel can be used for. */
async function whole(account, more) {
  const buyer = new Buyer(account, more)
  await buyer.deposit()
  await buyer.poll(await buyer.submit())
  const vouchers = await buyer.stream()
  assert.ok(vouchers > 0, 'the stream asked for no voucher on its way')
  await buyer.manager.topUp('1.5')
  assert.ok((await buyer.stream('/explain?wait=0&x=1')) > 0, 'the stream with a query asked for no voucher')
  const row = await buyer.close()
  assert.equal(row.deposited, '3500000')
}

const root = Account.fromSecp256k1(keys.payer)
const cases = {
  'a secp256k1 account': () => whole(root),
  'a P-256 account': () => whole(Account.fromP256(keys.p256)),
  'a passkey account': () => whole(Account.fromHeadlessWebAuthn(keys.passkey, { rpId: 'localhost', origin: 'http://localhost' })),
  'a secp256k1 access key': async () => whole(await authorized(root, Account.fromSecp256k1(keys.access, { access: root }))),
  'a P-256 access key': async () => whole(await authorized(root, Account.fromP256(keys.access, { access: root }))),
  'an account that has the second token alone': async () => {
    const account = Account.fromSecp256k1(keys.ousd)
    await rpc(config.chain, 'sandbox_mint', account.address, '100000000', ousd)
    await whole(account, { token: ousd })
    const books = await rpc(config.chain, 'sandbox_books')
    const had = (token) => books.balances.some((b) => b.token === token.toLowerCase() && b.holder === account.address.toLowerCase())
    assert.ok(had(ousd) && !had(pathUSD))
  },
  'a stream opens the channel': async () => {
    const buyer = new Buyer(root)
    assert.ok((await buyer.stream()) > 0)
    await buyer.close()
  },
  'a deposit that runs out is topped up on the way': async () => {
    const buyer = new Buyer(root)
    while (buyer.owed <= 2_000_000n) await buyer.stream('/explain?many')
    const row = await buyer.close()
    assert.ok(BigInt(row.deposited) > 2_000_000n)
  },
  'the server stops between requests': async () => {
    const buyer = new Buyer(root)
    await buyer.stream()
    await server.restart('SIGTERM')
    await buyer.stream('/explain?again')
    await server.restart('SIGKILL')
    await buyer.poll(await buyer.submit())
    await buyer.close()
  },
  'the server dies while a job runs': async () => {
    const buyer = new Buyer(root)
    const jobId = await buyer.submit()
    await server.restart('SIGKILL')
    await buyer.poll(jobId)
    await buyer.manager.topUp('1')
    await server.restart('SIGKILL')
    await buyer.close()
  },
  'the buyer lost its channel, and asks the server for it': async () => {
    const buyer = new Buyer(root)
    await buyer.stream()
    buyer.more.bootstrap = true
    buyer.manager = buyer.newManager() // it knows nothing
    await buyer.stream()
    assert.equal((await buyer.close()).deposited, '2000000')
  },
  'a deposit that is too small is not broadcast': async () => {
    const buyer = new Buyer(root, { maxDeposit: '1' })
    const before = (await rpc(config.chain, 'sandbox_books')).channels.length
    const answer = await buyer.manager.fetch(server.url + '/session/deposit', { method: 'POST' })
    assert.equal(answer.status, 402)
    assert.equal((await answer.json()).code, 'deposit_below_minimum')
    assert.equal((await rpc(config.chain, 'sandbox_books')).channels.length, before)
  },
  'the buyer starts again with its stored channel': async () => {
    const kept = new Map()
    const kv = { get: async (k) => kept.get(k), set: async (k, v) => void kept.set(k, v), delete: async (k) => void kept.delete(k) }
    const buyer = new Buyer(root, { channelStore: client.createJsonChannelStore(kv) })
    await buyer.stream()
    buyer.manager = buyer.newManager()
    await buyer.stream()
    assert.equal((await buyer.close()).deposited, '2000000')
  },
}

for (const account of [root, payee, Account.fromP256(keys.p256), Account.fromHeadlessWebAuthn(keys.passkey, { rpId: 'localhost', origin: 'http://localhost' })]) {
  await rpc(config.chain, 'sandbox_mint', account.address, '100000000')
}
const only = process.argv[3]
let failed = 0
await server.start()
try {
  for (const [name, run] of Object.entries(cases)) {
    if (only && !name.includes(only)) continue
    try {
      await run()
      console.log(`ok ${name}`)
    } catch (error) {
      failed++
      console.log(`FAILED ${name}: ${error.stack}`)
    }
  }
  if (!failed) assert.equal(await balanced(config.chain), 0, 'channels are left open')
} finally {
  await server.stop('SIGTERM')
}
if (failed) {
  console.log(server.log)
  process.exitCode = 1
}
