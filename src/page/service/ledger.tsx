import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { DeliveryLedger } from '../../model/index.ts'
import { Button } from '../button.tsx'
import { Part, Shown } from '../shown.tsx'
import { counted, countText } from '../text.ts'
import { usePolled, useRead } from '../use-read.ts'
import { read } from './api.ts'
import { session } from './service-session.ts'

/** A total of the ledger, and the lines that add up to it. */
interface Flow {
  readonly total: keyof DeliveryLedger
  readonly title: string
  readonly parts: readonly (keyof DeliveryLedger)[]
}

const flows = [
  { total: 'accepted', title: 'Events', parts: ['routed', 'filtered', 'duplicate', 'suppressed'] },
  {
    total: 'deliveries',
    title: 'Deliveries',
    parts: ['delivered', 'failed', 'expired', 'pending'],
  },
] as const satisfies readonly Flow[]

export function LedgerView(): JSX.Element {
  const reading = usePolled(() => read('v1/ledger'), [session.version.value])
  return (
    <Shown reading={reading}>
      {(ledger) => (
        <>
          <h2>Ledger</h2>
          {flows.map((flow) => (
            <Part key={flow.title} title={flow.title}>
              <FlowBars {...flow} ledger={ledger} />
            </Part>
          ))}
          <Part title="Rows in the store">
            <Audit />
          </Part>
        </>
      )}
    </Shown>
  )
}

export function LedgerVerdict({ ledger }: { readonly ledger: DeliveryLedger }): JSX.Element {
  const isBalanced = flows.every(({ total, parts }) => sumOf(parts, ledger) === ledger[total])
  return (
    <Part title="Ledger">
      <p>
        <span class={isBalanced ? 'good' : 'bad'}>
          {isBalanced ? '✓ It balances.' : '✗ It does not balance.'}
        </span>{' '}
        <a href="#/ledger">Where every event and delivery is</a>
      </p>
    </Part>
  )
}

/** Counts the rows only when a button is pressed, because that is slow in a large store. */
function Audit(): JSX.Element {
  const [round, setRound] = useState(0)
  return (
    <>
      <p class="muted">Counts every delivery in the store and compares the sums with the ledger.</p>
      <div class="actions">
        <Button label="Count the rows" onClick={() => setRound(round + 1)} />
      </div>
      {round === 0 ? null : <AuditResult key={round} />}
    </>
  )
}

function AuditResult(): JSX.Element {
  const reading = useRead(() => read('v1/audit'), [])
  return (
    <Shown reading={reading}>
      {({ balanced, imbalances, counted: rows }) => (
        <div role="status">
          {balanced ? (
            <p class="good">
              ✓ The ledger agrees with the{' '}
              {counted(rows.pending + rows.delivered + rows.failed + rows.expired, 'row')} in the
              store.
            </p>
          ) : null}
          {imbalances.map(({ equation, difference }) => (
            <p key={equation} class="bad">
              ✗ {equation} does not hold: the difference is {countText(difference)}.
            </p>
          ))}
        </div>
      )}
    </Shown>
  )
}

function FlowBars(flow: Flow & { readonly ledger: DeliveryLedger }): JSX.Element {
  const { total: name, title, parts, ledger } = flow
  const sum = sumOf(parts, ledger)
  const left = ledger[name] - sum
  const total = counted(ledger[name], name === 'deliveries' ? 'delivery' : name, name)
  const texts = parts.map((part) => `${countText(ledger[part])} ${part}`)
  return (
    <figure class="plot">
      <div class="bars" role="img" aria-label={`${title}: ${total} = ${texts.join(' + ')}`}>
        {parts.map((part) =>
          ledger[part] === 0 ? null : (
            <i key={part} class={part} style={{ flexGrow: ledger[part] }} />
          ),
        )}
      </div>
      <figcaption>
        <strong>{total}</strong>
        {parts.map((part, index) => (
          <span key={part} class={`key ${part}`}>
            {texts[index]}
          </span>
        ))}
        {left === 0 ? (
          <span class="good">✓ It balances.</span>
        ) : (
          <span class="bad">
            ✗ It does not balance: the parts add up to {countText(sum)}, {countText(Math.abs(left))}{' '}
            too {left > 0 ? 'few' : 'many'}.
          </span>
        )}
      </figcaption>
    </figure>
  )
}

function sumOf(parts: Flow['parts'], ledger: DeliveryLedger): number {
  return parts.reduce((sum, part) => sum + ledger[part], 0)
}
