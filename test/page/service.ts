import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { openPage } from './browser.ts'
import { startService as startRunning, documentFor, token } from '../service/running-service.ts'
import { TestEndpoint } from '../support/endpoint.ts'

export { token }

/** Starts a service whose endpoint gives these answers. */
export async function startService(
  answers: Parameters<typeof TestEndpoint.start>,
  given: Parameters<typeof documentFor>[1] = {},
) {
  const endpoint = await TestEndpoint.start(...answers)
  const document = documentFor(endpoint, given)
  const running = await startRunning(document)
  const { admin } = running.service.address
  return {
    ...running,
    endpoint,
    document,
    /** The URL of the page, without a session. */
    page: `${admin ?? ''}/_evroute/`,
    /** Returns a link that opens the page once. */
    link: (): string => running.service.signInLink() ?? '',
  }
}

/** Polls longer than the few seconds between two refreshes of the page. */
export const afterRefresh = { timeout: 15_000 }

/** Opens the page of a service whose endpoint accepted `m_1` and refused `m_2`, signed in. */
export async function openService(look?: Parameters<typeof openPage>[1]) {
  const running = await startService([[200, 404, 200]])
  const { track, settled, link } = running
  await track('m_1')
  await expect.poll(() => settled.length).toBe(1)
  await track('m_2')
  await expect.poll(() => settled.length).toBe(2)
  const page = await openPage(link(), look)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  return { ...running, page }
}

/** Goes to a view of the service. */
export function goTo(page: Page, view: string): Promise<void> {
  return page.getByRole('navigation').getByRole('link', { name: view }).click()
}
