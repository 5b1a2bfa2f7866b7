// Has `mppx validate` look at `txlens serve`: node validate.mjs CONFIG.json.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Account } from 'viem/tempo'
import { balanced, keys, payer, rpc } from './parties.mjs'
import { Server } from './process.mjs'

const config = JSON.parse(await readFile(process.argv[2], 'utf8'))
const { chainId } = await rpc(config.chain, 'sandbox_info')
const server = new Server(config, chainId, ['--voucher-patience', config.patience])
const body = JSON.stringify({ txHash: config.txHash, chainId: 1 })

/** Runs the validator and returns its report, whatever its exit code. */
function validate(...args) {
  const env = {
    PATH: process.env.PATH, HOME: config.data, NO_COLOR: '1',
    MPPX_CONFIG: new URL('validate.config.mjs', import.meta.url).pathname, SANDBOX_URL: config.chain,
  }
  const cli = new URL('node_modules/mppx/dist/bin.js', import.meta.url).pathname
  // Into a file: it exits before a pipe has taken a report of more than its 64 KiB.
  const report = `${config.data}/validate.json`
  const out = openSync(report, 'w')
  return new Promise((done, failed) => {
    let errors = ''
    const child = spawn(process.execPath, [cli, 'validate', server.url, '--yes', '--output-json', ...args], { env, stdio: ['pipe', out, 'pipe'] })
    child.stderr.on('data', (text) => { errors += text })
    child.on('error', failed)
    child.on('close', async (code) => {
      closeSync(out)
      const text = await readFile(report, 'utf8')
      try {
        done(JSON.parse(text))
      } catch {
        failed(new Error(`validate ${args.join(' ')}: exit ${code}: ${text} ${errors}`))
      }
    })
    child.stdin.end() // it would wait for more
  })
}

/** Each check of a paid call that did not pass; those that matter most must have. */
function faults({ challenge, errorHandling = [], payment = [] }) {
  const checks = [...challenge, ...errorHandling, ...payment]
  const passed = checks.filter((c) => c.severity === 'pass').map((c) => c.label)
  for (const label of [
    'Returns 402 without credentials', 'Realm matches server hostname', 'Error response includes fresh challenge',
    'Payment: successful', 'Payment-Receipt header present', 'Receipt status is "success"', 'Response body non-empty',
  ]) {
    assert.ok(passed.includes(label), `no pass of "${label}" in ${JSON.stringify(checks, null, 1)}`)
  }
  return checks.filter((c) => c.severity !== 'pass')
}

/** The status at which an unpaid GET of a path arrives, once it is not `not`. */
async function until(path, not) {
  for (const end = Date.now() + 30_000; Date.now() < end; await new Promise((next) => setTimeout(next, 50))) {
    const { status } = await fetch(server.url + path)
    if (status !== not) return status
  }
  assert.fail(`${path} stays at ${not}`)
}

/** Buys a job and a stream that it drops: what they owe is under their addresses. */
async function debts(account) {
  const manager = payer({ url: config.chain, account, chainId })
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  const job = await (await manager.fetch(`${server.url}/explain/async`, post)).json()
  const stream = await manager.fetch(`${server.url}/explain`, { method: 'POST', headers: { 'content-type': 'application/json', accept: 'text/event-stream' }, body })
  assert.equal(stream.status, 200, await (stream.ok ? '' : stream.text()))
  const run = stream.headers.get('x-request-id')
  await stream.body.cancel()
  return { manager, paths: [`/result/${job.jobId}`, `/explain/run/${run}`] }
}

const access = Account.fromSecp256k1(keys.access)
const buyer = Account.fromSecp256k1(keys.payer)
for (const account of [access, buyer, Account.fromSecp256k1(keys.payee)]) await rpc(config.chain, 'sandbox_mint', account.address, '100000000')
await server.start()
try {
  const { manager, paths } = await debts(buyer)
  for (const path of paths) {
    assert.equal(await until(path, 404), 402, path)
    const { endpoints } = await validate('--endpoint', `GET:${path}`)
    assert.deepEqual(endpoints.flatMap(faults), [], path)
    assert.equal((await fetch(server.url + path)).status, 200, `${path} is paid for`)
    console.log(`ok GET ${path.replace(/[^/]*$/, '{id}')}`)
  }
  assert.equal((await manager.close()).spent, '20000')

  // Its client does not sign while a stream runs, so that one ends at the server's
  // patience. And it has no ids: it asks for the braces of a template.
  const example = JSON.parse(body)
  const report = await validate('--body', JSON.stringify({ '/explain': example, '/explain/async': example }), '--header', 'accept: text/event-stream')
  assert.deepEqual(report.discovery.checks.filter((c) => c.severity !== 'pass'), [])
  for (const endpoint of report.endpoints) {
    const name = `${endpoint.method} ${endpoint.path}`
    const refused = name.includes('{part}') || name.includes('{format}') ? 400 : 404 // no such part or format, and no such run
    if (name.includes('{')) assert.deepEqual(endpoint.challenge.map((c) => c.detail), [`Got ${refused} instead`], name)
    else assert.deepEqual(faults(endpoint), [], name)
    console.log(`ok ${name}`)
  }
  assert.equal(report.endpoints.length, 7)
  await balanced(config.chain)
} catch (error) {
  console.log(server.log)
  throw error
} finally {
  await server.stop('SIGTERM')
}
