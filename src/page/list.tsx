import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { JSX, RefObject } from 'preact'
import { failureWords } from '../model/failure-text.ts'
import type { EventSummary } from '../receiver/index.ts'
import type { ListRow } from './api.ts'
import { Button } from './button.tsx'
import { copy } from './copy.tsx'
import { dialog } from './dialog.tsx'
import { session } from './session.ts'
import { answerLook, counted, countText, dateText, signatureTexts, timeText } from './text.ts'

const rowPixels = 56
/** The number of extra rows above and below the screen, so that scrolling shows no gaps. */
const overscan = 8
/** Summaries are read after this pause in scrolling. */
const settledMs = 60

/** The requests, newest first. Only rows on the screen are in the document. */
export function List(): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const { list, selected, compared, onlyFailed, filterProblem } = session
  const rows = list.rows(onlyFailed.value)
  const { first, last, unseen } = useScroll(box)
  const shown: JSX.Element[] = []
  const unread: number[] = []
  for (let index = first; index < Math.min(last, rows.length); index++) {
    const row = rows[rows.length - 1 - index]
    if (row === undefined) continue
    if (row.summary === undefined) unread.push(row.seq)
    const isSelected = row.seq === selected.value
    const isCompared = row.seq === compared.value
    const position = { index, count: rows.length }
    shown.push(<Row key={row.seq} {...{ row, isSelected, isCompared, position }} />)
  }

  useEffect(() => {
    if (unread.length === 0) return undefined
    const timer = setTimeout(() => void session.readRows(unread), settledMs)
    return () => clearTimeout(timer)
    // Read the summaries again after a lost connection.
  }, [unread.join(), session.connection.value])

  return (
    <>
      <p class="counts">
        <span>{requestsText(rows.length)}</span>
        {filterProblem.value === 'not shown' ? (
          <span class="warning">Filter not applied. Press Enter to see why.</span>
        ) : null}
        {list.heldCount.value > 0 ? (
          <span class="held">{countText(list.heldCount.value)} new</span>
        ) : null}
        {unseen > 0 ? (
          <Button
            label={`↑ ${countText(unseen)} new`}
            class="link"
            onClick={() => box.current?.scrollTo(0, 0)}
          />
        ) : null}
      </p>
      <div class="list" ref={box}>
        <Missed />
        <Choosing />
        {rows.length === 0 ? (
          <Empty />
        ) : (
          <div
            class="rows"
            role="listbox"
            tabIndex={0}
            aria-label="Requests"
            aria-activedescendant={
              session.current === null ? undefined : `request-${session.current}`
            }
            style={{ height: `${rows.length * rowPixels}px` }}
            onKeyDown={(event) => moveByKey(event)}
            onPointerDown={() => list.hold()}
            onPointerMove={() => list.hold()}
          >
            {shown}
          </div>
        )}
      </div>
    </>
  )
}

/**
 * Keeps the rows on the screen in place when new ones arrive above them. Returns the range of the rows to draw, and
 * how many new rows are above the screen.
 */
function useScroll(box: RefObject<HTMLDivElement | null>): {
  first: number
  last: number
  unseen: number
} {
  const { list, onlyFailed } = session
  const view = useSignal({ top: 0, height: 600 })
  const rows = list.rows(onlyFailed.value)
  const newest = rows.at(-1)?.seq ?? Infinity
  /** The newest request when the list was drawn last. */
  const drawn = useRef(newest)
  /** The request that was newest when the list was last at its top. */
  const seen = useRef(newest)
  if (view.value.top === 0) seen.current = newest

  useLayoutEffect(() => {
    const element = box.current
    if (element !== null && element.scrollTop > 0) {
      element.scrollTop += list.countAfter(drawn.current, onlyFailed.value) * rowPixels
    }
    drawn.current = newest
  }, [list.version.value])

  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const measure = (): void => {
      view.value = { top: element.scrollTop, height: element.clientHeight }
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [])

  useLayoutEffect(() => {
    const { current: seq } = session
    if (seq !== null && box.current !== null) showRow(box.current, rows, seq)
  }, [session.current])

  const { top, height } = view.value
  return {
    first: Math.max(0, Math.floor(top / rowPixels) - overscan),
    last: Math.ceil((top + height) / rowPixels) + overscan,
    unseen: list.countAfter(seen.current, onlyFailed.value),
  }
}

/** Says how many requests are in the list, and how many without the filter. */
function requestsText(shown: number): string {
  const { filter, onlyFailed, all } = session
  const isPart = filter.value !== '' || onlyFailed.value
  return isPart
    ? `${countText(shown)} of ${counted(Math.max(shown, all), 'request')}`
    : counted(shown, 'request')
}

interface RowParts {
  readonly row: ListRow
  readonly isSelected: boolean
  /** Whether the selected request is compared with this one. */
  readonly isCompared: boolean
  readonly position: { readonly index: number; readonly count: number }
}

function Row({ row, isSelected, isCompared, position }: RowParts): JSX.Element {
  const { index, count } = position
  return (
    <div
      class={`row ${row.failed ? 'failed' : ''} ${isCompared ? 'compared' : ''}`}
      id={`request-${row.seq}`}
      role="option"
      aria-selected={isSelected}
      aria-setsize={count}
      aria-posinset={index + 1}
      style={{ top: `${index * rowPixels}px` }}
      onClick={() => session.choose(row.seq)}
    >
      {row.summary === undefined ? (
        <>
          <span />
          <span class="muted">Reading…</span>
          <span />
          <span class="seq">#{row.seq}</span>
        </>
      ) : (
        <Summary {...row} />
      )}
    </div>
  )
}

function Summary(row: EventSummary): JSX.Element {
  const { seq, atMs, type, userId, summary, status, signature, durationMs, repeatOf } = row
  const { forwarded, forwardedTo } = row
  const look = answerLook(status)
  const time = timeText(atMs)
  return (
    <>
      <span class={`type ${type ?? 'none'}`}>{type ?? 'no webhook'}</span>
      <span class="summary">
        {summary.map(({ role, text }) => (
          <span class={`part ${role}`}>{text}</span>
        ))}
      </span>
      <span class={`status ${look === 'good' ? '' : `badge ${look}`}`}>
        {status ?? 'no answer'}
      </span>
      <span class="seq">#{seq}</span>
      <span class="facts">
        <span class="time">
          <span class="date">{dateText(atMs)}</span>
          {time.slice(0, -4)}
          <span class="thousandths">{time.slice(-4)}</span>
        </span>
        <Signature signature={signature} />
        <span class="user">{userId ?? '–'}</span>
        {forwarded === null ? null : (
          <>
            <span class={`forwarded ${answerLook(forwarded)}`} title={String(forwarded)}>
              → {failureWords(String(forwarded))}
            </span>{' '}
            <span class="target">from {shortTarget(forwardedTo ?? '')}</span>
          </>
        )}
        {repeatOf === null ? null : (
          <span class="repeat">
            <span class="word">same id: </span>#{repeatOf}
          </span>
        )}
      </span>
      <span class="ms">{durationMs} ms</span>
    </>
  )
}

function Signature({ signature }: Pick<EventSummary, 'signature'>): JSX.Element | null {
  if (signature === 'unchecked') return null
  return (
    <span class={`signature ${signature} ${isBad(signature) ? 'badge' : ''}`}>
      <span class="word">signature </span>
      {signatureTexts[signature]}
    </span>
  )
}

function isBad(signature: EventSummary['signature']): boolean {
  return signature === 'invalid' || signature === 'missing'
}

/** Shortens a URL to host and path. */
function shortTarget(url: string): string {
  return url.replace(/^https?:\/\//, '').replace(/\/$/, '')
}

function Empty(): JSX.Element {
  if (session.connection.value !== 'open') {
    if (session.connection.value === 'connecting') return <p class="empty">Connecting…</p>
    const isRefused = session.refusal.value !== undefined
    return <p class="empty">The receiver {isRefused ? 'sends no requests' : 'does not answer'}.</p>
  }
  if (session.filter.value !== '' || session.onlyFailed.value) {
    return <p class="empty">No request matches. New matching requests appear here.</p>
  }
  const signed = session.receiver.value?.isSigned === true ? ' --secret YOUR_SECRET' : ''
  const command = `npx evroute send track --to ${location.origin}${signed}`
  return (
    <div class="empty">
      <h2>Waiting for webhooks</h2>
      <p>Send them to {location.origin}/ or try:</p>
      <code>{command}</code>
      <div class="actions">
        <Button label="Copy command" onClick={() => void copy('command', command)} />
        <Button label="Send a sample" onClick={() => (dialog.value = { kind: 'compose' })} />
      </div>
    </div>
  )
}

function Choosing(): JSX.Element | null {
  if (session.compared.value !== null) return null
  return (
    <p class="choosing" role="status">
      Choose the request to compare #{session.selected.value} with.{' '}
      <Button label="Cancel" class="link" onClick={() => session.leave()} />
    </p>
  )
}

function Missed(): JSX.Element | null {
  const count = session.list.missedCount.value
  const failedCount = session.list.missedFailedCount.value
  if (count === 0) return null
  return (
    <p class="missed">
      The receiver no longer keeps {counted(count, 'older request')}
      {failedCount === 0 ? '' : ` (${countText(failedCount)} failed)`}
    </p>
  )
}

function showRow(element: HTMLElement, rows: readonly ListRow[], seq: number): void {
  const index = rows.findIndex((row) => row.seq === seq)
  if (index === -1) return
  const top = (rows.length - 1 - index) * rowPixels
  if (top < element.scrollTop) element.scrollTop = top
  const bottom = top + rowPixels - element.clientHeight
  if (bottom > element.scrollTop) element.scrollTop = bottom
}

function moveByKey(event: KeyboardEvent): void {
  const move = {
    ArrowDown: () => session.selectNeighbour(-1),
    ArrowUp: () => session.selectNeighbour(1),
    Home: () => session.selectEnd('newest'),
    End: () => session.selectEnd('oldest'),
  }[event.key]
  if (move === undefined) return
  event.preventDefault()
  move()
}
