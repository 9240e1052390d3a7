import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { StandingExpectation } from '../receiver/index.ts'
import { readExpectations } from './api.ts'
import { Popover } from './popover.tsx'
import type { Session } from './session.ts'
import { useRead } from './use-read.ts'

/** Time limits end without a webhook, so their state is asked for again after this time. */
const lookMs = 1_000

/** What is expected, how it stands, and more to expect. */
export function Expectations({ session }: { readonly session: Session }): JSX.Element {
  return <Popover label="Expectations">{() => <ExpectationsPanel session={session} />}</Popover>
}

function ExpectationsPanel({ session }: { readonly session: Session }): JSX.Element {
  const [turn, setTurn] = useState(0)
  const again = (): void => setTurn((before) => before + 1)
  const reading = useRead(readExpectations, [turn, session.list.version.value])
  useEffect(() => {
    const timer = setInterval(again, lookMs)
    return () => clearInterval(timer)
  }, [])
  const add = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const text = new FormData(form).get('expectation')
    if (typeof text !== 'string') return
    void session.expect(text).then((isDone) => {
      if (isDone) form.reset()
      again()
    })
  }
  return (
    <form onSubmit={add}>
      {reading.kind === 'loading' ? <p class="muted">Reading…</p> : null}
      {reading.kind === 'failed' ? <p class="problem">{reading.message}</p> : null}
      {reading.kind === 'read' ? (
        <Standing
          expectations={reading.value}
          remove={(id) => void session.forget(id).then(again)}
        />
      ) : null}
      <label>
        Expect from now on
        <input
          name="expectation"
          required
          placeholder="type:track x3 within 2s"
          autocomplete="off"
          spellcheck={false}
        />
      </label>
      <button type="submit">Expect</button>
    </form>
  )
}

const stateTexts: Readonly<Record<StandingExpectation['state'], string>> = {
  open: '… open',
  met: '✓ met',
  unmet: '✗ not met',
}
const stateLooks = { open: 'warning', met: 'good', unmet: 'bad' } as const

function Standing({
  expectations,
  remove,
}: {
  readonly expectations: readonly StandingExpectation[]
  readonly remove: (id: number) => void
}): JSX.Element {
  if (expectations.length === 0) return <p class="muted">Nothing is expected.</p>
  return (
    <ul class="expectations" aria-label="Expectations">
      {expectations.map(({ id, text, state, account }) => (
        <li key={id}>
          <span class={stateLooks[state]}>{stateTexts[state]}</span> <code>{text}</code>
          <span class="muted"> {account}</span>
          <button
            type="button"
            class="link"
            aria-label={`Remove ${text}`}
            onClick={() => remove(id)}
          >
            ✕
          </button>
        </li>
      ))}
    </ul>
  )
}
