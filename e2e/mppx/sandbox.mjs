// Drives mppx's server and client against a sandbox: node sandbox.mjs RPC_URL.
// Exit code 0 when every step went as the SDK and the chain's books say it must.
import assert from 'node:assert/strict'
import { Account, Actions } from 'viem/tempo'
import { balanced, chainClient, keys, pathUSD, payer, rpc, seller } from './parties.mjs'

const url = process.argv[2]
if (!url) throw new Error('usage: node sandbox.mjs RPC_URL')
const info = await rpc(url, 'sandbox_info')
const chainId = info.chainId

/** Fetches, streams, tops up and closes with one account; tells the RPC calls. */
async function session(name, account, { feePayer = false } = {}) {
  const trace = { buyer: [], seller: [] }
  const shop = await seller({ url, chainId, trace: trace.seller, feePayer })
  const before = await balances(account.address, shop.address)
  const buyer = payer({ url, account, chainId, trace: trace.buyer })
  try {
    const first = await buyer.fetch(`${shop.url}/api`)
    assert.equal(first.status, 200, `${name}: ${await first.clone().text()}`)
    assert.equal(first.receipt.spent, '100000')
    const second = await buyer.fetch(`${shop.url}/api`)
    assert.equal(second.receipt.spent, '200000')
    const tokens = []
    for await (const token of await buyer.sse(`${shop.url}/sse`)) tokens.push(token)
    assert.deepEqual(tokens, ['one', 'two', 'three', 'four'])
    assert.equal(buyer.cumulative, 600_000n) // the stream needed a top-up on its way
    await buyer.topUp('0.2')
    const id = buyer.channelId
    const last = await buyer.close()
    assert.equal(last.spent, '600000')
    await checkBooks(name, { id, account, shop, before, feePayer })
  } finally {
    await shop.stop()
  }
  console.log(`ok ${name}`)
  for (const side of ['buyer', 'seller']) console.log(`   ${side}: ${trace[side].join(' ')}`)
}

async function balances(...accounts) {
  const books = await rpc(url, 'sandbox_books')
  return accounts.map((a) => {
    const row = books.balances.find((b) => b.token === pathUSD && b.holder === a.toLowerCase())
    return BigInt(row?.amount ?? 0)
  })
}

/** The channel is finished, and its deposit went to both sides to the base unit. */
async function checkBooks(name, { id, account, shop, before, feePayer }) {
  const books = await rpc(url, 'sandbox_books')
  const row = books.channels.find((c) => c.id === id)
  assert.ok(row && !row.open, `${name}: the channel is still open`)
  assert.equal(row.captured, '600000')
  assert.equal(BigInt(row.deposited), BigInt(row.captured) + BigInt(row.refunded))
  const [payerNow] = await balances(account.address)
  const paid = before[0] - payerNow
  if (feePayer) assert.equal(paid, 600_000n, `${name}: a sponsored payer pays no fee`)
  else assert.ok(paid > 600_000n, `${name}: the payer paid ${paid}`)
  await balanced(url)
}

const secp256k1 = Account.fromSecp256k1(keys.payer)
const p256 = Account.fromP256(keys.p256)
const passkey = Account.fromHeadlessWebAuthn(keys.passkey, { rpId: 'localhost', origin: 'http://localhost' })
const payee = Account.fromSecp256k1(keys.payee)
for (const account of [secp256k1, p256, passkey, payee]) await rpc(url, 'sandbox_mint', account.address, '100000000')

await session('secp256k1 account', secp256k1)
await session('P-256 account', p256)
await session('passkey account', passkey)
await session('sponsored by the seller', secp256k1, { feePayer: true })

// An access key pays for the account, which first authorizes it with a limit.
for (const [name, access] of [
  ['secp256k1 access key', Account.fromSecp256k1(keys.access, { access: secp256k1 })],
  ['P-256 access key', Account.fromP256(keys.access, { access: secp256k1 })],
]) {
  const { receipt } = await Actions.accessKey.authorizeSync(chainClient({ url, account: secp256k1, chainId }), {
    accessKey: access,
    expiry: Math.floor(Date.now() / 1000) + 3600,
    limits: [{ token: pathUSD, limit: 5_000_000n }],
  })
  assert.equal(receipt.status, 'success', name)
  await session(name, access)
}
