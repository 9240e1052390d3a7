// Given to Node with --import: tells, over its fourth stream, what the process used.
import { writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

function tell() {
  const { user, system } = process.cpuUsage()
  const figures = {
    peakMemoryMb: process.resourceUsage().maxRSS / 1_024,
    cpuUs: user + system,
    idleShare: 1 - performance.eventLoopUtilization().utilization,
  }
  writeSync(3, JSON.stringify(figures))
}

// The thread of a store is started with the same options.
if (isMainThread) process.on('exit', tell)
