#!/usr/bin/env node
import module from 'node:module'

// Node 22.8 and later keep what they compile for the next start; NODE_DISABLE_COMPILE_CACHE=1 forbids it.
module.enableCompileCache?.()
const { main, processIo } = await import('../dist/command/index.js')

const io = await processIo()
process.exitCode = await main(process.argv.slice(2), io)
io.release()
