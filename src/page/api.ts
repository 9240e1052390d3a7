import type { ActionOutcomes, EventRecord, EventSummary, ReadAnswers } from '../receiver/index.ts'
import { sendRequest, jsonOf, messageOf, post, withQuery } from './http.ts'

/** Facts about the receiver, which come with the stream. */
export interface ReceiverFacts {
  /** Changes when the receiver is started again. */
  readonly run: string
  readonly isSigned: boolean
  /** Whether requests are passed on to a target or a program. */
  readonly passesOn: boolean
}

/** Callbacks of {@link follow}. */
export interface StreamListener {
  /** Called before the receiver sends all requests that it keeps, oldest first. */
  readonly reset: (receiver: ReceiverFacts) => void
  /** Called with the number of requests that the receiver dropped before it sent them. */
  readonly missed: (count: number) => void
  /** Called with new requests that match, oldest first. `lastSeq` is the number of the newest, matching or not. */
  readonly arrived: (rows: readonly ListRow[], lastSeq: number) => void
  /** Called when the connection opens or is lost. If the receiver refuses a stream, called again with the reason. */
  readonly connection: (state: 'open' | 'lost', refusal?: string) => void
}

/** A request in a burst, without its summary. The page reads the summary when the row is on the screen. */
export interface UnreadRow {
  readonly seq: number
  readonly failed: boolean
  readonly summary?: undefined
}

interface Arrivals {
  readonly summaries: readonly EventSummary[]
  /** In a burst, ranges of older requests without a summary. All requests in a range have the same `failed`. */
  readonly crowd?: readonly (readonly [from: number, to: number, failed: boolean])[]
}

export type ListRow = EventSummary | UnreadRow

/** Why a match is invalid, with the position of the invalid part in the text. */
export type MatchProblem = Extract<ReadAnswers['match'], { readonly valid: false }>

/** Changes to a request before it is sent again. */
export interface RequestEdit {
  /** A path on the receiver; undefined if there is a `url`. */
  readonly path?: string
  /** The URL of a server other than this receiver, instead of `path`. */
  readonly url?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A request to send. The receiver signs a `body`, and signs `rawBase64` only if `sign` is true. */
export type NewRequest =
  RequestEdit | (Omit<RequestEdit, 'body'> & { readonly rawBase64: string; readonly sign: boolean })

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

/** Returns why the receiver refuses a stream; undefined if it doesn't. An EventSource doesn't say why. */
async function refusalOf(url: string): Promise<string | undefined> {
  const asking = new AbortController()
  try {
    const answer = await fetch(url, { signal: asking.signal })
    if (!answer.ok) jsonOf({ status: answer.status, text: await answer.text() })
  } catch (error) {
    return error instanceof TypeError ? undefined : messageOf(error)
  }
  asking.abort()
  return undefined
}

/**
 * Follows the requests that match; an empty filter matches all. Returns a function that ends the stream. If the
 * connection is lost, the browser connects again, and the receiver continues after the last request that it sent.
 */
export function follow(filter: string, listener: StreamListener): () => void {
  const url = withQuery('stream', { match: filter, sample: 'true' })
  const source = new EventSource(url)
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
    const waiting = (end = () => clearTimeout(timer))
    void refusalOf(url).then((refusal) => {
      if (refusal !== undefined && end === waiting) listener.connection('lost', refusal)
    })
  })
  on('reset', listener.reset)
  on('missed', ({ from, to }: { from: number; to: number }) => listener.missed(to - from + 1))
  on('webhooks', ({ summaries, crowd = [] }: Arrivals, seq) => {
    const before = crowd.flatMap(([from, to, failed]) =>
      Array.from({ length: to - from + 1 }, (_, index) => ({ seq: from + index, failed })),
    )
    listener.arrived([...before, ...summaries], seq)
  })
  return () => end()
}

/** The answers to reads, by path. */
export interface Reads extends ReadAnswers {
  /** `keptFrom` is the number of the oldest request that the receiver keeps. */
  readonly summaries: {
    readonly summaries: readonly EventSummary[]
    readonly keptFrom: number
  }
}

export async function read<Path extends keyof Reads>(
  path: Path,
  query: Readonly<Record<string, string | number | undefined>> = {},
): Promise<Reads[Path]> {
  return jsonOf(await sendRequest(withQuery(path, query))) as Reads[Path]
}

export async function act<Name extends keyof ActionOutcomes>(
  name: Name,
  body: object,
): Promise<ActionOutcomes[Name]> {
  return jsonOf(await post(`actions/${name}`, JSON.stringify(body))) as ActionOutcomes[Name]
}

/** Reads the matching requests of a capture. */
export async function readCapture(file: Blob, filter: string): Promise<Capture> {
  const path = withQuery('actions/read-capture', { match: filter })
  const { status, text } = await post(path, file, 'application/x-ndjson')
  const lines = text.trimEnd().split('\n')
  const { read: count, badRows } = jsonOf({ status, text: lines.pop() ?? '' }) as Capture
  const requests = lines.map(
    (line) => JSON.parse(line) as { summary: EventSummary; record: EventRecord },
  )
  return {
    summaries: requests.map(({ summary }) => summary),
    records: new Map(requests.map(({ record }) => [record.seq, record])),
    read: count,
    badRows,
  }
}
