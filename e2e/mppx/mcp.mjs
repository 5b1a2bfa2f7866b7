// The official TypeScript SDK's client of the Model Context Protocol, paid by mppx,
// against `txlens serve`: node mcp.mjs CONFIG.json. Exit code 0 when every step went as it
// must and the sandbox's books say so.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { readFile } from 'node:fs/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { tempo } from 'mppx/client'
import { McpClient } from 'mppx/mcp/client'
import { Account } from 'viem/tempo'
import { Server } from './process.mjs'
import { balanced, chainClient, keys, rpc } from './parties.mjs'
import { cent, price } from './price.mjs'

const config = JSON.parse(await readFile(process.argv[2], 'utf8'))
const { chainId } = await rpc(config.chain, 'sandbox_info')
const root = Account.fromSecp256k1(keys.payer)
const names = ['check_address', 'decode_calldata', 'decode_log', 'explain_transaction', 'get_explanation', 'get_job', 'list_chains']
const explain = { name: 'explain_transaction', arguments: { txHash: config.txHash, chain: 'ethereum-mainnet' } }

async function connected(transport) {
  const client = new Client({ name: 'e2e', version: '1' })
  await client.connect(transport)
  assert.deepEqual((await client.listTools()).tools.map((t) => t.name).sort(), names)
  assert.equal((await client.listPrompts()).prompts.length, 2)
  assert.equal((await client.listResourceTemplates()).resourceTemplates[0].uriTemplate, 'txlens://run/{id}')
  return client
}

const structured = (answer) => {
  if (answer.isError) assert.fail(answer.content[0].text)
  assert.deepEqual(JSON.parse(answer.content[0].text), answer.structuredContent)
  return answer.structuredContent
}

/** Lists, calls, progress, paging and cancelling, where nothing is paid. */
async function free(client) {
  const anew = { ...explain, arguments: { ...explain.arguments, fresh: true } } // an earlier result may be kept
  const progress = []
  const { runId, result } = structured(await client.callTool(anew, undefined, { onprogress: (p) => progress.push(p.message) }))
  assert.equal(result.txHash, config.txHash)
  assert.ok(progress.length > 3, `progress: ${progress}`)
  const { page } = structured(await client.callTool({ name: 'get_explanation', arguments: { runId, part: 'trace', limit: 3 } }))
  assert.equal(page.items.length, 3)
  assert.ok(page.total > 3 && page.next === 3)
  const read = await client.readResource({ uri: `txlens://run/${runId}` })
  assert.equal(JSON.parse(read.contents[0].text).result.txHash, config.txHash)
  const wrong = await client.callTool({ name: 'explain_transaction', arguments: { txHash: '0x12' } })
  assert.ok(wrong.isError && wrong.content[0].text.includes('64 hex digits'))
  const stop = new AbortController()
  const cancelled = client.callTool(anew, undefined, { signal: stop.signal, onprogress: () => stop.abort() })
  await assert.rejects(cancelled)
  assert.equal(structured(await client.callTool({ name: 'list_chains', arguments: { text: 'base-mainnet' } })).chains[0].id, 8453)
}

/** Buys an analysis with mppx, and settles it to the cent. */
async function paid(server) {
  const client = await connected(new StreamableHTTPClientTransport(new URL(server.url + '/mcp')))
  const refusal = await client.callTool(explain).then(() => assert.fail('an analysis was given away'), (error) => error)
  assert.equal(refusal.code, -32042)
  assert.equal(refusal.data.httpStatus, 402)
  assert.equal(refusal.data.challenges[0].intent, 'session')
  assert.ok(refusal.message.includes('Payment required') && refusal.message.includes(refusal.data.challenges[0].id), 'the text has the challenge')
  structured(await client.callTool({ name: 'list_chains', arguments: {} })) // free

  const account = root
  McpClient.wrap(client, {
    methods: [
      tempo.session({
        account, maxDeposit: '20',
        getClient: () => chainClient({ url: config.chain, account, chainId }),
      }),
    ],
  })
  const started = await client.callTool(explain)
  const { jobId, status } = structured(started)
  assert.equal(status, 'pending')
  assert.equal(started.receipt.spent, String(cent))
  let last = started.receipt
  let job
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((next) => setTimeout(next, 50))) {
    const answer = await client.callTool({ name: 'get_job', arguments: { jobId } })
    last = answer.receipt ?? last
    job = structured(answer)
    if (job.status === 'complete') break
  }
  assert.equal(job.status, 'complete')
  const owed = price(job.result)
  assert.equal(last.spent, String(owed), 'the job costs what its result says')
  const again = await client.callTool({ name: 'get_explanation', arguments: { runId: jobId, part: 'calls', limit: 1 } })
  assert.equal(structured(again).page.items.length, 1)
  assert.equal(again.receipt, undefined, 'what is paid is free')
  await client.close()
  return { owed, channelId: last.channelId }
}

for (const holder of [root, Account.fromSecp256k1(keys.payee)]) await rpc(config.chain, 'sandbox_mint', holder.address, '100000000')
const stdio = await connected(new StdioClientTransport({ command: config.program, args: ['mcp', ...config.world], stderr: 'ignore' }))
await free(stdio)
await stdio.close()
console.log('ok stdio')

const server = new Server(config, chainId, [`--call-price=rpc=${config.callPrice}`, '--admin-listen', '127.0.0.1:0'])
await server.start()
try {
  const { owed, channelId } = await paid(server)
  await promisify(execFile)(config.program, ['settle', '--data', config.data])
  const row = (await rpc(config.chain, 'sandbox_books')).channels.find((c) => c.id === channelId)
  assert.equal(row.settled, String(owed))
  await balanced(config.chain)
  console.log(`ok paid ${owed}`)
} catch (error) {
  console.log(server.log)
  throw error
} finally {
  await server.stop('SIGTERM')
}

const open = new Server(config, chainId)
open.args = ['serve', '--data', `${config.data}-free`, '--admin-listen', 'off', '--grace', '5s', ...config.world]
await open.start()
try {
  const client = await connected(new StreamableHTTPClientTransport(new URL(open.url + '/mcp')))
  await free(client)
  await client.close()
  console.log('ok http')
} finally {
  await open.stop('SIGTERM')
}
