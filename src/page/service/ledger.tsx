import type { JSX } from 'preact'
import type { OverviewRecord } from '../../admin-api/index.ts'
import { countText } from '../text.ts'

type Ledger = OverviewRecord['ledger']
type Line = Exclude<keyof Ledger, 'accepted' | 'deliveries'>

const width = 600
const height = 26
/** A part that is there is seen, however small it is. */
const partWidthMin = 4

const flows = [
  { total: 'accepted', title: 'Events', parts: ['routed', 'filtered', 'duplicate', 'suppressed'] },
  {
    total: 'deliveries',
    title: 'Deliveries',
    parts: ['delivered', 'failed', 'expired', 'pending'],
  },
] as const satisfies readonly { total: keyof Ledger; title: string; parts: readonly Line[] }[]

/** Where every accepted event and every delivery is, and whether the counts agree. */
export function LedgerPicture({ ledger }: { readonly ledger: Ledger }): JSX.Element {
  return (
    <>
      {flows.map(({ total, title, parts }) => (
        <Flow
          key={total}
          title={title}
          total={ledger[total]}
          name={total}
          parts={parts.map((name) => ({ name, count: ledger[name] }))}
        />
      ))}
    </>
  )
}

interface FlowParts {
  readonly title: string
  readonly name: string
  readonly total: number
  readonly parts: readonly { readonly name: string; readonly count: number }[]
}

function Flow({ title, name, total, parts }: FlowParts): JSX.Element {
  const sum = parts.reduce((before, { count }) => before + count, 0)
  const equation = `${countText(total)} ${name} = ${parts.map((part) => `${countText(part.count)} ${part.name}`).join(' + ')}`
  return (
    <figure class="plot flow">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${equation}`}
      >
        {bars(parts, sum).map((bar) => (
          <rect key={bar.name} class={bar.name} x={bar.x} y={0} width={bar.width} height={height} />
        ))}
      </svg>
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
          <span class="bad">✗ The parts add up to {countText(sum)}.</span>
        )}
      </figcaption>
    </figure>
  )
}

function bars(
  parts: FlowParts['parts'],
  sum: number,
): readonly { readonly name: string; readonly x: number; readonly width: number }[] {
  const present = parts.filter(({ count }) => count > 0)
  const shared = width - present.length * partWidthMin
  let x = 0
  return present.map(({ name, count }) => {
    const bar = { name, x, width: partWidthMin + (shared * count) / sum }
    x += bar.width
    return bar
  })
}
