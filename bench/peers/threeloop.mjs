// Decodes and interprets transactions with the packages of 3loop. Each line of
// stdin is "hash chainId"; each line of stdout is an answer. The settings are one
// JSON object in argv: nodes maps chain ids to JSON-RPC URLs, knowledge names a file
// of ABI items and tokens, or is empty.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { TransactionDecoder } from '@3loop/transaction-decoder'
import { EvalInterpreterLive } from '@3loop/transaction-interpreter/EvalInterpreter'
import { TransactionInterpreter } from '@3loop/transaction-interpreter/interpreter'
import { fallbackInterpreter } from '@3loop/transaction-interpreter/interpreters'
import { Effect } from 'effect'
import { createPublicClient, http } from 'viem'

const settings = JSON.parse(process.argv[2])
const known = { functions: {}, events: {}, tokens: {} }
if (settings.knowledge) Object.assign(known, JSON.parse(readFileSync(settings.knowledge, 'utf8')))

const clients = new Map()
function client(chainID) {
  const url = settings.nodes[chainID]
  if (!url) return undefined
  if (!clients.has(chainID)) {
    clients.set(chainID, { client: createPublicClient({ transport: http(url, { retryCount: 0 }) }), config: { traceAPI: 'geth' } })
  }
  return clients.get(chainID)
}

// The stores are those of the documentation: a lookup by selector, topic or address.
const abiStore = {
  strategies: [],
  set: async () => {},
  get: async ({ chainID, address, signature, event }) => {
    const found = (signature && known.functions[signature]) || (event && known.events[event]) || []
    const type = signature ? 'func' : 'event'
    return found.map((abi, id) => ({ id, type, abi, address, chainID, signature, event, source: 'table', status: 'success' }))
  },
}
const contractMetaStore = {
  strategies: [],
  set: async () => {},
  get: async ({ chainID, address }) => {
    const result = known.tokens[`${chainID}:${address.toLowerCase()}`]
    return result ? { status: 'success', result: { address, contractAddress: address, chainID, ...result } } : { status: 'not-found', result: null }
  },
}

const decoder = new TransactionDecoder({ getPublicClient: client, abiStore, contractMetaStore, logLevel: 'None' })
const interpreter = await Effect.runPromise(
  Effect.gen(function* () {
    return yield* TransactionInterpreter
  }).pipe(Effect.provide(EvalInterpreterLive), Effect.scoped),
)

// Which family's interpreter a transaction got is not in the answer. Here it is read
// off by asking for one contract of each family, so that the family counts as the
// protocol that the packages know.
const families = new Map()
for (const [protocol, chainID, toAddress] of [
  ['aave', 1, '0x87870bca3f3fd6335c3f4ce8392d69350b4fa4e2'],
  ['blur', 1, '0xb2ecfe4e4d61f8790bbb9de2d1259b9e2410cea5'],
  ['friend_tech', 8453, '0xcf205808ed36593aa40a44f10c7f7c2f67d4a4d4'],
  ['hop', 1, '0xb8901acb165ed027e32754e0ffe830802919727f'],
  ['opensea', 1, '0x0000000000000068f116a894984e2db1123eb395'],
  ['weth', 1, '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'],
  ['0x', 1, '0xdef1c0ded9bec7f1a1670819833240f027b25eff'],
]) {
  const found = interpreter.findInterpreter({ chainID, toAddress, interactions: [] })
  if (!found) throw new Error(`no interpreter of ${protocol}`)
  families.set(found.schema, protocol)
}
const safe = interpreter.findInterpreter({ chainID: 1, toAddress: '0x1', interactions: [{ signature: 'ExecutionSuccess(bytes32,uint256)' }] })
if (!safe) throw new Error('no interpreter of safe')
families.set(safe.schema, 'safe')

const calls = (list) => list.filter((c) => c && c.signature).length

async function explain(hash, chainID) {
  const tx = await decoder.decodeTransaction({ chainID, hash })
  const found = interpreter.findInterpreter(tx) ?? { schema: fallbackInterpreter, id: 'fallback' }
  const answer = {
    hash,
    // An empty input is called Transfer(address,address,uint256) of type function; no call is named by that.
    frames: calls(tx.traceCalls) + (tx.methodCall.params?.length !== 0 || tx.methodCall.type !== 'function' || tx.methodCall.name !== 'Transfer' ? calls([tx.methodCall]) : 0),
    logs: tx.interactions.filter((i) => !i.event.nativeTransfer).length,
    protocol: families.get(found.schema) ?? '',
  }
  try {
    answer.type = (await Effect.runPromise(interpreter.interpretTx(tx, found))).type
  } catch (e) {
    answer.interpretError = String(e?.message ?? e)
  }
  return answer
}

for await (const line of createInterface({ input: process.stdin })) {
  const [hash, chain] = line.split(' ')
  let answer
  try {
    answer = await explain(hash, Number(chain))
  } catch (e) {
    answer = { hash, error: String(e?.message ?? e).slice(0, 300) }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}
process.exit(0)
