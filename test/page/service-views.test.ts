import type { Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { gate } from '../support/gate.ts'
import { accessibilityFaults, openPage, withBrowser } from './browser.ts'
import { goTo, openService, afterRefresh, startService } from './service.ts'

withBrowser()

test('a view stays if the service does not answer, and says so until it does', async () => {
  const { page } = await openService({ movesTime: true, expected: /ERR_|502/ })
  const answers = [
    ['There is no answer. Is evroute still running?', (route: Route) => route.abort()],
    [
      'The answer does not come from evroute. Is there a proxy in between?',
      (route: Route) => route.fulfill({ status: 502, body: '<html>Bad Gateway' }),
    ],
  ] as const
  for (const [text, answer] of answers) {
    await page.route('**/v1/overview', answer, { times: 1 })
    await page.clock.runFor(5_000)
    const problem = page.getByText(text)
    await problem.waitFor()
    expect(await page.getByRole('heading', { name: 'Last hour' }).count()).toBe(1)
    await page.clock.runFor(5_000)
    await problem.waitFor({ state: 'detached' })
  }
})

test('a text that the browser does not copy is shown', async () => {
  const { page } = await openService()
  await goTo(page, 'Sources')
  await page.getByText('Set up a program').click()
  // Browsers give no clipboard to a page that is opened over http under a host name.
  await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`)
  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  const text = page.getByRole('dialog').getByRole('textbox', { name: 'sample code' })
  expect(await text.inputValue()).toContain('AnalyticsBrowser.load')
})

test('ages of a list that is not read again are written anew', async () => {
  const { page } = await openService({ movesTime: true })
  await goTo(page, 'Deliveries')
  const row = page.getByRole('row').last()
  await expect.poll(() => row.innerText()).toMatch(/\((?:\d+ s|[\w ]+ms) ago\)/)
  // Times of today have no date.
  expect(await row.innerText()).not.toMatch(/\d{4}-\d\d-\d\d/)
  await page.clock.runFor(120_000)
  await expect.poll(() => row.innerText()).toMatch(/\(2 min/)
})

test('on a telephone, the navigation scrolls to the current view', async () => {
  const { page } = await openService({ width: 390 })
  await page.evaluate(`location.hash = '#/replay'`)
  await page.getByRole('heading', { name: 'Replay' }).waitFor()
  const link = page.getByRole('navigation').getByRole('link', { name: 'Replay' })
  const { x, width } = (await link.boundingBox())!
  expect(x + width).toBeLessThanOrEqual(390)
})

test('a question that comes late opens no dialog on another view', async () => {
  const { page } = await openService()
  await goTo(page, 'Destinations')
  const counting = gate()
  await page.route('**/v1/deliveries?*', async (route) => {
    await counting.opened
    await route.continue()
  })
  const counted = page.waitForResponse('**/v1/deliveries?*')
  await page.getByRole('button', { name: 'Retry failed' }).click()
  await goTo(page, 'Overview')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  counting.open()
  await (await counted).finished()
  await page.evaluate('new Promise((resolve) => setTimeout(resolve))')
  expect(await page.getByRole('dialog').count()).toBe(0)
})

test('many problems are folded, and the destinations of a source are a link to them', async () => {
  const { page } = await openService()
  const change = async (path: string, changeOf: (answer: never) => object): Promise<void> => {
    await page.route(`**/v1/${path}`, async (route) => {
      const answer = (await (await route.fetch()).json()) as never
      await route.fulfill({ json: changeOf(answer) })
    })
  }
  const names = Array.from({ length: 21 }, (_, index) => `shop-${index}`)
  const problems = names.map((destination) => ({
    text: 'It is down.',
    advice: 'Start it.',
    destination,
    moment: null,
  }))
  await change('overview', (overview: object) => ({ ...overview, problems }))
  await change('sources', ({ url, sources: [source] }: { url: string; sources: object[] }) => ({
    url,
    sources: [{ ...source, destinations: names }],
  }))
  await page.reload()
  await page.getByText('shop-4: It is down.').waitFor()
  expect(await page.getByText('shop-5: It is down.').isVisible()).toBe(false)
  await page.getByText('16 more problems').click()
  await page.getByText('shop-20: It is down.').waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await goTo(page, 'Sources')
  await page.getByRole('link', { name: '21', exact: true }).click()
  await page.getByRole('region', { name: 'Destination crm' }).waitFor()
})

describe('the ledger', () => {
  test('is shown as a diagram that balances, and is compared with the rows of the store', async () => {
    const { page } = await openService()
    expect(await page.getByText('✓ It balances.').count()).toBe(1)
    await goTo(page, 'Ledger')
    const events = 'Events: 2 accepted = 2 routed + 0 filtered + 0 duplicate + 0 suppressed'
    await page.getByRole('img', { name: events }).waitFor()
    const deliveries = 'Deliveries: 2 deliveries = 1 delivered + 1 failed + 0 expired + 0 pending'
    await page.getByRole('img', { name: deliveries }).waitFor()
    expect(await page.getByText('✓ It balances.').count()).toBe(2)
    await page.getByRole('button', { name: 'Count the rows' }).click()
    await page.getByText('✓ The ledger agrees with the 2 rows in the store.').waitFor()
  })

  test('shows which of its equations do not balance', async () => {
    const { page } = await openService()
    const change = async (path: string, changeOf: (answer: object) => object): Promise<void> => {
      await page.route(`**/v1/${path}`, async (route) => {
        const answer = (await (await route.fetch()).json()) as object
        await route.fulfill({ json: changeOf(answer) })
      })
    }
    await change('ledger', (ledger) => ({ ...ledger, accepted: 5 }))
    await change('overview', (overview) => {
      const { ledger } = overview as { readonly ledger: object }
      return { ...overview, ledger: { ...ledger, deliveries: 1 } }
    })
    await change('audit', (audit) => ({
      ...audit,
      balanced: false,
      imbalances: [{ equation: '1 failed = 0 in the store + 0 purged', difference: 1 }],
    }))
    await page.reload()
    await page.getByText('✗ It does not balance.').waitFor()
    await page.getByRole('link', { name: 'Where every event and delivery is' }).click()
    await page.getByText('✗ It does not balance: the parts add up to 2, 3 too few.').waitFor()
    expect(await page.getByText('✓ It balances.').count()).toBe(1)
    await page.getByRole('button', { name: 'Count the rows' }).click()
    const wrong = '✗ 1 failed = 0 in the store + 0 purged does not hold: the difference is 1.'
    await page.getByText(wrong).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
  })
})

describe('sources', () => {
  test('show what was rejected and why, and how to set up a program', async () => {
    const { page, track } = await openService()
    const messageId = '<img src=x onerror=alert(1)>\u202e'
    await track(messageId, undefined, { event: 7 })
    await goTo(page, 'Sources')
    const website = page.getByRole('region', { name: 'Source website', exact: true })
    await expect.poll(() => website.innerText()).toMatch(/2 routed[^]*1 wrong_type/)
    const rejected = website.getByRole('region', { name: 'Last rejected calls of website' })
    await rejected.getByRole('cell', { name: '<img src=x onerror=alert(1)>\\u202e' }).waitFor()
    await page.getByText('To add a source, add it to the configuration file.').waitFor()
    await website.getByText('Set up a program').click()
    await website.getByLabel('Language').selectOption('curl')
    const setup = website.getByLabel('Set-up of website')
    expect(await setup.innerText()).toMatch(
      /^curl -u 'wk_example': 'http:\/\/127\.0\.0\.1:\d+\/v1\/track'/,
    )
    await website.getByRole('button', { name: 'Copy' }).click()
    await page.getByText('The sample code has been copied.').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await setup.innerText())
  })
})

describe('audiences', () => {
  test('are synced with a list, shown with their members, and removed', async () => {
    const { page, endpoint } = await openService()
    await goTo(page, 'Audiences')
    await page.getByText('There is no audience.').waitFor()
    await page.getByLabel('Name').fill('Very important people')
    const list = {
      name: 'vip.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('userId\nu_1\nu_2\n\n'),
    }
    await page.getByLabel('List').setInputFiles(list)
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByText('2 users enter, 0 users leave, 0 values change.').waitFor()
    expect(endpoint.requests).toHaveLength(2)
    await page.getByRole('button', { name: 'Sync', exact: true }).click()
    await page.getByText('Synced Very important people: 2 entered, 0 left.').waitFor()
    await expect.poll(() => endpoint.requests.length).toBe(4)
    await page.getByRole('link', { name: 'Very important people' }).click()
    await page.getByRole('cell', { name: 'u_2' }).waitFor()
    await goTo(page, 'Audiences')
    await page.getByRole('button', { name: 'Remove Very important people' }).click()
    await page.getByText('2 members leave').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('There is no audience.').waitFor()
  })

  test('say why a list cannot be used', async () => {
    const { page } = await openService({ expected: /400/ })
    await goTo(page, 'Audiences')
    await page.getByLabel('Name').fill('vip')
    await page
      .getByLabel('List')
      .setInputFiles({ name: 'a', mimeType: 'text/csv', buffer: Buffer.from('x\n1\n') })
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.locator('.notice.problem').waitFor()
  })
})

describe('deletions', () => {
  test('are requested after a confirmation, and listed with their state', async () => {
    const { page } = await openService()
    await goTo(page, 'Deletions')
    await page.getByText('There is no deletion request.').waitFor()
    await page.getByLabel('Type').selectOption('DELETE_INTERNAL')
    await page.getByLabel('userIds').fill('u_1\n\n u_2 ')
    await page.getByRole('button', { name: 'Request' }).click()
    await page.getByRole('heading', { name: 'Request DELETE_INTERNAL for 2 users?' }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Request' }).click()
    const row = page.getByRole('row', { name: /DELETE_INTERNAL/ })
    await row.waitFor()
    const readRow = async (): Promise<string> => {
      await goTo(page, 'Sources')
      await goTo(page, 'Deletions')
      return row.innerText()
    }
    await expect.poll(readRow, afterRefresh).toMatch(/FINISHED\s+2\s+2/)
  })
})

describe('a replay', () => {
  test('sends archived events again after a confirmation', async () => {
    const archive = { directory: 'archive' }
    const { track, settled, link, endpoint } = await startService([200], { source: { archive } })
    await track('m_1')
    await expect.poll(() => settled.length).toBe(1)
    const page = await openPage(link())
    await goTo(page, 'Replay')
    await page.getByLabel('Event name').fill('Order Completed')
    await page.getByRole('button', { name: 'Replay' }).click()
    await page
      .getByText('These events are sent to their destinations again: event Order Completed.')
      .waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click()
    await page.getByText('Replayed 1 event: 1 delivery.').waitFor()
    await expect.poll(() => endpoint.requests.length).toBe(2)
    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('is not offered if nothing is archived', async () => {
    const { page } = await openService()
    await goTo(page, 'Replay')
    await page.getByText('No source has an archive.').waitFor()
  })
})
