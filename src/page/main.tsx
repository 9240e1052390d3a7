import { effect } from '@preact/signals'
import { render, type JSX } from 'preact'
import type { EventRecord } from '../receiver/index.ts'
import { resend } from './actions.ts'
import { keepAddress } from './address.ts'
import { Button } from './button.tsx'
import { CaptureBanner, openDroppedCaptures } from './captures.tsx'
import { curlText } from './copies.ts'
import { copy, UncopiedDialog } from './copy.tsx'
import { Detail } from './detail.tsx'
import { dialog } from './dialog.tsx'
import { ShownDialog } from './dialogs.tsx'
import { focusFilter, onKeys } from './keys.ts'
import { List } from './list.tsx'
import { ShownNotice } from './notice.tsx'
import { session } from './session.ts'
import { shareConnections } from './tabs.ts'
import { countText } from './text.ts'
import { ListTools, ReceiverTools } from './toolbar.tsx'

function Page(): JSX.Element {
  const { selected, compared, refusal } = session
  const state = stateOf(session)
  const { look, text } = states[state]
  return (
    <>
      <header>
        <div class="top">
          <h1>evroute</h1>
          <span class={`badge connection ${look}`} role="status">
            {text}
            {state === 'lost' ? <span class="more">; trying again</span> : null}
          </span>
          <Button
            label={location.origin}
            class="link address"
            title="Copy the URL"
            onClick={() => void copy('URL', location.origin)}
          />
          <ReceiverTools />
        </div>
        <CaptureBanner />
        {refusal.value === undefined ? null : (
          <p class="banner bad" role="alert">
            {refusal.value}
          </p>
        )}
      </header>
      <main class={selected.value === null || compared.value === null ? '' : 'has-detail'}>
        <section class="list-side" aria-label="List of requests">
          <ListTools />
          {/* When `onlyFailed` changes, the new key makes the list begin at its top, or at the selected request. */}
          <List key={session.onlyFailed.value} />
        </section>
        <section class="detail-side" aria-label="Selected request" tabIndex={-1}>
          <Detail />
        </section>
      </main>
      <ShownNotice />
      <ShownDialog />
      <UncopiedDialog />
    </>
  )
}

function stateOf({ connection, isPaused, capture }: typeof session): keyof typeof states {
  if (capture.value !== undefined) return 'capture'
  return connection.value === 'open' && isPaused.value ? 'paused' : connection.value
}

const states = {
  capture: { look: 'warning', text: 'Capture' },
  connecting: { look: 'warning', text: 'Connecting…' },
  open: { look: 'good', text: 'Live' },
  paused: { look: 'warning', text: 'Paused' },
  lost: { look: 'bad', text: 'Not connected' },
} as const

onKeys({
  j: () => session.selectNeighbour(-1),
  k: () => session.selectNeighbour(1),
  Enter: () => document.getElementById('detail-heading')?.focus(),
  r: () => withRecord((record) => void resend(record)),
  e: () => withRecord((record) => (dialog.value = { kind: 'edit', record })),
  c: () => withRecord((record) => void copy('curl command', curlText(record, location.origin))),
  d: () => session.compare(),
  p: () => session.togglePause(),
  '/': focusFilter,
  '?': () => (dialog.value = { kind: 'keys' }),
  Escape: () => session.leave(),
})

function withRecord(act: (record: EventRecord) => void): void {
  const { value } = session.detail
  if (value.kind === 'shown') act(value.record)
}

const root = document.getElementById('page')
if (root !== null) render(<Page />, root)
effect(() => {
  const { value: count } = session.list.failedCount
  document.title = count === 0 ? 'evroute' : `(${countText(count)}) evroute`
})
openDroppedCaptures()
void keepAddress()
shareConnections()
