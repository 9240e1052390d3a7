import { fileURLToPath } from 'node:url'
import axe, { type AxeResults } from 'axe-core'
import chromium from '@sparticuz/chromium'
import { chromium as launcher, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { Receiver, type ReceiverOptions } from '../../src/receiver/index.ts'
import { signBody } from '../../src/webhook/index.ts'

/** What the webhooks of these tests are signed with. */
export const secret = 'not-a-real-secret'

let browser: Browser | undefined
/** Pages that no test uses. The next test takes one: to start a process for each takes half of the time. */
const idlePages: Page[] = []

/** Starts a real browser for the tests of a file. */
export function withBrowser(): void {
  beforeAll(async () => {
    browser = await launcher.launch({
      executablePath: await chromium.executablePath(),
      // Without the flags of the package, some of which turn the web's security off.
      args: [
        '--no-sandbox',
        '--disable-gpu',
        // Lets a test come by a name as another machine does.
        '--host-resolver-rules=MAP *.example.com 127.0.0.1',
      ],
    })
  })
  afterAll(async () => {
    idlePages.length = 0
    await browser?.close()
  })
}

/** A page with a context of its own, without what an earlier test left in it. */
async function takePage(): Promise<Page> {
  const idle = idlePages.pop()
  return idle ?? newPage()
}

async function newPage(): Promise<Page> {
  if (browser === undefined) throw new Error('withBrowser() has to be called first')
  const context = await browser.newContext({
    // A colour that is changing has no contrast yet, and a click waits until an element is still.
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  return context.newPage()
}

/** Leaves the page of a test, and keeps it for the next one. */
async function leavePage(page: Page): Promise<void> {
  page.removeAllListeners()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.context().clearCookies()
  await page.goto('about:blank')
  idlePages.push(page)
}

/** How a page is looked at. */
export interface Look {
  readonly width?: number
  readonly colorScheme?: 'light' | 'dark'
  /** Messages of the console that are not mistakes of the page. */
  readonly expected?: RegExp
  /** Lets the test move the time of the page. No other test gets this page. */
  readonly movesTime?: boolean
}

/** A receiver that runs until the test ends. */
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

/** Opens the page of a receiver. What the browser complains about fails the test. */
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

/** Keeps what a page looked like when its test failed. */
async function keepPicture(page: Page, test: string): Promise<void> {
  const name = test.replaceAll(/\W+/g, '-').slice(0, 100)
  const path = fileURLToPath(new URL(`failures/${name}.png`, import.meta.url))
  // A page that crashed has no picture: what failed is reported all the same.
  await page.screenshot({ path }).catch(() => undefined)
}

/** What axe-core finds wrong with the page as it is. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  // Evaluated by the tool, not by the page: its policy stays as it is.
  if (await page.evaluate<boolean>('globalThis.axe === undefined')) await page.evaluate(axe.source)
  // Listing all elements that are right takes three quarters of the time.
  const { violations } = await page.evaluate<AxeResults>(`axe.run({ resultTypes: ['violations'] })`)
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

const looks = [
  { colorScheme: 'light', width: 1_280 },
  { colorScheme: 'dark', width: 320 },
  { colorScheme: 'light', width: 3_840 },
] as const

/** What is wrong with the page as it is, light and dark, from 320 px to 4K: what axe-core finds, and overflow. */
export async function faultsOfEveryLook(page: Page): Promise<readonly string[]> {
  const before = page.viewportSize()
  const faults: string[] = []
  for (const { colorScheme, width } of looks) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 720 })
    // At 4K it is the same as at 1,280 px, with more room.
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
