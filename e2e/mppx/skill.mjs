// What a server that sells says in SKILL.md, run as it stands: the script for the SDK
// and the commands for its command line. node skill.mjs CONFIG.json, as txlens.mjs.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Account } from 'viem/tempo'
import { Server } from './process.mjs'
import { keys, rpc } from './parties.mjs'

const run = promisify(execFile)
const here = dirname(fileURLToPath(import.meta.url))
const config = JSON.parse(await readFile(process.argv[2], 'utf8'))
const { chainId } = await rpc(config.chain, 'sandbox_info')
for (const key of [keys.payer, keys.access, keys.payee]) {
  await rpc(config.chain, 'sandbox_mint', Account.fromSecp256k1(key).address, '100000000')
}

/** The fenced blocks of a language; '' are those without one. */
function blocks(text, language) {
  return [...text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].filter((m) => m[1] === language).map((m) => m[2])
}

/** The example names a transaction of mainnet; the stub knows another. */
function known(text) {
  return text.replaceAll(/0x[0-9a-f]{64}/g, config.txHash)
}

/** Runs the script in a module beside the packages of the lockfile. */
async function script(source) {
  // The SDK takes the chain of the challenge; only where it is reached is the test's.
  const chain = `import { chainClient } from '${join(here, 'parties.mjs')}'\n`
  const there = source.replace('manager({ ', `manager({ getClient: () => chainClient({ url: '${config.chain}', chainId: ${chainId} }), `)
  assert.notEqual(there, source, 'the script makes no session manager')
  const folder = await mkdtemp(join(here, '.skill-'))
  try {
    const file = join(folder, 'skill.mjs')
    await writeFile(file, chain + known(there))
    const { stdout } = await run(process.execPath, [file], { env: { ...process.env, PAYER_KEY: keys.payer } })
    return JSON.parse(stdout)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Runs one line that begins with npx, without the registry and in a home of its own. */
async function shell(line, home) {
  const program = join(here, 'node_modules/mppx/dist/bin.js')
  const local = line.replace(/^npx mppx/, `"${process.execPath}" "${program}"`)
  assert.notEqual(local, line, `not a command for mppx: ${line}`)
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home, MPPX_PRIVATE_KEY: keys.access, MPPX_RPC_URL: config.chain }
  const { stdout } = await run('/bin/sh', ['-c', local], { env })
  return JSON.parse(stdout)
}

/** Runs the command that submits a job, then the one that polls it until it ends. */
async function job(commands) {
  const home = await mkdtemp(join(tmpdir(), 'mppx-'))
  try {
    const [submit, poll] = commands
    const { jobId } = await shell(known(submit), home)
    for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((next) => setTimeout(next, 100))) {
      const answer = await shell(poll.replace('JOB_ID', jobId), home)
      if (answer.status === 'complete') return answer.result
    }
    assert.fail('the job does not end')
  } finally {
    await rm(home, { recursive: true })
  }
}

const server = new Server(config, chainId, [`--call-price=rpc=${config.callPrice}`])
await server.start()
try {
  const skill = await (await fetch(`${server.url}/SKILL.md`)).text()
  const scripts = blocks(skill, 'js')
  assert.equal(scripts.length, 1)
  const streamed = await script(scripts[0])
  assert.equal(streamed.type, 'result')
  assert.equal(streamed.txHash, config.txHash)
  const commands = blocks(skill, '').flatMap((b) => b.split('\n')).filter((line) => line.startsWith('npx '))
  assert.equal(commands.length, 2)
  assert.equal((await job(commands)).txHash, config.txHash)
  console.log('ok')
} catch (error) {
  console.log(server.log)
  throw error
} finally {
  await server.stop('SIGTERM')
}
