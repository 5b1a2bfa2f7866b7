// Makes every import of viem, also that of mppx, one of viem-newest:
// node --import ./newest.mjs SCRIPT
import { register } from 'node:module'

const hook = `export const resolve = (name, context, next) => next(name.replace(/^viem(?=$|[/])/, 'viem-newest'), context)`
register(`data:text/javascript,${encodeURIComponent(hook)}`)
