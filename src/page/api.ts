import type {
  EventRecord,
  EventSummary,
  PayloadChanges,
  PlannedAnswers,
  Resent,
  ShownExpectation,
} from '../receiver/index.ts'

/** Hears what the receiver tells. */
export interface StreamListener {
  /** The list begins anew; the run is another one if the receiver was started again. */
  readonly reset: (run: string) => void
  /** So many requests are no longer kept. */
  readonly missed: (count: number) => void
  /** Requests arrived, the last one with this number; those that match are there, oldest first. */
  readonly arrived: (rows: readonly ListRow[], lastSeq: number) => void
  /** Whether the receiver answers. */
  readonly connection: (state: 'open' | 'lost') => void
}

/** A request that came in a crowd: its summary is read when it is looked at. */
export interface UnreadRow {
  readonly seq: number
  readonly failed: boolean
  /** Whether the receiver no longer keeps it. */
  readonly isGone?: boolean
  readonly summary?: undefined
}

/** A message of the stream. */
interface Arrivals {
  readonly summaries: readonly EventSummary[]
  /** Requests before those that came too fast to be read: first, last, and whether they failed. */
  readonly crowd?: readonly (readonly [from: number, to: number, failed: boolean])[]
}

/** A request in the list. */
export type ListRow = EventSummary | UnreadRow

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
  /** A path of the receiver; undefined for a URL. */
  readonly path?: string
  /** A whole URL of another server. */
  readonly url?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A request that is no other one's repetition: text is signed, bytes are sent as they are. */
export type NewRequest = RequestEdit | (Omit<RequestEdit, 'body'> & { readonly rawBase64: string })

/** The requests of a capture. */
export interface Capture {
  readonly summaries: readonly EventSummary[]
  readonly records: ReadonlyMap<number, EventRecord>
  /** How many requests it has; of very many the newest are shown. */
  readonly read: number
  /** Lines that are no records of a receiver. */
  readonly badRows: number
}

/**
 * Follows the requests that match; an empty filter matches all of them. The browser connects again by
 * itself, and the receiver goes on behind the last request that it sent.
 *
 * @returns ends it
 */
export function follow(filter: string, listener: StreamListener): () => void {
  const matched = filter === '' ? {} : { match: filter }
  const source = new EventSource(`stream?${new URLSearchParams({ ...matched, sample: 'true' })}`)
  const on = (name: string, hear: (data: never, seq: number) => void): void =>
    source.addEventListener(name, ({ data, lastEventId }) =>
      hear(JSON.parse(data as string) as never, Number(lastEventId.split('-')[1])),
    )
  source.addEventListener('open', () => listener.connection('open'))
  source.addEventListener('error', () => listener.connection('lost'))
  on('reset', ({ run }: { run: string }) => listener.reset(run))
  on('missed', ({ from, to }: { from: number; to: number }) => listener.missed(to - from + 1))
  on('webhooks', ({ summaries, crowd = [] }: Arrivals, seq) => {
    const before = crowd.flatMap(([from, to, failed]) =>
      Array.from({ length: to - from + 1 }, (_, place) => ({ seq: from + place, failed })),
    )
    listener.arrived([...before, ...summaries], seq)
  })
  return () => source.close()
}

/** The summaries of requests, as far as the receiver keeps them. */
export async function readSummaries(seqs: readonly number[]): Promise<readonly EventSummary[]> {
  const query = { seqs: seqs.join(',') }
  const answer = await read<{ summaries: readonly EventSummary[] }>('summaries', query)
  return answer?.summaries ?? []
}

/** The whole of a request; undefined where the receiver no longer keeps it. */
export function readEvent(seq: number): Promise<EventRecord | undefined> {
  return read('event', { seq })
}

/** How the payload differs from the one before; undefined where the receiver no longer keeps it. */
export function readChanges(seq: number): Promise<PayloadChanges | undefined> {
  return read('changes', { seq })
}

/** The condition of a match that a value of a payload meets. */
export async function readCondition(keys: readonly string[], value: unknown): Promise<string> {
  const isLong = typeof value === 'string' && value.length > 1_000
  const query = { keys: JSON.stringify(keys), value: isLong ? '{}' : JSON.stringify(value) }
  return (await read<{ text: string }>('condition', query))?.text ?? ''
}

/** The text of an expectation of a request like this one. */
export async function readExpectation(seq: number): Promise<string> {
  return (await read<{ text: string }>('expectation', { seq }))?.text ?? ''
}

/** How the expectations stand, oldest first. */
export async function readExpectations(): Promise<readonly ShownExpectation[]> {
  const answer = await read<{ expectations: readonly ShownExpectation[] }>('expectations')
  return answer?.expectations ?? []
}

/** The answers to come; undefined where nothing is received. */
export function readPlan(): Promise<PlannedAnswers | undefined> {
  return read('plan')
}

/** The body of a webhook of each type. */
export async function readSamples(): Promise<Readonly<Record<string, string>>> {
  return (await read<{ samples: Readonly<Record<string, string>> }>('samples'))?.samples ?? {}
}

/** A handler that verifies, for each language or framework. */
export async function readSnippets(): Promise<Readonly<Record<string, string>>> {
  return (await read<{ snippets: Readonly<Record<string, string>> }>('snippets'))?.snippets ?? {}
}

/** What is wrong with a filter; undefined where nothing is. */
export async function checkFilter(text: string): Promise<MatchProblem | undefined> {
  if (text === '') return undefined
  const answer = await read<MatchProblem & { readonly valid: boolean }>('match', { text })
  return answer?.valid === false ? answer : undefined
}

/** Sends a request to the receiver again, as it was or edited and signed anew. */
export function resend(seq: number, edit?: Partial<RequestEdit>): Promise<Resent> {
  return act('resend', { seq, edit }) as Promise<Resent>
}

/** Sends a request to the receiver. */
export function send(request: NewRequest): Promise<Resent> {
  return act('send', { request }) as Promise<Resent>
}

/** Gives the next webhook this status, or this fault; null drops those that were set so. */
export async function setNextAnswer(answer: number | string | null, delay?: string): Promise<void> {
  await act('next-answer', { answer, delay })
}

/** Follows another plan of answers: one plan a line. */
export async function setPlan(lines: readonly string[]): Promise<void> {
  await act('plan', { plan: lines })
}

/** Expects webhooks from now on. Returns the number of the expectation. */
export async function expectWebhooks(text: string): Promise<number> {
  return ((await act('expect', { expect: text })) as { readonly id: number }).id
}

/** Shows an expectation no longer. */
export async function forgetExpectation(id: number): Promise<void> {
  await act('forget', { id })
}

/** Reads the requests of a capture that match. */
export async function readCapture(file: Blob, filter: string): Promise<Capture> {
  const query = filter === '' ? '' : `?${new URLSearchParams({ match: filter })}`
  const headers = { 'content-type': 'application/x-ndjson' }
  const answer = await fetch(`actions/read-capture${query}`, {
    method: 'POST',
    headers,
    body: file,
  })
  if (!answer.ok) await bodyOf(answer)
  const lines = (await answer.text()).trimEnd().split('\n')
  const { read = 0, badRows = 0 } = JSON.parse(lines.pop() ?? '{}') as Partial<Capture>
  const requests = lines.map(
    (line) => JSON.parse(line) as { summary: EventSummary; record: EventRecord },
  )
  return {
    summaries: requests.map(({ summary }) => summary),
    records: new Map(requests.map(({ record }) => [record.seq, record])),
    read,
    badRows,
  }
}

/** Reads an answer; undefined where the thing it is about does not exist. */
async function read<Answer>(
  path: string,
  query: Readonly<Record<string, string | number>> = {},
): Promise<Answer | undefined> {
  const texts = Object.entries(query).map(([name, value]) => [name, String(value)])
  const answer = await fetch(texts.length === 0 ? path : `${path}?${new URLSearchParams(texts)}`)
  if (answer.status === 404) return undefined
  return (await bodyOf(answer)) as Answer
}

async function act(name: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`actions/${name}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  return bodyOf(answer)
}

/** @throws Error with the message of a refusal, and its hint */
async function bodyOf(answer: Response): Promise<unknown> {
  const body = (await answer.json()) as {
    readonly error?: { readonly message?: string; readonly hint?: string }
  }
  if (answer.ok) return body
  const { message = `The receiver answered ${answer.status}`, hint } = body.error ?? {}
  throw new Error(hint === undefined ? message : `${message}.\n${hint}`)
}
