import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { EventRecord } from '../receiver/index.ts'
import { copyCondition, expectLike, resend } from './actions.ts'
import { Button } from './button.tsx'
import { Changes, Comparison } from './changes.tsx'
import { curlText, fixtureText, sendCommand, testText } from './copies.ts'
import { copy } from './copy.tsx'
import { dialog } from './dialog.tsx'
import { Popover } from './popover.tsx'
import { session } from './session.ts'
import { Moment, Pair, Part } from './shown.tsx'
import {
  answerLook,
  bytesOf,
  counted,
  countText,
  hexText,
  reasonText,
  signatureTexts,
  textOf,
  visibleText,
} from './text.ts'
import { Payload } from './tree.tsx'

const rawBytesShown = 64 * 1024

interface RequestParts {
  readonly record: EventRecord
}

export function Detail(): JSX.Element {
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
    case 'failed':
      return <p class="empty problem">{detail.message}</p>
    case 'shown':
      return <ShownRequest key={detail.record.seq} record={detail.record} />
  }
}

function ShownRequest({ record }: RequestParts): JSX.Element {
  const bytes = bytesOf(record)
  const payload = payloadOf(textOf(bytes) ?? '', record.body)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.closest('section')?.scrollTo(0, 0), [])
  return (
    <article aria-labelledby="detail-heading">
      <header class="detail-head">
        <Button label="Back" class="back" onClick={() => session.close()} />
        <h2 id="detail-heading" tabIndex={-1} ref={heading}>
          #{record.seq}{' '}
          <span class={`type ${record.type ?? 'none'}`}>{record.type ?? 'no webhook'}</span>{' '}
          <span class="title">{visibleText(titleOf(record))}</span>
        </h2>
        <Actions record={record} />
      </header>
      <Comparison seq={record.seq} />
      <Diagnosed record={record} />
      <Facts record={record} />
      {record.forward === null ? null : <TargetAnswer {...record.forward} />}
      {payload === undefined ? null : (
        <Payload
          title="Payload"
          {...payload}
          choose={
            record.body === null ? undefined : (keys, value) => void copyCondition(keys, value)
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

/** Returns the parsed body of a request, webhook or not; undefined if the body cannot be parsed. */
function payloadOf(
  text: string,
  body: EventRecord['body'],
): { readonly value: unknown } | undefined {
  try {
    return { value: body ?? (JSON.parse(text) as unknown) }
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

function TargetAnswer(forward: NonNullable<EventRecord['forward']>): JSX.Element {
  const { url, status, error, ms, headers, answer } = forward
  return (
    <Part title="Your application's answer">
      <p>
        <span class={`badge ${answerLook(status)}`}>{status ?? 'no answer'}</span>{' '}
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
    </Part>
  )
}

function noAnswerText(error: string): string {
  const advice =
    error === 'ECONNREFUSED' ? ' Nothing listens there. Start your application, then resend.' : ''
  return `${reasonText(error)}.${advice}`
}

function Actions({ record }: RequestParts): JSX.Element {
  return (
    <div class="actions">
      <Button label="Resend" class="primary" onClick={() => void resend(record)} />
      <Button label="Edit and resend" onClick={() => (dialog.value = { kind: 'edit', record })} />
      {session.capture.value === undefined ? (
        <Button label="Compare…" onClick={() => session.compare()} />
      ) : null}
      {record.type === null || session.capture.value !== undefined ? null : (
        <Button label="Expect this" onClick={() => void expectLike(record.seq)} />
      )}
      <Button
        label="Copy as curl"
        onClick={() => void copy('curl command', curlText(record, location.origin))}
      />
      {record.body === null ? null : <OtherCopies record={record} />}
    </div>
  )
}

function OtherCopies({ record }: RequestParts): JSX.Element {
  const copies = [
    ['evroute send', 'send command', () => sendCommand(record, location.origin)],
    ['Fixture', 'fixture', () => fixtureText(record)],
    ['Test', 'test', () => testText(record)],
  ] as const
  return (
    <Popover label="Copy as…">
      {(close) =>
        copies.map(([label, name, text]) => (
          <Button
            label={label}
            key={name}
            onClick={() => {
              close()
              void copy(name, text())
            }}
          />
        ))
      }
    </Popover>
  )
}

const unknownFix =
  'Check that the sender has the secret of this receiver and signs the exact bytes of the body.'

function Diagnosed({ record }: RequestParts): JSX.Element | null {
  const { diagnosis, reason, signature } = record
  if (reason === null) return <RefusalAdvice record={record} />
  const isUnsigned = signature === 'invalid' || signature === 'missing'
  const fix = diagnosis?.fix ?? (isUnsigned ? unknownFix : '')
  return (
    <div class="diagnosis" role="note">
      <strong>{visibleText(reason)}</strong>
      {fix === '' ? null : <p>{visibleText(fix)}</p>}
      {isUnsigned ? (
        <div class="actions">
          {session.receiver.value?.isSigned === true ? (
            <Button label="Sign and resend" onClick={() => void resend(record, { sign: true })} />
          ) : null}
          <HandlersButton />
        </div>
      ) : null}
    </div>
  )
}

function HandlersButton(): JSX.Element {
  return (
    <Button
      label="Show a handler that verifies"
      class="link"
      onClick={() => (dialog.value = { kind: 'handlers' })}
    />
  )
}

/** Statuses with which applications refuse a signature. */
const refusals: readonly (number | null | undefined)[] = [400, 401, 403]

/** Explains the likely reason why an application refused a request with a valid signature. */
function RefusalAdvice({ record }: RequestParts): JSX.Element | null {
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
        <HandlersButton />
      </div>
    </div>
  )
}

const withheldTexts = {
  foreign_origin: 'a web page on a different origin sent it',
  signature_not_valid: 'its signature is not valid',
} as const

function Facts({ record }: RequestParts): JSX.Element {
  const { at, method, path, userId, signature, status, injected, withheld, ms } = record
  const passesOn = session.receiver.value?.passesOn === true
  return (
    <dl class="tiles">
      <Pair name="Arrived">
        <Moment at={at} />
      </Pair>
      <Pair name="Request">
        {visibleText(method)} {visibleText(path)}
      </Pair>
      {userId === null ? null : <Pair name="User">{visibleText(userId.slice(0, 100))}</Pair>}
      <Pair name="Signature">
        <span class={`badge signature ${signature}`}>{signatureTexts[signature]}</span>
      </Pair>
      <Pair name="Answer">
        <span class={`badge ${answerLook(status)}`}>{status ?? 'no answer'}</span>{' '}
        <span class="muted">in {ms} ms</span>
        {injected === null ? null : ` (planned: ${injected})`}
      </Pair>
      {withheld === null || !passesOn ? null : (
        <Pair name="Passed on">
          No: {withheldTexts[withheld]}, so it is neither forwarded nor given to --on-event.
        </Pair>
      )}
    </dl>
  )
}

function rawText(bytes: Uint8Array): string {
  const shown = bytes.subarray(0, rawBytesShown)
  const omitted = bytes.length - shown.length
  const text = textOf(shown, omitted > 0)
  const more = omitted > 0 ? `\n… and ${counted(omitted, 'more byte')}` : ''
  return (text === undefined ? hexText(shown.subarray(0, 4_096)) : visibleText(text)) + more
}
