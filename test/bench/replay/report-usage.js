// Loaded with `node --import`. At exit, writes what the process used to file descriptor 3.
import { writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

function report() {
  const { user, system } = process.cpuUsage()
  const usage = {
    peakMemoryMb: process.resourceUsage().maxRSS / 1_024,
    cpuUs: user + system,
    idleShare: 1 - performance.eventLoopUtilization().utilization,
  }
  writeSync(3, JSON.stringify(usage))
}

// The store's thread also loads this file.
if (isMainThread) process.on('exit', report)
