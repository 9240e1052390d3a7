import type { EventRecord, EventSummary } from '../receiver/index.ts'

/** Hears what the receiver tells. */
export interface StreamListener {
  /** The list begins anew; the run is another one if the receiver was started again. */
  readonly reset: (run: string) => void
  /** So many requests are no longer kept. */
  readonly missed: (count: number) => void
  /** Requests arrived, oldest first. */
  readonly arrived: (summaries: readonly EventSummary[]) => void
  /** Whether the receiver answers. */
  readonly connection: (state: 'open' | 'lost') => void
}

/** What is wrong with a filter, and where. */
export interface MatchProblem {
  readonly message: string
  readonly hint: string
  /** The part that cannot be read begins here. */
  readonly offset: number
  readonly length: number
}

/** What is changed before a request is sent again. */
export interface RequestEdit {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** How a request that was sent again ended. */
export interface Resent {
  readonly status: number | null
  readonly error: string | null
}

/**
 * Follows the requests that match; an empty filter matches all of them. The browser connects again by
 * itself, and the receiver goes on behind the last request that was told.
 *
 * @returns ends it
 */
export function follow(filter: string, listener: StreamListener): () => void {
  const query = filter === '' ? '' : `?${new URLSearchParams({ match: filter })}`
  const source = new EventSource(`stream${query}`)
  const on = (name: string, hear: (data: never) => void): void =>
    source.addEventListener(name, (event) => hear(JSON.parse(event.data as string) as never))
  source.addEventListener('open', () => listener.connection('open'))
  source.addEventListener('error', () => listener.connection('lost'))
  on('reset', ({ run }: { run: string }) => listener.reset(run))
  on('missed', ({ from, to }: { from: number; to: number }) => listener.missed(to - from + 1))
  on('webhooks', ({ summaries }: { summaries: readonly EventSummary[] }) =>
    listener.arrived(summaries),
  )
  return () => source.close()
}

/** The whole of a request; undefined where the receiver no longer keeps it. */
export async function readEvent(seq: number): Promise<EventRecord | undefined> {
  const answer = await fetch(`event?seq=${seq}`)
  if (answer.status === 404) return undefined
  return (await bodyOf(answer)) as EventRecord
}

/** What is wrong with a filter; undefined where nothing is. */
export async function checkFilter(text: string): Promise<MatchProblem | undefined> {
  if (text === '') return undefined
  const answer = await bodyOf(await fetch(`match?${new URLSearchParams({ text })}`))
  const { valid, ...problem } = answer as MatchProblem & { readonly valid: boolean }
  return valid ? undefined : problem
}

/** Sends a request to the receiver again, as it was or edited and signed anew. */
export async function resend(seq: number, edit?: RequestEdit): Promise<Resent> {
  return (await act('resend', { seq, ...(edit === undefined ? {} : { edit }) })) as Resent
}

/** Gives the next webhook this status, or this fault. */
export async function setNextAnswer(answer: number | string): Promise<void> {
  await act('next-answer', { answer })
}

function act(name: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  return fetch(`actions/${name}`, { method: 'POST', headers, body: JSON.stringify(body) }).then(
    bodyOf,
  )
}

async function bodyOf(answer: Response): Promise<unknown> {
  const body = (await answer.json()) as { readonly error?: { readonly message?: string } }
  if (answer.ok) return body
  throw new Error(body.error?.message ?? `The receiver answered ${answer.status}`)
}
