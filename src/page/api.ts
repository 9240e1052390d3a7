import type {
  EventRecord,
  EventSummary,
  PayloadChanges,
  PlannedAnswers,
  Resent,
  ShownExpectation,
} from '../receiver/index.ts'

/** Facts about the receiver, which come with the stream. */
export interface ReceiverFacts {
  /** Changes when the receiver is started again. */
  readonly run: string
  /** Whether the receiver checks signatures. */
  readonly isSigned: boolean
  /** Whether requests are passed on to a target or a program. */
  readonly passesOn: boolean
}

/** Callbacks for the messages of the stream. */
export interface StreamListener {
  /** Called when the list begins again. */
  readonly reset: (receiver: ReceiverFacts) => void
  /** Called with the number of requests that the receiver dropped before it sent them. */
  readonly missed: (count: number) => void
  /** Called with new requests that match, oldest first. `lastSeq` is the newest number, even if it does not match. */
  readonly arrived: (rows: readonly ListRow[], lastSeq: number) => void
  readonly connection: (state: 'open' | 'lost') => void
}

/** A request in a burst, still without its summary. The page reads it when the row is on the screen. */
export interface UnreadRow {
  readonly seq: number
  readonly failed: boolean
  readonly summary?: undefined
}

interface Arrivals {
  readonly summaries: readonly EventSummary[]
  /** Ranges of earlier requests in a burst: the first and the last number, and whether all failed or none did. */
  readonly crowd?: readonly (readonly [from: number, to: number, failed: boolean])[]
}

/** A request in the list. */
export type ListRow = EventSummary | UnreadRow

export interface MatchProblem {
  readonly message: string
  readonly hint: string
  /** The position of the invalid part in the text. */
  readonly offset: number
  readonly length: number
}

/** Changes to a request before it is sent again. */
export interface RequestEdit {
  /** A path on the receiver; undefined if there is a `url`. */
  readonly path?: string
  /** The URL of a different server. */
  readonly url?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A new request. The receiver signs a `body`, and sends `rawBase64` without changes. */
export type NewRequest = RequestEdit | (Omit<RequestEdit, 'body'> & { readonly rawBase64: string })

/** The requests of a capture. */
export interface Capture {
  readonly summaries: readonly EventSummary[]
  readonly records: ReadonlyMap<number, EventRecord>
  /** The number of requests in the file. The page shows the newest 10,000. */
  readonly read: number
  /** The number of lines that are not records of a receiver. */
  readonly badRows: number
}

/** Pause before the page connects again. The browser itself gives up after an error answer, such as from a proxy. */
const reconnectMs = 3_000

/**
 * Follows the requests that match. An empty filter matches all. If the connection is lost, the browser connects again,
 * and the receiver continues after the last request that it sent.
 *
 * @returns a function that ends the stream
 */
export function follow(filter: string, listener: StreamListener): () => void {
  const matched = filter === '' ? {} : { match: filter }
  const source = new EventSource(`stream?${new URLSearchParams({ ...matched, sample: 'true' })}`)
  let end = (): void => source.close()
  const on = (name: string, hear: (data: never, seq: number) => void): void =>
    source.addEventListener(name, ({ data, lastEventId }) =>
      hear(JSON.parse(data as string) as never, Number(lastEventId.split('-')[1])),
    )
  source.addEventListener('open', () => listener.connection('open'))
  source.addEventListener('error', () => {
    listener.connection('lost')
    if (source.readyState !== EventSource.CLOSED) return
    const timer = setTimeout(() => (end = follow(filter, listener)), reconnectMs)
    end = () => clearTimeout(timer)
  })
  on('reset', listener.reset)
  on('missed', ({ from, to }: { from: number; to: number }) => listener.missed(to - from + 1))
  on('webhooks', ({ summaries, crowd = [] }: Arrivals, seq) => {
    const before = crowd.flatMap(([from, to, failed]) =>
      Array.from({ length: to - from + 1 }, (_, place) => ({ seq: from + place, failed })),
    )
    listener.arrived([...before, ...summaries], seq)
  })
  return () => end()
}

/** The summaries of the requests that the receiver still keeps. */
export interface ReadSummaries {
  readonly summaries: readonly EventSummary[]
  /** The number of the oldest request that the receiver keeps. */
  readonly keptFrom: number
}

export async function readSummaries(seqs: readonly number[]): Promise<ReadSummaries> {
  const answer = await read<ReadSummaries>('summaries', { seqs: seqs.join(',') })
  return answer ?? { summaries: [], keptFrom: 0 }
}

/** Reads a request. Returns undefined if the receiver has dropped it. */
export function readEvent(seq: number): Promise<EventRecord | undefined> {
  return read('event', { seq })
}

/**
 * Compares a payload with that of another request; by default, with the previous one of the same user or group. Returns
 * undefined if the receiver has dropped a request.
 */
export function readChanges(seq: number, other?: number): Promise<PayloadChanges | undefined> {
  return read('changes', other === undefined ? { seq } : { seq, with: other })
}

/** Reads the condition that selects requests with the given value. */
export async function readCondition(keys: readonly string[], value: unknown): Promise<string> {
  const isLong = typeof value === 'string' && value.length > 1_000
  const query = { keys: JSON.stringify(keys), value: isLong ? '{}' : JSON.stringify(value) }
  return (await read<{ text: string }>('condition', query))?.text ?? ''
}

/** Reads an expectation that the request would meet. */
export async function readExpectation(seq: number): Promise<string> {
  return (await read<{ text: string }>('expectation', { seq }))?.text ?? ''
}

/** Reads the expectations and their states, oldest first. */
export async function readExpectations(): Promise<readonly ShownExpectation[]> {
  const answer = await read<{ expectations: readonly ShownExpectation[] }>('expectations')
  return answer?.expectations ?? []
}

/** Reads the planned answers. Returns undefined for a capture. */
export function readPlan(): Promise<PlannedAnswers | undefined> {
  return read('plan')
}

/** Reads a sample body for each type of webhook. */
export async function readSamples(): Promise<Readonly<Record<string, string>>> {
  return (await read<{ samples: Readonly<Record<string, string>> }>('samples'))?.samples ?? {}
}

/** Reads a handler that verifies signatures for each language or framework. */
export async function readSnippets(): Promise<Readonly<Record<string, string>>> {
  return (await read<{ snippets: Readonly<Record<string, string>> }>('snippets'))?.snippets ?? {}
}

/** Checks a filter. Returns undefined if it is valid. */
export async function checkFilter(text: string): Promise<MatchProblem | undefined> {
  if (text === '') return undefined
  const answer = await read<MatchProblem & { readonly valid: boolean }>('match', { text })
  return answer?.valid === false ? answer : undefined
}

/** Sends a request again. An edited request gets a new signature. */
export function resend(seq: number, edit?: Partial<RequestEdit>): Promise<Resent> {
  return act('resend', { seq, edit }) as Promise<Resent>
}

export function send(request: NewRequest): Promise<Resent> {
  return act('send', { request }) as Promise<Resent>
}

/** Answers the next webhook with a status or a fault. Null cancels the answers set before. */
export async function setNextAnswer(answer: number | string | null, delay?: string): Promise<void> {
  await act('next-answer', { answer, delay })
}

/** Replaces the answer plans. Each line is a plan. */
export async function setPlan(lines: readonly string[]): Promise<void> {
  await act('plan', { plan: lines })
}

/** Expects webhooks from now on. Returns the number of the expectation. */
export async function expectWebhooks(text: string): Promise<number> {
  return ((await act('expect', { expect: text })) as { readonly id: number }).id
}

export async function forgetExpectation(id: number): Promise<void> {
  await act('forget', { id })
}

/** Reads the requests of a capture that match. */
export async function readCapture(file: Blob, filter: string): Promise<Capture> {
  const query = filter === '' ? '' : `?${new URLSearchParams({ match: filter })}`
  const answer = await post(`actions/read-capture${query}`, 'application/x-ndjson', file)
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

/** Returns undefined for a 404. */
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
  return bodyOf(await post(`actions/${name}`, 'application/json', JSON.stringify(body)))
}

function post(path: string, mediaType: string, body: BodyInit): Promise<Response> {
  return fetch(path, { method: 'POST', headers: { 'content-type': mediaType }, body })
}

/** @throws Error with the message and hint of an error answer */
async function bodyOf(answer: Response): Promise<unknown> {
  const body = (await answer.json()) as {
    readonly error?: { readonly message?: string; readonly hint?: string }
  }
  if (answer.ok) return body
  const { message = `The receiver answered ${answer.status}`, hint } = body.error ?? {}
  throw new Error(hint === undefined ? message : `${message}.\n${hint}`)
}
