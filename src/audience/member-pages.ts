import type { Member } from './audience.ts'
import type { AudienceReader } from './store-port.ts'

const pageMembersMax = 1_000

/** Yields every member of an audience, page by page. */
export async function* memberPages(
  store: AudienceReader,
  key: string,
): AsyncGenerator<readonly Member[]> {
  let page: readonly Member[] = []
  do {
    const after = page.at(-1)?.identity ?? null
    page = await store.members({ key, limit: pageMembersMax, after })
    if (page.length > 0) yield page
  } while (page.length === pageMembersMax)
}
