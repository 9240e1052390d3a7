import type { JSX } from 'preact'
import type { OverviewRecord } from '../../admin-api/index.ts'

type Minutes = OverviewRecord['minutes']

const width = 600
const height = 120
const lines = ['accepted', 'delivered', 'failed'] as const

/** Events per second over the last hour: one line each, told apart by their strokes too. */
export function RatePlot({ minutes }: { readonly minutes: Minutes }): JSX.Element {
  // The minute under way has not counted all of its seconds.
  const whole = minutes.slice(0, -1)
  const highest = Math.max(1, ...whole.flatMap((minute) => lines.map((line) => minute[line])))
  return (
    <figure class="plot">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={spoken(whole, highest)}>
        {lines.map((line) => (
          <polyline
            key={line}
            class={line}
            points={whole
              .map((minute, index) => {
                const x = (index * width) / Math.max(1, whole.length - 1)
                return `${x.toFixed(1)},${(height - 4 - (minute[line] / highest) * (height - 8)).toFixed(1)}`
              })
              .join(' ')}
          />
        ))}
      </svg>
      <figcaption>
        {lines.map((line) => (
          <span key={line} class={`legend ${line}`}>
            {line} {rateText(whole.at(-1)?.[line] ?? 0)}
          </span>
        ))}
        <span class="muted">highest {rateText(highest)}; this process, by the minute</span>
      </figcaption>
    </figure>
  )
}

function spoken(minutes: Minutes, highest: number): string {
  const totals = lines.map(
    (line) => `${minutes.reduce((sum, minute) => sum + minute[line], 0)} ${line}`,
  )
  return `In the last hour: ${totals.join(', ')}; at most ${rateText(highest)}`
}

function rateText(perMinute: number): string {
  const perSecond = perMinute / 60
  return `${perSecond >= 10 || perSecond === 0 ? perSecond.toFixed(0) : perSecond.toPrecision(2)}/s`
}
