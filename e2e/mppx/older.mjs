// Makes our imports of the client of mppx those of another version, by its alias in
// package.json: node --import './older.mjs?mppx-0.7.0' SCRIPT
import { register } from 'node:module'

const alias = new URL(import.meta.url).search.slice(1)
if (!/^mppx-[0-9.]+$/.test(alias)) throw new Error(`${alias} is no alias`)
const hook = `export const resolve = (name, context, next) => next(name === 'mppx/client' ? '${alias}/client' : name, context)`
register(`data:text/javascript,${encodeURIComponent(hook)}`)
