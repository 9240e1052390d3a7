import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { EventRecord } from '../receiver/index.ts'
import { readChanges } from './api.ts'
import { curlCommand, fixtureText, sendCommand, testText } from './copies.ts'
import { inexactText } from './exact-json.ts'
import type { PageParts, RequestParts } from './parts.ts'
import { Popover } from './popover.tsx'
import { Pair, Part } from './shown.tsx'
import {
  answerLook,
  bytesOf,
  counted,
  countText,
  dateText,
  hexText,
  signatureText,
  textOf,
  timeText,
  visibleText,
} from './text.ts'
import { Payload } from './tree.tsx'
import { useRead } from './use-read.ts'

const rawBytesShown = 64 * 1024

/** The selected request: the actions on it, its diagnosis, facts, answers, payload and bytes. */
export function Detail({ session, dialogs }: PageParts): JSX.Element {
  const detail = session.detail.value
  switch (detail.kind) {
    case 'none':
      return (
        <div class="empty">
          <p>Select a request to see its details.</p>
          <p>
            <kbd>j</kbd> <kbd>k</kbd> move, <kbd>r</kbd> resends, <kbd>?</kbd> shows all keys.
          </p>
        </div>
      )
    case 'loading':
      return <p class="empty">Reading the request…</p>
    case 'gone':
      return <p class="empty">The receiver no longer keeps this request.</p>
    case 'failed':
      return <p class="empty problem">{detail.message}</p>
    case 'shown':
      return (
        <ShownRequest key={detail.record.seq} record={detail.record} {...{ session, dialogs }} />
      )
  }
}

function ShownRequest({ record, session, dialogs }: RequestParts): JSX.Element {
  const bytes = bytesOf(record)
  const payload = payloadOf(textOf(bytes) ?? '', record.body)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.closest('section')?.scrollTo(0, 0), [])
  return (
    <article aria-labelledby="detail-heading">
      <header class="detail-head">
        <button type="button" class="back" onClick={() => session.close()}>
          Back
        </button>
        <h2 id="detail-heading" tabIndex={-1} ref={heading}>
          #{record.seq}{' '}
          <span class={`type ${record.type ?? 'none'}`}>{record.type ?? 'no webhook'}</span>{' '}
          <span class="title">{visibleText(titleOf(record))}</span>
        </h2>
        <Actions {...{ record, session, dialogs }} />
      </header>
      <Comparison {...{ record, session, dialogs }} />
      <Diagnosed {...{ record, session, dialogs }} />
      <Facts {...{ record, session, dialogs }} />
      {record.forward === null ? null : <TargetAnswer forward={record.forward} />}
      {payload === undefined ? null : (
        <Payload
          title="Payload"
          {...payload}
          choose={
            record.body === null
              ? undefined
              : (keys, value) => void session.copyCondition(keys, value)
          }
        />
      )}
      {record.body === null || session.capture.value !== undefined ? null : (
        <Part title="Changes">
          <Changes seq={record.seq} />
        </Part>
      )}
      {payload === undefined ? <Bytes bytes={bytes} /> : null}
      <Part title="Headers">
        <Headers headers={record.headers} />
      </Part>
      {payload === undefined ? null : <Bytes bytes={bytes} />}
    </article>
  )
}

/** The payload of a webhook, or of a different request whose body is JSON. Undefined for other bodies. */
function payloadOf(
  text: string,
  body: EventRecord['body'],
): { readonly value: unknown; readonly note: string } | undefined {
  try {
    const value: unknown = body ?? JSON.parse(text)
    return { value, note: inexactText(text, value) }
  } catch {
    // It is not JSON, or has too many levels.
    return undefined
  }
}

function Bytes({ bytes }: { readonly bytes: Uint8Array }): JSX.Element {
  return (
    <Part title={`Bytes (${countText(bytes.length)})`}>
      <pre tabIndex={0} aria-label="Bytes of the body">
        {rawText(bytes)}
      </pre>
    </Part>
  )
}

/** The differences from the request that was chosen for a comparison. */
function Comparison({ record: { seq }, session }: RequestParts): JSX.Element | null {
  const other = session.compared.value
  if (other == null) return null
  return (
    <section class="comparison" aria-label="Comparison">
      <div class="actions">
        <h3>
          #{seq} compared with #{other}
        </h3>
        <button type="button" class="link push" onClick={() => session.leave()}>
          End comparison
        </button>
      </div>
      <Changes {...{ seq, other }} />
    </section>
  )
}

/** The differences from another payload; by default, from the previous one of the same user or group. */
function Changes({ seq, other }: { readonly seq: number; readonly other?: number }): JSX.Element {
  const reading = useRead(() => readChanges(seq, other), [seq, other])
  if (reading.kind === 'loading') return <p class="muted">Comparing…</p>
  if (reading.kind === 'failed') return <p class="problem">{reading.message}</p>
  if (reading.value === undefined) {
    return <p class="muted">The receiver no longer keeps both requests.</p>
  }
  const { previous, changes, more } = reading.value
  if (previous === null) return <p class="muted">There is no earlier event to compare with.</p>
  if (changes.length === 0) {
    return (
      <p class="muted">
        Apart from messageId and timestamp, the payload is the same as in #{previous}.
      </p>
    )
  }
  return (
    <>
      <p class="muted">
        From #{previous} to #{seq}
      </p>
      <dl class="pairs changes">
        {changes.map(({ path, before, after }) => (
          <Pair key={path} name={path}>
            {before === null ? <span class="muted">absent</span> : <del>{before}</del>}
            <span class="muted"> → </span>
            {after === null ? <span class="muted">absent</span> : <ins>{after}</ins>}
          </Pair>
        ))}
      </dl>
      {more === 0 ? null : <p class="muted">{counted(more, 'more change')} not shown</p>}
    </>
  )
}

/** The event name, or the name of a page or screen. */
function titleOf({ body }: EventRecord): string {
  const name = body?.['event'] ?? body?.['name'] ?? ''
  return typeof name === 'string' ? name.slice(0, 100) : ''
}

function Headers({ headers }: Pick<EventRecord, 'headers'>): JSX.Element {
  return (
    <dl class="pairs">
      {Object.entries(headers).map(([name, value]) => (
        <Pair key={name} name={name}>
          {visibleText(value)}
        </Pair>
      ))}
    </dl>
  )
}

function TargetAnswer({
  forward: { url, status, error, ms, headers, answer },
}: {
  readonly forward: NonNullable<EventRecord['forward']>
}): JSX.Element {
  return (
    <Part title="Answer of your application">
      <div class="card">
        <p>
          <span class={`badge ${answerLook(status)}`}>{status ?? error}</span>{' '}
          <code>{visibleText(url)}</code> <span class="muted">in {ms} ms</span>
        </p>
        {answer === '' ? (
          <p class="muted">{error === null ? 'The body is empty.' : noAnswerText(error)}</p>
        ) : (
          <pre tabIndex={0} aria-label="Body of the answer">
            {visibleText(answer)}
          </pre>
        )}
        {status === null ? null : (
          <details>
            <summary>{counted(Object.keys(headers).length, 'header')}</summary>
            <Headers headers={headers} />
          </details>
        )}
      </div>
    </Part>
  )
}

function noAnswerText(error: string): string {
  return error === 'ECONNREFUSED'
    ? 'Nothing listens there. Start your application, then resend.'
    : 'There was no answer.'
}

function Actions({ record, session, dialogs }: RequestParts): JSX.Element {
  return (
    <div class="actions">
      <button type="button" class="primary" onClick={() => void session.resend(record)}>
        Resend
      </button>
      <button type="button" onClick={() => dialogs.show({ kind: 'edit', record })}>
        Edit and resend
      </button>
      <button
        type="button"
        onClick={() => void session.copy('curl command', curlCommand(record, location.origin))}
      >
        Copy as curl
      </button>
      {session.capture.value === undefined ? (
        <button type="button" onClick={() => session.compare()}>
          Compare…
        </button>
      ) : null}
      {record.body === null ? null : <OtherCopies {...{ record, session, dialogs }} />}
      {record.type === null || session.capture.value !== undefined ? null : (
        <button type="button" onClick={() => void session.expectLike(record.seq)}>
          Expect this
        </button>
      )}
    </div>
  )
}

function OtherCopies({ record, session }: RequestParts): JSX.Element {
  const copies = [
    ['evroute send', 'send command', () => sendCommand(record, location.origin)],
    ['Fixture', 'fixture', () => fixtureText(record)],
    ['Test', 'test', () => testText(record)],
  ] as const
  return (
    <Popover label="Copy as…">
      {(close) =>
        copies.map(([label, name, text]) => (
          <button
            key={name}
            type="button"
            onClick={() => {
              close()
              void session.copy(name, text())
            }}
          >
            {label}
          </button>
        ))
      }
    </Popover>
  )
}

const unknownFix =
  'Check that the sender has the secret of this receiver and signs the exact bytes of the body.'

function Diagnosed({ record, session, dialogs }: RequestParts): JSX.Element | null {
  const { diagnosis, reason, signature } = record
  if (reason === null) return <RefusalAdvice {...{ record, session, dialogs }} />
  const isUnsigned = signature === 'invalid' || signature === 'missing'
  const fix = diagnosis?.fix ?? (isUnsigned ? unknownFix : '')
  return (
    <div class="diagnosis" role="note">
      <strong>{visibleText(reason)}</strong>
      {fix === '' ? null : <p>{visibleText(fix)}</p>}
      {isUnsigned ? (
        <div class="actions">
          {session.capture.value === undefined ? (
            <button type="button" onClick={() => void session.signAndResend(record)}>
              Sign and resend
            </button>
          ) : null}
          <HandlersButton dialogs={dialogs} />
        </div>
      ) : null}
    </div>
  )
}

function HandlersButton({ dialogs }: Pick<PageParts, 'dialogs'>): JSX.Element {
  return (
    <button type="button" class="link" onClick={() => dialogs.show({ kind: 'handlers' })}>
      Show a handler that verifies
    </button>
  )
}

/** Statuses with which applications refuse a signature. */
const refusals: readonly (number | null | undefined)[] = [400, 401, 403]

/** Explains why an application probably refused a request with a valid signature. */
function RefusalAdvice({ record, dialogs }: RequestParts): JSX.Element | null {
  const { forward, signature, body } = record
  if (signature !== 'valid' || !refusals.includes(forward?.status)) return null
  const isRewritten = textOf(bytesOf(record)) !== JSON.stringify(body)
  return (
    <div class="diagnosis" role="note">
      <strong>The signature is valid, but your application answered {forward?.status}</strong>
      <p>
        {isRewritten
          ? 'JSON.stringify writes this body differently. The application must verify the bytes that arrive, not a body that it parsed and serialised again.'
          : 'The application must have the same secret, read X-Signature, and verify the bytes that arrive.'}{' '}
        <code>evroute check</code> finds the mistake.
      </p>
      <div class="actions">
        <HandlersButton dialogs={dialogs} />
      </div>
    </div>
  )
}

const withheldTexts = {
  foreign_origin: 'a web page on a different origin sent it',
  signature_not_valid: 'its signature is not valid',
} as const

function Facts({ record, session }: RequestParts): JSX.Element {
  const { at, method, path, userId, signature, status, injected, withheld, ms } = record
  const passesOn = session.receiver.value?.passesOn === true
  return (
    <dl class="pairs">
      <Pair name="Arrived">
        <time dateTime={at}>
          {dateText(at)} {timeText(Date.parse(at))}
        </time>
      </Pair>
      <Pair name="Request">
        {visibleText(method)} {visibleText(path)}
      </Pair>
      {userId === null ? null : <Pair name="User">{visibleText(userId)}</Pair>}
      <Pair name="Signature">
        <span class={`badge signature ${signature}`}>{signatureText(signature)}</span>
      </Pair>
      <Pair name="Answer">
        <span class={`badge ${answerLook(status)}`}>{status ?? 'none'}</span>{' '}
        <span class="muted">in {ms} ms</span>
        {injected === null ? null : ` (planned: ${injected})`}
      </Pair>
      {withheld === null || !passesOn ? null : (
        <Pair name="Passed on">
          No: {withheldTexts[withheld]}, so it is neither forwarded nor given to{' '}
          <span class="nowrap">--on-event</span>.
        </Pair>
      )}
    </dl>
  )
}

function rawText(bytes: Uint8Array): string {
  const shown = bytes.subarray(0, rawBytesShown)
  const left = bytes.length - shown.length
  const text = textOf(shown.length === bytes.length ? bytes : withoutCutCharacter(shown))
  const more = left > 0 ? `\n… and ${counted(left, 'more byte')}` : ''
  return (text === undefined ? hexText(shown.subarray(0, 4_096)) : visibleText(text)) + more
}

/** Drops the last character of UTF-8 bytes, because it may be incomplete. */
function withoutCutCharacter(bytes: Uint8Array): Uint8Array {
  let end = bytes.length
  while (end > 0 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end--
  return bytes.subarray(0, Math.max(0, end - 1))
}
