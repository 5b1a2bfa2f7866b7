// A client of the Model Context Protocol of one version of the SDK lists the tools and calls one:
// node client.mjs ALIAS VERSION HASH stdio PROGRAM ARG..., or http URL in place of stdio and what
// follows. VERSION is the one that the server must name, HASH a transaction that it can explain.
// Clients that know output schemas check what they get by themselves.
import assert from 'node:assert/strict'

const [alias, version, hash, kind, ...target] = process.argv.slice(2)
const { Client } = await import(`${alias}/client/index.js`)

async function transport() {
  if (kind === 'http') {
    const { StreamableHTTPClientTransport } = await import(`${alias}/client/streamableHttp.js`)
    return new StreamableHTTPClientTransport(new URL(target[0]))
  }
  const { StdioClientTransport } = await import(`${alias}/client/stdio.js`)
  return new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: 'inherit' })
}

const names = ['check_address', 'decode_calldata', 'decode_log', 'explain_transaction', 'get_explanation', 'get_job', 'list_chains']
const word = (hex) => hex.padStart(64, '0')
const transfer = `0xa9059cbb${word('1'.repeat(40))}${word('3e8')}`

const client = new Client({ name: 'e2e', version: '1' }, { capabilities: {} })
client.onerror = (error) => console.log('error of the transport:', error.message)
await client.connect(await transport())
assert.equal(client.getServerVersion().name, 'txlens')
assert.equal(client.getServerVersion().version, version)
const { tools } = await client.listTools()
for (const name of names) assert.ok(tools.some((tool) => tool.name === name), `${name} is missing`)
assert.equal((await client.listPrompts()).prompts.length, 2)
const call = async (name, args) => {
  const answer = await client.callTool({ name, arguments: args })
  assert.ok(!answer.isError, answer.content[0].text)
  const described = tools.find((tool) => tool.name === name).outputSchema !== undefined
  assert.equal(answer.structuredContent !== undefined, described, name)
  return JSON.parse(answer.content[0].text)
}
assert.match(JSON.stringify(await call('decode_calldata', { data: transfer })), /transfer.*1000/s)
assert.equal((await call('list_chains', { text: 'base-mainnet' })).chains[0].id, 8453)
const explained = await call('explain_transaction', { txHash: hash, chainId: 'ethereum-mainnet' })
assert.equal(explained.result.txHash, hash)
const run = { runId: explained.runId }
assert.equal((await call('get_explanation', { ...run, view: 'standard' })).result.view.name, 'standard')
for (const part of ['calls', 'events', 'steps', 'stepTexts']) assert.ok((await call('get_explanation', { ...run, part })).page.items.length > 0, part)
const wrong = await client.callTool({ name: 'explain_transaction', arguments: { txHash: '0x12' } })
assert.ok(wrong.isError)
client.onerror = undefined // the stream of the server is aborted
await client.close()
