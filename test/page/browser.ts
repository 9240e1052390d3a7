import { fileURLToPath } from 'node:url'
import axe, { type AxeResults } from 'axe-core'
import chromium from '@sparticuz/chromium'
import { chromium as launcher, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { Receiver, type ReceiverOptions } from '../../src/receiver/index.ts'
import { signBody } from '../../src/webhook/index.ts'

/** The secret that signs the webhooks of these tests. */
export const secret = 'not-a-real-secret'

let browser: Browser | undefined
/** Pages of finished tests, which later tests reuse, because starting a process for each page takes half of the time. */
const idlePages: Page[] = []

/** Starts a real browser for the tests of a file. */
export function withBrowser(): void {
  beforeAll(async () => {
    browser = await launcher.launch({
      executablePath: await chromium.executablePath(),
      // Without the default flags of the package, because some of them disable web security.
      args: [
        '--no-sandbox',
        '--disable-gpu',
        // Lets a test open the page by host name, as from a different machine.
        '--host-resolver-rules=MAP *.example.com 127.0.0.1',
      ],
    })
  })
  afterAll(async () => {
    idlePages.length = 0
    await browser?.close()
  })
}

/** Returns a page with its own context, without anything from an earlier test. */
async function takePage(): Promise<Page> {
  const idle = idlePages.pop()
  return idle ?? newPage()
}

async function newPage(): Promise<Page> {
  if (browser === undefined) throw new Error('withBrowser() has to be called first')
  const context = await browser.newContext({
    // An animation would give colours the wrong contrast and delay clicks.
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  return context.newPage()
}

/** Resets the page of a test, and keeps it for the next one. */
async function leavePage(page: Page): Promise<void> {
  page.removeAllListeners()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.context().clearCookies()
  await page.goto('about:blank')
  idlePages.push(page)
}

/** How a page is displayed. */
export interface Look {
  readonly width?: number
  readonly colorScheme?: 'light' | 'dark'
  /** Console messages that are not bugs in the page. */
  readonly expected?: RegExp
  /** Lets the test control the clock of the page. No other test gets this page. */
  readonly movesTime?: boolean
}

/** Starts a receiver that runs until the test ends. */
export async function startReceiver(options: ReceiverOptions = {}) {
  const receiver = new Receiver({ secret, ...options })
  const { url, port } = await receiver.start()
  onTestFinished(() => receiver.close())
  const post = async (body: string | Buffer, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`${url}/hook`, { method: 'POST', body, headers })
    await answer.arrayBuffer()
    return answer.status
  }
  /** Posts a signed webhook. */
  const send = (call: object): Promise<number> => {
    const body = JSON.stringify({ version: 1, ...call })
    return post(body, { 'x-signature': signBody(body, secret) })
  }
  return { receiver, url, port, post, send }
}

/** Opens the page of a receiver. Errors on the browser's console fail the test. */
export async function openPage(url: string, look: Look = {}): Promise<Page> {
  const { width = 1_280, colorScheme = 'light', expected = /^$/, movesTime = false } = look
  const page = await (movesTime ? newPage() : takePage())
  if (movesTime) await page.clock.install()
  await page.setViewportSize({ width, height: 720 })
  await page.emulateMedia({ colorScheme })
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  onTestFinished(async ({ task }) => {
    const unexpected = complaints.filter((each) => !expected.test(each))
    const hasFailed = task.result?.state === 'fail' || unexpected.length > 0
    if (hasFailed) await keepPicture(page, task.name)
    await (hasFailed || movesTime ? page.context().close() : leavePage(page))
    expect(unexpected).toEqual([])
  })
  await page.goto(url.includes('/_evroute/') ? url : `${url}/_evroute/`)
  return page
}

/** Saves a screenshot of a page whose test failed. */
async function keepPicture(page: Page, test: string): Promise<void> {
  const name = test.replaceAll(/\W+/g, '-').slice(0, 100)
  const path = fileURLToPath(new URL(`failures/${name}.png`, import.meta.url))
  // A crashed page has no screenshot. The failure is reported anyway.
  await page.screenshot({ path }).catch(() => undefined)
}

/** Returns the accessibility faults that axe-core finds on the page. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  // Playwright evaluates axe-core, so the content security policy of the page does not apply.
  if (await page.evaluate<boolean>('globalThis.axe === undefined')) await page.evaluate(axe.source)
  // Listing the correct elements would take three quarters of the time.
  const { violations } = await page.evaluate<AxeResults>(`axe.run({ resultTypes: ['violations'] })`)
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

const looks = [
  { colorScheme: 'light', width: 1_280 },
  { colorScheme: 'dark', width: 320 },
  { colorScheme: 'light', width: 3_840 },
] as const

/**
 * Returns the faults of the page in light and dark, from 320 px to 4K: those that axe-core finds, and
 * overflow.
 */
export async function faultsOfEveryLook(page: Page): Promise<readonly string[]> {
  const before = page.viewportSize()
  const faults: string[] = []
  for (const { colorScheme, width } of looks) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 720 })
    // At 4K, the page is the same as at 1,280 px, with more space.
    const found = width > 2_000 ? [] : [...(await accessibilityFaults(page))]
    const overflow = await page.evaluate<number>(
      'document.documentElement.scrollWidth - innerWidth',
    )
    if (overflow > 0) found.push(`${overflow} px too wide`)
    faults.push(...found.map((fault) => `${colorScheme}, ${width} px: ${fault}`))
  }
  if (before !== null) await page.setViewportSize(before)
  await page.emulateMedia({ colorScheme: 'light' })
  return faults
}
