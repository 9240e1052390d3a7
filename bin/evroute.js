#!/usr/bin/env node
const nodeModule = require('node:module')

if (!process.features.require_module) {
  console.error(
    `evroute: Cannot run on Node ${process.versions.node}, which does not let require() take ES modules. ` +
      'Use Node 20.19, or 22.13 or later, without --no-experimental-require-module.',
  )
  process.exit(2)
}

// Node 22.8 and later keep what they compile for the next start; NODE_DISABLE_COMPILE_CACHE=1 forbids it.
nodeModule.enableCompileCache?.()
const { main, processIo } = require('../dist/command/index.cjs')

/** How long an interrupted command's messages may take to be read. */
const graceMs = 500

// The exit code if the process runs out of work before the command has ended.
process.exitCode = 1
void run()

async function run() {
  const io = await processIo()
  process.exitCode = await main(process.argv.slice(2), io)
  io.release()
  // Once stopped, wait until all data is read, but not until all messages are: their reader may be stuck.
  const endUnlessDataIsLeft = () => {
    if (process.stdout.destroyed || process.stdout.writableLength === 0) process.exit()
  }
  const endSoon = () => setInterval(endUnlessDataIsLeft, graceMs).unref()
  if (io.stop.aborted) endSoon()
  else io.stop.addEventListener('abort', endSoon)
  // Exit at once: while Node frees its memory, a signal would kill the process and replace its exit code.
  process.on('beforeExit', () => process.exit())
}
