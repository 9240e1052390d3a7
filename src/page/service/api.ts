import { signal } from '@preact/signals'
import type { AnswerRecord, AudienceFields } from '../../admin-api/index.ts'
import type { SyncCounts } from '../../audience/index.ts'
import type { DeliveryLedger, RegulationType } from '../../model/index.ts'
import { sendRequest, jsonOf, post, queryOf, type Answer } from '../http.ts'

/** Conditions on deliveries, by their names in the admin API. Empty ones are ignored. */
export type Conditions = Readonly<
  Partial<
    Record<'id' | 'state' | 'type' | 'user' | 'destination' | 'message' | 'since' | 'until', string>
  >
>

export type DeliveryAction = 'retry' | 'discard'

const pageRows = 50
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

/** The answers to reads, by path. */
interface Reads {
  readonly 'v1/overview': AnswerRecord<'overview'>
  readonly 'v1/destinations': AnswerRecord<'destinations'>
  readonly 'v1/sources': AnswerRecord<'sources'>
  readonly 'v1/audiences': AnswerRecord<'audiences'>
  readonly 'v1/ledger': DeliveryLedger
  /** Whether the ledger matches the store. The service counts all stored deliveries to find out. */
  readonly 'v1/audit': AnswerRecord<'audit'>
}

/** Reads from the service. The browser adds the cookie of the session. */
export function read<Path extends keyof Reads>(path: Path): Promise<Reads[Path]> {
  return valueOf(sendRequest(path))
}

/** Reads a page of a list. Parameters that are undefined or empty are left out. */
function readPage<List>(
  path: string,
  parameters: Readonly<Record<string, string | number | undefined>>,
): Promise<List> {
  return valueOf<List>(sendRequest(`${path}?${queryOf({ limit: pageRows, ...parameters })}`))
}

export function readMembers(key: string, after?: string): Promise<AnswerRecord<'members'>> {
  return readPage(`v1/audiences/${encodeURIComponent(key)}`, { after })
}

/** Reads a page of deletion requests, newest first. */
export function readRegulations(before?: string): Promise<AnswerRecord<'regulations'>> {
  return readPage('v1/regulations', { before })
}

/** Reads a page of deliveries, newest first. */
export function readDeliveries(
  conditions: Conditions,
  before?: number,
): Promise<AnswerRecord<'deliveries'>> {
  return readPage('v1/deliveries', { ...conditions, before })
}

export function readStory(id: string): Promise<AnswerRecord<'story'>> {
  return valueOf(sendRequest(`v1/deliveries/${id.split('/').map(encodeURIComponent).join('/')}`))
}

export function setEnabled(id: string, enabled: boolean): Promise<unknown> {
  return act(`v1/destinations/${encodeURIComponent(id)}/${enabled ? 'enable' : 'disable'}`)
}

export function sendTest(id: string): Promise<{ readonly messageId: string }> {
  return act(`v1/destinations/${encodeURIComponent(id)}/test`)
}

/** Removes an audience: all its members leave. A dry run only counts them. */
export function removeAudience(
  key: string,
  mode?: 'dry run',
): Promise<{ readonly audience: AudienceFields; readonly left: number }> {
  const query = queryOf({ dryRun: mode && 'true' })
  return outcomeOf(post(`v1/audiences/${encodeURIComponent(key)}/remove?${query}`, '{}'))
}

/** Makes the users in a list the members of an audience. A dry run only counts the changes. */
export function syncAudience(
  named: { readonly name: string; readonly source: string },
  list: File,
  mode?: 'dry run',
): Promise<SyncCounts> {
  const query = queryOf({ ...named, dryRun: mode && 'true' })
  return outcomeOf(post(`v1/audiences/sync?${query}`, list))
}

export function createRegulation(
  regulationType: RegulationType,
  subjectIds: readonly string[],
): Promise<{ readonly id: string }> {
  return act('v1/regulations', { regulationType, subjectIds })
}

/** Sends archived events again. Without a condition, sends all of them. */
export function replay(
  conditions: Readonly<Record<string, string>>,
): Promise<{ readonly events: number; readonly deliveries: number }> {
  return act('v1/replay', Object.keys(conditions).length === 0 ? { all: true } : conditions)
}

/** Counts the deliveries that an action would change, up to `countedMax`. */
export async function countDeliveries(
  action: DeliveryAction,
  conditions: Conditions,
): Promise<number> {
  const query = queryOf({ limit: countedRows, ...conditions })
  if (!query.has('state')) for (const state of statesOf[action]) query.append('state', state)
  for (let count = 0; ;) {
    const { deliveries, next } = await valueOf<AnswerRecord<'deliveries'>>(
      sendRequest(`v1/deliveries?${query}`),
    )
    count += deliveries.length
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

function act<Value>(path: string, body: object = {}): Promise<Value> {
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
