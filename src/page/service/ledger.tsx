import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { DeliveryLedger } from '../../model/index.ts'
import { Part, Shown } from '../shown.tsx'
import { counted, countText } from '../text.ts'
import { usePolled, useRead } from '../use-read.ts'
import type { ServiceParts } from './service-session.ts'

type Line = Exclude<keyof DeliveryLedger, 'accepted' | 'deliveries'>

const flows = [
  { total: 'accepted', title: 'Events', parts: ['routed', 'filtered', 'duplicate', 'suppressed'] },
  {
    total: 'deliveries',
    title: 'Deliveries',
    parts: ['delivered', 'failed', 'expired', 'pending'],
  },
] as const satisfies readonly {
  total: keyof DeliveryLedger
  title: string
  parts: readonly Line[]
}[]

/** The accepted events and the deliveries by outcome, and whether the sums agree. */
export function LedgerView({ session }: ServiceParts): JSX.Element {
  const reading = usePolled(() => session.api.ledger(), [session.version.value])
  return (
    <Shown reading={reading}>
      {(ledger) => (
        <>
          <h2>Ledger</h2>
          {flows.map(({ total, title, parts }) => (
            <Part key={total} title={title}>
              <Flow
                title={title}
                total={ledger[total]}
                name={total}
                parts={parts.map((name) => ({ name, count: ledger[name] }))}
              />
            </Part>
          ))}
          <Part title="Rows in the store">
            <Audit session={session} />
          </Part>
        </>
      )}
    </Shown>
  )
}

/** Shows in one line whether the ledger balances. */
export function LedgerVerdict({ ledger }: { readonly ledger: DeliveryLedger }): JSX.Element {
  const isBalanced = flows.every(({ total, parts }) => {
    return parts.reduce((sum, name) => sum + ledger[name], 0) === ledger[total]
  })
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
function Audit({ session }: ServiceParts): JSX.Element {
  const [asked, ask] = useState(0)
  return (
    <>
      <p class="muted">Counts every delivery in the store and compares the sums with the ledger.</p>
      <div class="actions">
        <button type="button" onClick={() => ask(asked + 1)}>
          Count the rows
        </button>
      </div>
      {asked === 0 ? null : <AuditResult key={asked} session={session} />}
    </>
  )
}

function AuditResult({ session }: ServiceParts): JSX.Element {
  const reading = useRead(() => session.api.audit(), [])
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

function Flow({
  title,
  name,
  total,
  parts,
}: {
  readonly title: string
  readonly name: string
  readonly total: number
  readonly parts: readonly { readonly name: string; readonly count: number }[]
}): JSX.Element {
  const sum = parts.reduce((before, { count }) => before + count, 0)
  const equation = `${countText(total)} ${name} = ${parts.map((part) => `${countText(part.count)} ${part.name}`).join(' + ')}`
  return (
    <figure class="plot flow">
      <div class="bars" role="img" aria-label={`${title}: ${equation}`}>
        {parts.map((part) =>
          part.count === 0 ? null : (
            <i key={part.name} class={part.name} style={{ flexGrow: part.count }} />
          ),
        )}
      </div>
      <figcaption>
        <strong>
          {countText(total)} {name}
        </strong>
        {parts.map((part) => (
          <span key={part.name} class={`key ${part.name}`}>
            {countText(part.count)} {part.name}
          </span>
        ))}
        {sum === total ? (
          <span class="good">✓ It balances.</span>
        ) : (
          <span class="bad">
            ✗ It does not balance: the parts add up to {countText(sum)},{' '}
            {countText(Math.abs(total - sum))} too {sum < total ? 'few' : 'many'}.
          </span>
        )}
      </figcaption>
    </figure>
  )
}
