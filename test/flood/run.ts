// Sends 100,000 webhooks to one `listen`, with expectations that are met and others that are not: `npm run
// test:flood`.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'

const webhooks = 100_000
const connections = 50
/** How much memory may grow after the first tenth, in megabytes. */
const grownMbMax = 60

const met = [
  `type:track x${webhooks}..`,
  'event:"Step 3" x10000..',
  'user:u_99999',
  'user:u_100000 never within 1s',
]
const unmet = ['event:"Step 3" x10001..', 'type:page']

const binary = fileURLToPath(new URL('../../bin/evroute.js', import.meta.url))
const flags = ['--port', '0', '--json', '--timeout', '5m', '--filter', 'type:page']
const expected = [...met, ...unmet].flatMap((expectation) => ['--expect', expectation])
const listen = spawn(process.execPath, [binary, 'listen', ...flags, ...expected], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
process.once('exit', () => listen.kill('SIGKILL'))
/** Its output: the first line says that it is ready, the last one is its summary. */
const lines: string[] = []
const output = createInterface(listen.stdout).on('line', (line) => lines.push(line))
await once(output, 'line')
const { url, pid } = JSON.parse(lines[0] ?? '') as { readonly url: string; readonly pid: number }
const dispatcher = new Agent({ connections })

/** Resident memory of the process, in megabytes; Linux only. */
async function memoryMb(): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024
}

async function post(index: number): Promise<void> {
  const body = JSON.stringify({
    type: 'track',
    userId: `u_${index}`,
    event: `Step ${index % 10}`,
    properties: { padding: 'x'.repeat(300) },
  })
  const answer = await request(url, { method: 'POST', dispatcher, body })
  await answer.body.dump()
}

const samples: number[] = []
let next = 0
async function postAll(): Promise<void> {
  while (next < webhooks) {
    const index = next++
    if (index > 0 && index % (webhooks / 10) === 0) samples.push(await memoryMb())
    await post(index)
  }
}
await Promise.all(Array.from({ length: connections }, postAll))
samples.push(await memoryMb())
const ended = once(listen, 'close')
listen.kill('SIGINT')
const [code] = (await ended) as [number]
const summary = JSON.parse(lines.at(-1) ?? '') as {
  readonly received: number
  readonly expectations: readonly { readonly text: string; readonly state: string }[]
}
process.stdout.write(`memory in MB: ${samples.map((mb) => mb.toFixed(0)).join(' ')}\n`)
for (const { text, state } of summary.expectations) process.stdout.write(`${state}  ${text}\n`)
assert.equal(code, 5)
assert.equal(summary.received, webhooks)
const states = summary.expectations.map(({ state }) => state === 'met')
assert.deepEqual(states, [...met.map(() => true), ...unmet.map(() => false)])
assert.ok(Math.max(...samples) - (samples[0] ?? 0) < grownMbMax, 'memory grew too much')
await dispatcher.close()
