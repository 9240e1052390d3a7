import type { JSX } from 'preact'
import type { ShownExpectation } from '../receiver/index.ts'
import { expect, forget } from './actions.ts'
import { read, type Reads } from './api.ts'
import { Button } from './button.tsx'
import { Field, filledFields } from './field.tsx'
import { Popover } from './popover.tsx'
import { session } from './session.ts'
import { Shown } from './shown.tsx'
import { visibleText } from './text.ts'
import { usePolled } from './use-read.ts'

/** Polling interval, for expectations whose time runs out while no webhook arrives. */
const readMs = 1_000

export function Expectations(): JSX.Element {
  return <Popover label="Expectations">{() => <ExpectationsPanel />}</Popover>
}

function ExpectationsPanel(): JSX.Element {
  const versions = [session.version.value, session.list.version.value]
  const reading = usePolled(() => read('expectations'), versions, readMs)
  const add = (event: SubmitEvent): void => {
    const form = event.currentTarget as HTMLFormElement
    const { expectation = '' } = filledFields(event)
    void expect(expectation).then((isDone) => isDone && form.reset())
  }
  return (
    <form onSubmit={add}>
      <Shown reading={reading}>
        {({ expectations }) => <ExpectationList expectations={expectations} />}
      </Shown>
      <Field
        label="Expect from now on"
        name="expectation"
        placeholder="type:track x3 within 2s"
        required
      />
      <Button label="Expect" type="submit" class="primary" />
    </form>
  )
}

const stateTexts: Readonly<Record<ShownExpectation['state'], string>> = {
  open: '… open',
  met: '✓ met',
  unmet: '✗ not met',
}
const stateLooks = { open: 'warning', met: 'good', unmet: 'bad' } as const

function ExpectationList({ expectations }: Reads['expectations']): JSX.Element {
  if (expectations.length === 0) return <p class="muted">There are no expectations.</p>
  return (
    <ul class="expectations" aria-label="Expectations">
      {expectations.map(({ id, text, state, account }) => (
        <li key={id}>
          <span class={`badge ${stateLooks[state]}`}>{stateTexts[state]}</span>
          <span>
            <code>{visibleText(text)}</code>
            <span class="muted"> {visibleText(account)}</span>
          </span>
          <Button
            label="✕"
            class="link"
            aria-label={`Remove ${text}`}
            onClick={() => void forget(id, text)}
          />
        </li>
      ))}
    </ul>
  )
}
