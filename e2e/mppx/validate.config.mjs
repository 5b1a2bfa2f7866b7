// What `mppx validate` pays with: an account on the settlement sandbox. It is the
// plain object that defineConfig would return; mppx/cli does not load on its own.
import { tempo } from 'mppx/client'
import { Account } from 'viem/tempo'
import { chainClient, keys } from './parties.mjs'

const account = Account.fromSecp256k1(keys.access)
export default {
  methods: [tempo.session({ account, getClient: () => chainClient({ url: process.env.SANDBOX_URL, account }), maxDeposit: '5' })],
}
