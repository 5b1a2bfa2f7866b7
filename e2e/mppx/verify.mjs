// Verifies vouchers as mppx's own server does, for the benchmark beside it: each line
// of stdin is a round of them, each line of stdout the processor time that it took, in
// microseconds.
import { createInterface } from 'node:readline'
// The library exports its server whole; this is the step of it that is measured.
import { verifyVoucher } from './node_modules/mppx/dist/tempo/session/precompile/Voucher.js'

for await (const line of createInterface({ input: process.stdin })) {
  const { escrow, chainId, vouchers } = JSON.parse(line)
  for (const v of vouchers) v.cumulativeAmount = BigInt(v.cumulativeAmount)
  const before = process.cpuUsage()
  for (const v of vouchers) {
    if (!verifyVoucher(escrow, chainId, v, v.signer)) throw new Error(`refused: ${v.channelId} ${v.cumulativeAmount}`)
  }
  const { user, system } = process.cpuUsage(before)
  console.log(user + system)
}
