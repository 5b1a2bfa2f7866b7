// Kills `txlens serve` in the middle of runs that mppx's client pays for, and has the
// client repeat its request: node killed.mjs CONFIG.json KILLS. In the end what was
// captured is the sum of the prices of the results that were delivered.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { Account } from 'viem/tempo'
import { Server } from './process.mjs'
import { balanced, keys, payer, rpc } from './parties.mjs'
import { price } from './price.mjs'

const config = JSON.parse(await readFile(process.argv[2], 'utf8'))
const kills = Number(process.argv[3])
const { chainId } = await rpc(config.chain, 'sandbox_info')
const server = new Server(config, chainId, [`--call-price=rpc=${config.callPrice}`])
const account = Account.fromSecp256k1(keys.payer)
for (const key of [keys.payer, keys.payee]) await rpc(config.chain, 'sandbox_mint', Account.fromSecp256k1(key).address, '1000000000')

let now = payer({ url: config.chain, account, chainId, maxDeposit: '100' })
let delivered = 0n // what the results that arrived cost, each counted once
let results = 0
let interrupted = 0
let repeated = 0
const seen = new Set()
let serial = 0

/** One stream to its end; a result that arrives is counted. */
async function stream(body) {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  let last
  for await (const data of await now.sse(`${server.url}/explain`, post)) last = JSON.parse(data)
  if (last?.type !== 'result') throw new Error(`the stream ended with ${JSON.stringify(last)?.slice(0, 200)}`)
  assert.equal(last.txHash, config.txHash)
  if (seen.has(last.requestId)) repeated++
  else {
    seen.add(last.requestId)
    delivered += price(last)
    results++
  }
}

/** The request again and again until its result is there. */
async function insist(body) {
  for (let n = 0; ; n++) {
    try {
      return await stream(body)
    } catch (error) {
      if (n === 50) throw error
      await new Promise((next) => setTimeout(next, 20))
    }
  }
}

await server.start()
try {
  await insist(JSON.stringify({ txHash: config.txHash, chainId: 1, context: 'first' }))
  for (let kill = 0; kill < kills; kill++) {
    const body = JSON.stringify({ txHash: config.txHash, chainId: 1, context: `run ${serial++}` })
    const before = results + repeated
    const attempt = stream(body).catch(() => undefined)
    // Each kill has a part of the time, so that the first ones come early in a run.
    await new Promise((next) => setTimeout(next, (kill + Math.random()) / kills * config.longest))
    if (results + repeated === before) interrupted++
    await server.restart('SIGKILL')
    await attempt
    if (results + repeated === before) await insist(body)
  }
  const id = now.channelId
  const receipt = await now.close()
  const row = (await rpc(config.chain, 'sandbox_books')).channels.find((c) => c.id === id)
  console.log(`${kills} kills, ${interrupted} in the middle of a run; ${results} results delivered for ${delivered}, ${repeated} of them twice; captured ${row.captured}`)
  assert.ok(!row.open && BigInt(row.deposited) === BigInt(row.captured) + BigInt(row.refunded))
  assert.equal(BigInt(row.captured), delivered)
  assert.ok(BigInt(receipt.spent) >= delivered)
  assert.equal(await balanced(config.chain), 0, 'channels are left open')
  assert.ok(interrupted > 0, 'no kill came in the middle of a run')
} catch (error) {
  console.log(server.log.slice(-20000))
  throw error
} finally {
  await server.stop('SIGTERM')
}
