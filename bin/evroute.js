#!/usr/bin/env node
import { main, processIo } from '../dist/cli/index.js'

const io = await processIo()
process.exitCode = await main(process.argv.slice(2), io)
io.release()
