import { describe, expect, test } from 'vitest'
import { accessibilityFaults, openPage, withBrowser } from './browser.ts'
import { gate } from '../support/gate.ts'
import { goTo, openService, afterRefresh, startService, token } from './service.ts'

withBrowser()

describe('signing in', () => {
  test('a link opens the page only once, and the admin token opens it afterwards', async () => {
    const { link } = await startService([200])
    const once = link()
    const first = await openPage(once)
    await first.getByText('Nothing is wrong').waitFor()
    expect(first.url()).toMatch(/\/_evroute\/$/)
    const page = await openPage(once, { expected: /401/ })
    await page.goto(new URL('/', once).href)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.goto(once)
    await page.getByText('This link has been used before').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    const field = page.getByLabel('Admin token')
    await field.fill('wrong')
    await field.press('Enter')
    await page.getByText('The token is wrong').waitFor()
    await field.fill(token)
    await field.press('Enter')
    await page.getByText('Nothing is wrong').waitFor()
    expect(await page.evaluate('document.cookie')).toBe('')
    await page.reload()
    await page.getByText('Nothing is wrong').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.getByText('This link').count()).toBe(0)
  })

  test('a session ends when the admin token changes', async () => {
    const { page, document, reconfigure } = await openService({ expected: /401/ })
    await reconfigure({ ...document, admin: { port: 0, token: 'another-token-that-is-no-secret' } })
    await goTo(page, 'Deliveries')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })
})

describe('the overview', () => {
  test('shows the last hour and the counts, and leads to the deliveries', async () => {
    const { page } = await openService()
    const figures = page.locator('.figures')
    expect(await figures.innerText()).toMatch(
      /pending\s+0\s+delivered\s+1\s+failed\s+1\s+expired\s+0/i,
    )
    expect(await figures.innerText()).toMatch(/\d+ m?s\s+p50; p99 \d+ m?s, of the latest 1/)
    // Failures are red; a zero is not.
    expect(await figures.locator('.lost').allInnerTexts()).toEqual(['1'])
    await figures.getByRole('link', { name: '1 failed' }).waitFor()
    expect(await page.title()).toBe('Overview · evroute')
    await page.getByRole('img', { name: /^In the last hour: / }).waitFor()
    const tab = page.getByRole('navigation').getByRole('link', { name: 'Deliveries' })
    const { width } = (await tab.boundingBox())!
    await figures.getByRole('link').nth(2).click()
    await page.getByRole('cell', { name: '✗ failed' }).waitFor()
    expect(await tab.getAttribute('aria-current')).toBe('page')
    expect((await tab.boundingBox())!.width).toBe(width)
    expect(page.url()).toContain('#/deliveries?state=failed')
  })

  test('says what is wrong, and what to do', async () => {
    const { track, settled, link } = await startService([404])
    for (let count = 1; count <= 10; count += 1) {
      await track(`m_${count}`)
      await expect.poll(() => settled.length).toBe(count)
    }
    const page = await openPage(link())
    const problems = page.getByRole('list', { name: 'What is wrong' })
    await expect
      .poll(() => problems.innerText(), afterRefresh)
      .toMatch(/crm: .* refuses webhooks: answered 404, 10 times\.[^]*Since .*\d m?s ago\)/)
    expect(await problems.innerText()).toContain('then retry the failed deliveries')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('link', { name: 'Deliveries of crm' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBe(11)
    expect(page.url()).toContain('state=failed')
  })
})

describe('deliveries', () => {
  test('are filtered, and the address contains the filter', async () => {
    const { page } = await openService()
    await goTo(page, 'Deliveries')
    const rows = page.getByRole('row')
    await expect.poll(() => rows.count()).toBe(3)
    expect(await rows.last().innerText()).toMatch(/track Order Completed m_1/i)
    const labels = await page.getByRole('search').locator('label').all()
    const tops = labels.map(async (label) => (await label.boundingBox())?.y)
    expect(new Set(await Promise.all(tops)).size).toBe(1)
    await page.getByLabel('State').selectOption('delivered')
    await page.getByRole('button', { name: 'Filter' }).click()
    await expect.poll(() => rows.count()).toBe(2)
    expect(await page.getByRole('button', { name: 'Retry all that match' }).isDisabled()).toBe(true)
    await page.reload()
    await expect.poll(() => rows.count()).toBe(2)
    expect(await page.getByLabel('State').inputValue()).toBe('delivered')
    await page.getByLabel('User').fill('u_nobody')
    await page.keyboard.press('Enter')
    await page.getByText('No delivery matches.').waitFor()
    await page.getByLabel('State').selectOption('failed')
    await page.getByRole('button', { name: 'Filter' }).click()
    await expect.poll(() => page.url()).toContain('state=failed')
    const retryAll = page.getByRole('button', { name: 'Retry all that match' })
    await expect.poll(() => retryAll.isDisabled()).toBe(true)
    await page.getByText('No delivery matches.').waitFor()
    await page.goBack()
    await page.goBack()
    await expect.poll(() => rows.count()).toBe(2)
  })

  test('show what is wrong with a condition, and keep its text while the page refreshes', async () => {
    const { page } = await openService({ expected: /400/ })
    const reading = gate()
    await page.route('**/v1/destinations', async (route) => {
      await reading.opened
      await route.continue()
    })
    await goTo(page, 'Deliveries')
    await page.getByLabel('Accepted since').fill('yesterday')
    reading.open()
    await page.getByRole('option', { name: 'crm' }).waitFor({ state: 'attached' })
    await page.keyboard.press('Enter')
    await page.getByText('since: Cannot use "yesterday"').waitFor()
  })

  test('are shown page by page, and all matching ones are discarded', async () => {
    const { track, link, warnings } = await startService([503])
    for (let count = 0; count < 60; count += 1) await track(`m_${count}`)
    // From now on the deliveries wait.
    await expect.poll(() => JSON.stringify(warnings)).toContain('an endpoint is down')
    const page = await openPage(link())
    const problem = page.getByRole('listitem').filter({ hasText: 'is down: answered 503.' })
    expect(await problem.innerText()).toMatch(/Its deliveries wait\.[^]*Next probe .*\(in \d+ s\)/)
    expect(await problem.getByRole('link').getAttribute('href')).toContain('state=pending')
    expect(await problem.locator('time').getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
    await goTo(page, 'Deliveries')
    const rows = page.getByRole('row')
    await expect.poll(() => rows.count()).toBe(51)
    await page.getByRole('button', { name: 'Next page' }).click()
    await expect.poll(() => rows.count()).toBe(11)
    await rows.last().getByRole('link').click()
    await page.getByRole('link', { name: 'Back to the list' }).click()
    await expect.poll(() => rows.count()).toBe(11)
    await page.getByRole('button', { name: 'First page' }).click()
    await expect.poll(() => rows.count()).toBe(51)
    await page.getByRole('button', { name: 'Discard all that match' }).click()
    await page.getByRole('heading', { name: 'Discard 60 deliveries?' }).waitFor()
    await page.getByRole('button', { name: 'Discard', exact: true }).click()
    await page.getByText(/^Discarded \d+ deliveries\.$/).waitFor()
    await page.getByRole('cell', { name: 'discarded' }).first().waitFor()
    await page.getByRole('button', { name: 'Retry all that match' }).click()
    await page.getByText('There is nothing to retry.').waitFor()
  })

  test('that wait are counted in the dialogs that disable or enable their destination', async () => {
    const { track, link, warnings } = await startService([503])
    for (let count = 0; count < 12; count += 1) await track(`m_${count}`)
    await expect.poll(() => JSON.stringify(warnings)).toContain('an endpoint is down')
    const page = await openPage(link())
    await goTo(page, 'Destinations')
    const crm = page.getByRole('region', { name: 'Destination crm' })
    const dialog = page.getByRole('dialog')
    await crm.getByRole('button', { name: 'Send test event' }).click()
    await dialog.getByText('12 deliveries are waiting.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await crm.getByRole('button', { name: 'Disable' }).click()
    await dialog
      .getByText('12 deliveries are waiting; they will wait until you enable it.')
      .waitFor()
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await crm.getByRole('button', { name: 'Enable' }).click()
    await dialog.getByText('12 deliveries are waiting; they will be sent.').waitFor()
  })

  test('are filtered by when they were accepted, from and to', async () => {
    const { page } = await openService()
    await goTo(page, 'Deliveries')
    await page.getByLabel('Accepted since').fill('1h')
    await page.getByLabel('Accepted before').fill('30m')
    await page.keyboard.press('Enter')
    await page.getByText('No delivery matches.').waitFor()
    expect(page.url()).toContain('since=1h&until=30m')
    await page.getByLabel('Accepted before').fill('0s')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.getByRole('row').count()).toBe(3)
  })
})

describe('a delivery', () => {
  test('shows its history: requests, answers, and the manual retry', async () => {
    const { page, endpoint } = await openService()
    await goTo(page, 'Deliveries')
    await page.getByLabel('State').selectOption('failed')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByRole('row', { name: /m_1/ }).waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /m_2/ }).getByRole('cell').last().click()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('dialog').waitFor()
    await page.goBack()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /m_2/ }).getByRole('cell').last().click()
    await page.getByRole('link', { name: 'Back to the list' }).click()
    expect(page.url()).toContain('state=failed')
    await page.getByRole('row', { name: /m_2/ }).getByRole('link').click()
    const story = page.getByRole('article')
    await expect.poll(() => story.innerText()).toMatch(/✗ failed[^]*answered 404/)
    const requests = story.getByRole('list', { name: 'Requests' })
    expect(await requests.innerText()).toMatch(/404[^]*ago\), attempt 1, not retried/)
    expect(await story.innerText()).toMatch(/Order Completed/)
    expect(await accessibilityFaults(page)).toEqual([])
    expect(await story.getByRole('button', { name: 'Discard' }).isDisabled()).toBe(true)
    await story.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await page.getByText('Retrying 1 delivery.').waitFor()
    await expect.poll(() => story.innerText(), afterRefresh).toContain('✓ delivered')
    await expect.poll(() => requests.innerText()).toMatch(/200[^]*by hand/)
    expect(endpoint.requests).toHaveLength(3)
  })

  test('that waits shows when it is tried next, and is discarded', async () => {
    const { track, link, endpoint } = await startService([
      { status: 503, body: '<script>alert(1)</script>\u202e' },
    ])
    await track('m_1')
    await expect.poll(() => endpoint.requests.length).toBe(1)
    const page = await openPage(link())
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await goTo(page, 'Deliveries')
    const row = page.getByRole('row', { name: /m_1/ })
    await expect
      .poll(async () => {
        await page.getByRole('button', { name: 'Refresh' }).click()
        return row.innerText()
      }, afterRefresh)
      .toMatch(/pending[^]*answered 503/)
    await row.getByRole('link').click()
    const story = page.getByRole('article')
    await expect
      .poll(() => story.innerText(), afterRefresh)
      .toMatch(/503[^]*\), attempt 1, will be retried[^]*Next attempt .*in \d+ s/)
    expect(await story.innerText()).toMatch(/Retried until\s.*\(in 3 h 59 min\)/)
    // The answer to the last failed request is unfolded.
    await story.getByText('<script>alert(1)</script>\\u202e').last().waitFor()
    await story.getByRole('button', { name: 'Discard' }).click()
    await page.getByText('The deliveries fail without being sent').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await page.getByText('Discarded 1 delivery.').waitFor()
    await expect.poll(() => story.innerText(), afterRefresh).toMatch(/✗ failed[^]*discarded/)
  })

  test('that does not exist says so', async () => {
    const { page } = await openService({ expected: /404/ })
    await page.goto(page.url().replace(/#.*|$/, '#/deliveries/crm%2F999999'))
    await page.getByText('There is no such delivery').waitFor()
  })
})

describe('accessibility', () => {
  test('the keyboard alone is enough to retry a delivery from the overview', async () => {
    const { page, endpoint } = await openService()
    const tabTo = async (name: string | RegExp): Promise<void> => {
      const matches = (text: string): boolean =>
        typeof name === 'string' ? text === name : name.test(text)
      for (let count = 0; count < 40; count += 1) {
        await page.keyboard.press('Tab')
        if (matches(await page.locator(':focus').innerText())) return
      }
      throw new Error(`Nothing to tab to: ${String(name)}`)
    }
    await tabTo('Deliveries')
    await page.keyboard.press('Enter')
    await page.getByRole('row', { name: /m_2/ }).waitFor()
    await tabTo(/^crm\/\d+$/)
    await page.keyboard.press('Enter')
    await page.getByRole('article').waitFor()
    expect(await page.title()).toMatch(/^crm\/\d+ · evroute$/)
    // The link in the list is gone. A screen reader goes on at the delivery.
    await expect.poll(() => page.locator('main:focus').count()).toBe(1)
    await expect.poll(() => page.getByRole('article').innerText()).toContain('✗ failed')
    await tabTo('Retry')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    expect(await page.locator(':focus').innerText()).toBe('Retry')
    await page.keyboard.press('Enter')
    await expect.poll(() => endpoint.requests.length).toBe(3)
  })

  test('the page says that the service is gone', async () => {
    const { page, service } = await openService({ expected: /ERR_|Failed to load/ })
    await service.close()
    await goTo(page, 'Deliveries')
    await page.getByText('There is no answer. Is evroute still running?').first().waitFor()
  })
})
