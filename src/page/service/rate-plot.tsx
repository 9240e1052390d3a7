import type { JSX } from 'preact'
import type { AnswerRecord } from '../../admin-api/index.ts'

type Minutes = AnswerRecord<'overview'>['minutes']

const width = 600
const height = 120
/** The margin at the top and the bottom, so that the whole stroke is visible. */
const edge = 4
const lines = ['accepted', 'delivered', 'failed'] as const

/** Events per second in the last hour. The lines differ in stroke and colour. */
export function RatePlot({ minutes }: { readonly minutes: Minutes }): JSX.Element {
  // Leave out the current minute, because it is incomplete.
  const whole = minutes.slice(0, -1)
  const highest = Math.max(0, ...whole.flatMap((minute) => lines.map((line) => minute[line])))
  return (
    <figure class="plot">
      <div class="scale">
        <span>{rateText(highest)}</span>
        <span>average of each minute, this process only</span>
      </div>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={spoken(whole, highest)}
      >
        {[edge, height / 2, height - edge].map((y) => (
          <line key={y} class="grid" x1={0} x2={width} y1={y} y2={y} />
        ))}
        {lines.map((line) => (
          <polyline
            key={line}
            class={line}
            points={whole
              .map((minute, index) => {
                const x = (index * width) / Math.max(1, whole.length - 1)
                const y = height - edge - (minute[line] / (highest || 1)) * (height - 2 * edge)
                return `${x.toFixed(1)},${y.toFixed(1)}`
              })
              .join(' ')}
          />
        ))}
      </svg>
      <div class="scale">
        <span>an hour ago</span>
        <span>now</span>
      </div>
      <figcaption>
        {lines.map((line) => (
          <span key={line} class={`legend ${line}`}>
            {line} {rateText(whole.at(-1)?.[line] ?? 0)}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

function spoken(minutes: Minutes, highest: number): string {
  const totals = lines.map(
    (line) => `${minutes.reduce((sum, minute) => sum + minute[line], 0)} ${line}`,
  )
  return `In the last hour: ${totals.join(', ')}; peak ${rateText(highest)}`
}

function rateText(perMinute: number): string {
  const perSecond = perMinute / 60
  return `${perSecond >= 10 || perSecond === 0 ? perSecond.toFixed(0) : perSecond.toPrecision(2)}/s`
}
