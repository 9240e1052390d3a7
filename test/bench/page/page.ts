import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import chromium from '@sparticuz/chromium'
import { chromium as launcher, type Browser, type Page } from 'playwright-core'
import { sleep, stopwatch, systemClock } from '../../../dist/runtime/index.js'
import { inTurn } from '../in-turn.ts'
import { Program } from '../program.ts'
import type { ReceiverQuestion } from '../receiver/receiver-server.ts'
import { connections, sendWebhooks } from '../receiver/send-webhooks.ts'
import { ratiosOf, type BenchReport } from '../report.ts'
import { median } from '../table.ts'

const requests = 20_000
const rounds = 9
/**
 * Requests before each measurement, because V8 recompiles the receiver's code after a page is opened or
 * closed.
 */
const warmUpRequests = 10_000
/** The pause after a page is opened, because its start is measured separately. */
const restMs = 1_000
const pacedRequests = 1_000
const pacedPerSecond = 100

/**
 * Measures how much an open page slows the receiver down, how soon the page shows a webhook and starts, its
 * memory, how smoothly it scrolls, and its size.
 */
export async function benchPage(): Promise<BenchReport> {
  const server = await Program.start<ReceiverQuestion, number>(
    new URL('../receiver/receiver-server.ts', import.meta.url),
    'evroute',
  )
  const browser = await launcher.launch({
    executablePath: await chromium.executablePath(),
    args: ['--no-sandbox', '--disable-gpu', '--enable-precise-memory-info'],
  })
  try {
    const origin = `http://127.0.0.1:${await server.ask('port')}`
    await sendWebhooks(origin, requests)
    const cpuMs: Record<'open' | 'closed', number[]> = { open: [], closed: [] }
    const rates = await inTurn(['open', 'closed'] as const, rounds, async (name) => {
      const page = name === 'open' ? await openPage(browser, origin) : undefined
      if (page !== undefined) await sleep(systemClock, restMs)
      await sendWebhooks(origin, warmUpRequests)
      const missedBefore = await missedBy(page)
      const cpuBefore = await server.ask('cpuMs')
      const rate = await sendWebhooks(origin, requests)
      cpuMs[name].push((await server.ask('cpuMs')) - cpuBefore)
      if ((await missedBy(page)) !== missedBefore) throw new Error('The page missed webhooks')
      await page?.close()
      return rate
    })
    const shownAfterMs = await measurePixels(browser, origin)
    const interactiveMs = await measureStart(browser, origin)
    const tab = await measureTab(browser, origin)
    return report(rates.get('open') ?? [], rates.get('closed') ?? [], {
      cpuRatio: median(cpuMs.open) / median(cpuMs.closed),
      shownP50Ms: quantile(shownAfterMs, 0.5),
      shownP95Ms: quantile(shownAfterMs, 0.95),
      interactiveMs,
      ...tab,
      gzippedKb: gzippedBytes() / 1_024,
    })
  } finally {
    await browser.close()
    await server.end()
  }
}

async function openPage(browser: Browser, origin: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } })
  await page.addInitScript(watchMissed)
  await page.goto(`${origin}/_evroute/`)
  await page.getByRole('option').first().waitFor()
  return page
}

/** Runs in the page: counts the `missed` events, with which the stream reports dropped requests. */
const watchMissed = `
  globalThis.missed = 0
  globalThis.EventSource = class extends EventSource {
    constructor(url) {
      super(url)
      this.addEventListener('missed', () => (missed += 1))
    }
  }`

async function missedBy(page: Page | undefined): Promise<number> {
  return (await page?.evaluate<number>('missed')) ?? 0
}

/** Runs in the page: records when each request's row was painted, in milliseconds since 1970. */
const watchRows = `
  globalThis.painted = new Map()
  const look = () => {
    for (const row of document.querySelectorAll('[role=option]')) {
      if (painted.has(row.id)) continue
      painted.set(row.id, undefined)
      requestAnimationFrame(() => setTimeout(() => painted.set(row.id, Date.now())))
    }
  }
  look()
  new MutationObserver(look).observe(document.querySelector('.list'), { childList: true, subtree: true })`

/** @returns the times from the arrival of a webhook until its row was painted, in milliseconds */
async function measurePixels(browser: Browser, origin: string): Promise<readonly number[]> {
  const page = await openPage(browser, origin)
  await page.evaluate(watchRows)
  const elapsedMs = stopwatch()
  for (let sent = 0; sent < pacedRequests; sent++) {
    await sleep(systemClock, Math.max(0, (sent * 1_000) / pacedPerSecond - elapsedMs()))
    await sendWebhooks(origin, 1)
  }
  await sleep(systemClock, 500)
  const painted = new Map(
    await page.evaluate<[string, number | undefined][]>('[...painted.entries()]'),
  )
  const answer = await fetch(`${origin}/_evroute/events`)
  const events = (await answer.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly seq: number; readonly at: string })
  await page.close()
  return events.slice(-pacedRequests).flatMap(({ seq, at }) => {
    const paintedAtMs = painted.get(`request-${seq}`)
    return paintedAtMs === undefined ? [] : [paintedAtMs - Date.parse(at)]
  })
}

/** Runs in the page: measures the time from navigation until the list was painted, in milliseconds. */
const watchStart = `
  globalThis.started = new Promise((resolve) => {
    const look = () => {
      if (document.querySelector('[role=listbox]') === null) requestAnimationFrame(look)
      else setTimeout(() => resolve(performance.now()))
    }
    requestAnimationFrame(look)
  })`

/** @returns the median time until an opened page shows its list, in milliseconds */
async function measureStart(browser: Browser, origin: string): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } })
    await page.addInitScript(watchStart)
    await page.goto(`${origin}/_evroute/`)
    times.push(await page.evaluate<number>('started'))
    await page.close()
  }
  return median(times)
}

/**
 * Runs in the page: scrolls the list by five screens per frame, and measures the times between frames, in
 * milliseconds.
 */
const scrollList = `new Promise((resolve) => {
  const list = document.querySelector('.list')
  const frames = []
  let before = performance.now()
  const step = (now) => {
    frames.push(now - before)
    before = now
    list.scrollTop += 5 * list.clientHeight
    if (frames.length < 240) requestAnimationFrame(step)
    else resolve(frames.slice(1))
  }
  requestAnimationFrame(step)
})`

/** @returns the memory of a page after 100,000 requests, in MB, and how smoothly it scrolls */
async function measureTab(
  browser: Browser,
  origin: string,
): Promise<Readonly<Record<'tabMb' | 'framesPerSecond' | 'frameP95Ms', number>>> {
  const page = await openPage(browser, origin)
  await sendWebhooks(origin, 100_000)
  await sleep(systemClock, 2_000)
  const bytes = await page.evaluate<number>('performance.memory.usedJSHeapSize')
  const frames = await page.evaluate<number[]>(scrollList)
  await page.close()
  const framesPerSecond = 1_000 / (frames.reduce((sum, ms) => sum + ms, 0) / frames.length)
  return { tabMb: bytes / 1_048_576, framesPerSecond, frameP95Ms: quantile(frames, 0.95) }
}

function gzippedBytes(): number {
  const folder = fileURLToPath(new URL('../../../dist/page/', import.meta.url))
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  const sizes = files
    .filter((file) => file.isFile())
    .map((file) => gzipSync(readFileSync(join(file.parentPath, file.name))).length)
  return sizes.reduce((sum, size) => sum + size, 0)
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(share * (sorted.length - 1))] ?? NaN
}

function report(
  open: readonly number[],
  closed: readonly number[],
  figures: Readonly<Record<string, number>>,
): BenchReport {
  return {
    bench: 'page',
    measured: `${requests} signed webhooks over ${connections} connections with the page open, compared with a closed page, ${rounds} rounds; then ${pacedPerSecond} a second until each is painted; then the start of a page; then a tab with 100,000 webhooks, scrolled`,
    cases: [
      {
        rate: median(open),
        unit: 'webhooks/s',
        beside: { closed: ratiosOf(open, closed) },
        figures,
      },
    ],
    mustReach:
      '0.9 of the rate with a closed page if the browser has its own core (on two cores: at most 1.1 of the CPU time), painted within 100 ms (p95), interactive within 300 ms, 60 frames a second, 60 KB gzipped',
    packages: ['playwright-core', 'preact'],
  }
}
