import { signal } from '@preact/signals'
import type { AnswerRecord, AudienceFields } from '../../admin-api/index.ts'
import type { SyncCounts } from '../../audience/index.ts'
import { reasonsNotRetried } from '../../model/delivery.ts'
import type { DeliveryLedger } from '../../model/index.ts'
import { sendRequest, jsonOf, post, queryOf, withQuery, type Answer } from '../http.ts'

/** Conditions on deliveries, by their names in the admin API. Empty ones are ignored. */
export type Conditions = Readonly<
  Partial<
    Record<'id' | 'state' | 'type' | 'user' | 'destination' | 'message' | 'since' | 'until', string>
  >
>

export type DeliveryAction = 'retry' | 'discard'

/** The number of rows on a page of a list. */
export const pageRows = 50
/** The number of deliveries that {@link countDeliveries} reads with one request. */
const countedRows = 500
/** Maximum deliveries to count. For more, the page says "at least". */
export const countedMax = 5_000

/** The states to which an action applies by default. */
const statesOf: Readonly<Record<DeliveryAction, readonly string[]>> = {
  retry: ['failed', 'expired'],
  discard: ['pending'],
}

/** False if the service has rejected a request as unauthorized. */
export const isSignedIn = signal(true)

/** The answers to reads, by path. Lists are answered page by page. */
interface Reads {
  readonly 'v1/overview': AnswerRecord<'overview'>
  readonly 'v1/destinations': AnswerRecord<'destinations'>
  readonly 'v1/sources': AnswerRecord<'sources'>
  readonly 'v1/audiences': AnswerRecord<'audiences'>
  readonly [members: `v1/audiences/${string}`]: AnswerRecord<'members'>
  /** Newest first. */
  readonly 'v1/deliveries': AnswerRecord<'deliveries'>
  readonly [story: `v1/deliveries/${string}`]: AnswerRecord<'story'>
  /** Newest first. */
  readonly 'v1/regulations': AnswerRecord<'regulations'>
  readonly 'v1/ledger': DeliveryLedger
  /** Whether the ledger matches the store. The service counts all stored deliveries to find out. */
  readonly 'v1/audit': AnswerRecord<'audit'>
}

/** Reads from the service. Leaves out parameters that are undefined or empty. The browser adds the cookie of the session. */
export function read<Path extends keyof Reads>(
  path: Path,
  parameters: Readonly<Record<string, string | number | undefined>> = {},
): Promise<Reads[Path]> {
  return valueOf(sendRequest(withQuery(path, parameters)))
}

/** Removes an audience: all its members leave. A dry run only counts them. */
export function removeAudience(
  key: string,
  mode?: 'dry run',
): Promise<{ readonly audience: AudienceFields; readonly left: number }> {
  const path = `v1/audiences/${encodeURIComponent(key)}/remove`
  return outcomeOf(post(withQuery(path, { dryRun: mode && 'true' }), '{}'))
}

/** Makes the users in a list the members of an audience. A dry run only counts the changes. */
export function syncAudience(
  named: { readonly name: string; readonly source: string },
  list: File,
  mode?: 'dry run',
): Promise<SyncCounts> {
  return outcomeOf(post(withQuery('v1/audiences/sync', { ...named, dryRun: mode && 'true' }), list))
}

/** Counts the deliveries that an action would change, up to `countedMax`. */
export async function countDeliveries(
  action: DeliveryAction,
  conditions: Conditions,
): Promise<number> {
  const query = queryOf({ limit: countedRows, ...conditions })
  if (!query.has('state')) for (const state of statesOf[action]) query.append('state', state)
  const skipped = reasonsNotRetried(Boolean(conditions.message))
  const isCounted = ({ reason }: { readonly reason: string | null }): boolean =>
    action === 'discard' || reason === null || !skipped.includes(reason)
  for (let count = 0; ;) {
    const { deliveries, next } = await valueOf<AnswerRecord<'deliveries'>>(
      sendRequest(`v1/deliveries?${query}`),
    )
    count += deliveries.filter(isCounted).length
    if (next === null || count >= countedMax) return count
    query.set('before', String(next))
  }
}

/** Retries or discards deliveries. Returns their number. */
export async function changeDeliveries(
  action: DeliveryAction,
  conditions: Conditions,
): Promise<number> {
  const given = Object.fromEntries(queryOf(conditions))
  // The API accepts no other condition together with an id.
  const body = 'id' in given ? given : { state: statesOf[action], ...given }
  return (await act<{ readonly deliveries: number }>(`v1/deliveries/${action}`, body)).deliveries
}

export async function signIn(token: string): Promise<void> {
  await act('sign-in', { token })
  isSignedIn.value = true
}

export async function signOut(): Promise<void> {
  await act('sign-out')
  isSignedIn.value = false
}

/** Posts an action. */
export function act<Value>(path: string, body: object = {}): Promise<Value> {
  return valueOf<Value>(post(path, JSON.stringify(body)))
}

/** Returns the last record of a streamed answer, which is the outcome. */
function outcomeOf<Value>(pending: Promise<Answer>): Promise<Value> {
  return valueOf<Value>(
    pending.then(({ status, text }) => ({ status, text: text.trimEnd().split('\n').at(-1) ?? '' })),
  )
}

async function valueOf<Value>(pending: Promise<Answer>): Promise<Value> {
  const answer = await pending
  if (answer.status === 401) isSignedIn.value = false
  return jsonOf(answer) as Value
}
