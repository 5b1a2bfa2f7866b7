// `txlens serve` as a process that sells on the sandbox; it is stopped, or killed, and
// started again at its address.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { pathUSD } from './parties.mjs'

export class Server {
  constructor({ program, data, world, chain, keyFile }, chainId, more = []) {
    const args = [
      'serve', '--data', data, '--admin-listen', 'off', '--grace', '5s', ...world,
      '--settle-rpc', chain, '--settle-chain', String(chainId), '--settle-token', pathUSD,
      '--settle-key-file', keyFile, '--realm', '127.0.0.1', '--suggested-deposit', '2', ...more,
    ]
    Object.assign(this, { program, args, address: '127.0.0.1:0', log: '' })
  }

  get url() {
    return `http://${this.address}`
  }

  /** Resolves once it serves. */
  async start() {
    const from = this.log.length
    this.child = spawn(this.program, [...this.args, '--listen', this.address], { stdio: ['ignore', 'ignore', 'pipe'] })
    this.ended = once(this.child, 'exit')
    await new Promise((serving, failed) => {
      this.child.stderr.on('data', (text) => {
        this.log += text
        const found = this.log.slice(from).match(/msg=serving address=([0-9.:]+)/)
        if (!found) return
        this.address = found[1]
        serving()
      })
      this.child.on('error', failed)
      this.child.on('exit', (code, signal) => failed(new Error(`serve ended with ${code ?? signal}: ${this.log}`)))
    })
  }

  /** Resolves once it has ended; of its own accord it must do so without an error. */
  async stop(signal) {
    this.child.kill(signal)
    const [code] = await this.ended
    if (signal !== 'SIGKILL' && code !== 0) throw new Error(`serve ended with ${code}: ${this.log}`)
  }

  async restart(signal) {
    await this.stop(signal)
    await this.start()
  }
}
