// The parties of a paid session as the published SDK plays them: mppx 0.11.0 with
// viem 2.57.1, or with viem 2.57.20 (newest.mjs), pointed at a settlement sandbox.
import assert from 'node:assert/strict'
import http from 'node:http'
import { createClient, http as httpTransport } from 'viem'
import { tempoModerato } from 'viem/chains'
import { Account } from 'viem/tempo'
import { tempo as clientMethods } from 'mppx/client'
import { Mppx, Request as MppxRequest, Store, tempo as serverMethods } from 'mppx/server'

export const pathUSD = '0x20c0000000000000000000000000000000000000'
export const ousd = '0x20c0000000000000000000006a37da5c996874be'
export const reserve = '0x4d50500000000000000000000000000000000000'

// Keys of well-known test accounts; nobody keeps anything there.
export const keys = {
  payer: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  payee: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  ousd: '0x3333333333333333333333333333333333333333333333333333333333333333',
  access: '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
  passkey: '0x2222222222222222222222222222222222222222222222222222222222222222',
  p256: '0x1111111111111111111111111111111111111111111111111111111111111111',
}

/** Plain JSON-RPC, for what no SDK has a method for. */
export async function rpc(url, method, ...params) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = await answer.json()
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}

/**
 * Every base unit of the token is somewhere, and the reserve holds what the open
 * channels have left. Returns how many of those there are.
 */
export async function balanced(url) {
  const books = await rpc(url, 'sandbox_books')
  const held = books.balances.filter((b) => b.token === pathUSD)
  assert.equal(held.reduce((sum, b) => sum + BigInt(b.amount), 0n), BigInt(books.supplies.find((s) => s.token === pathUSD).amount))
  const open = books.channels.filter((c) => c.open)
  const left = open.reduce((sum, c) => sum + BigInt(c.deposit) - BigInt(c.settled), 0n)
  assert.equal(BigInt(held.find((b) => b.holder === reserve)?.amount ?? 0), left)
  return open.length
}

/**
 * A viem client on the sandbox. The chain definition carries the chain id, and mppx
 * takes a client as it is: that is all the pointing there is to do. Every method is
 * appended to `trace`.
 */
export function chainClient({ url, account, chainId = tempoModerato.id, trace = [] }) {
  return createClient({
    account,
    chain: { ...tempoModerato, id: chainId, rpcUrls: { default: { http: [url] } } },
    pollingInterval: 50,
    transport: httpTransport(url, {
      async onFetchRequest(request) {
        const body = await request.clone().json()
        for (const one of [body].flat()) trace.push(one.method)
      },
    }),
  })
}

/** A payer: a session manager with its account. */
export function payer({ url, account, chainId, maxDeposit = '2', trace, ...more }) {
  const client = chainClient({ url, account, chainId, trace })
  return clientMethods.session.manager({ account, client, maxDeposit, ...more })
}

/**
 * mppx's own server: GET /api costs one unit, GET /sse one unit per token of a
 * stream of four. Resolves to its URL and a function that stops it.
 */
export async function seller({ url, chainId, trace, feePayer }) {
  const account = Account.fromSecp256k1(keys.payee)
  const mppx = Mppx.create({
    secretKey: 'e2e-secret-e2e-secret-e2e-secret-0123456789',
    realm: '127.0.0.1',
    methods: [
      serverMethods.session({
        account,
        currency: pathUSD,
        recipient: account.address,
        chainId: chainId ?? tempoModerato.id,
        getClient: () => chainClient({ url, account, chainId, trace }),
        store: Store.memory(),
        sse: true,
        ...(feePayer ? { feePayer: account, feeToken: pathUSD } : {}),
      }),
    ],
  })
  const price = { amount: '0.1', suggestedDeposit: '0.5', unitType: 'token' }
  async function handler(request) {
    const result = await mppx.session(price)(request)
    if (result.status === 402) return result.challenge
    if (new URL(request.url).pathname !== '/sse') return result.withReceipt(Response.json({ ok: true }))
    return result.withReceipt(async function* (stream) {
      for (const token of ['one', 'two', 'three', 'four']) {
        await stream.charge()
        yield token
      }
    })
  }
  const server = http.createServer(MppxRequest.toNodeListener(handler))
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    address: account.address,
    stop: () => new Promise((done) => { server.closeAllConnections(); server.close(done) }),
  }
}
