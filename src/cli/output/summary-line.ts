import { formatDuration, type DeliveryLedger, type Ledger } from '../../model/index.ts'
import { formatCount } from './numbers.ts'
import type { Style } from './style.ts'

/** A count, its name, and its style when it is not zero. */
type Part = readonly [keyof Ledger, keyof Style]

/** How a summary is shown. */
export interface SummaryView {
  readonly style: Style
  /** Whether nothing was sent. */
  readonly isDry?: boolean
}

/**
 * The summary line of a command that moves events. It consists of equations, so that the reader sees that the
 * counts balance. Zero terms are left out, and `read` if the ledger has none.
 */
export function summaryLine(
  ledger: DeliveryLedger & Partial<Ledger>,
  durationMs: number,
  { style, isDry = false }: SummaryView,
): string {
  const count = (name: keyof Ledger): number => ledger[name] ?? 0
  const equations = [
    equation('read', [
      ['accepted', 'strong'],
      ['rejected', 'bad'],
    ]),
    equation('accepted', [
      ['routed', 'strong'],
      ['filtered', 'warning'],
      ['duplicate', 'warning'],
      ['suppressed', 'warning'],
    ]),
    isDry
      ? `${style.strong(formatCount(count('routed')))} would be sent`
      : equation(count('deliveries') === 1 ? 'delivery' : 'deliveries', [
          ['delivered', 'good'],
          ['failed', 'bad'],
          ['expired', 'bad'],
          ['pending', 'warning'],
        ]),
  ]
  if (ledger.read === undefined) equations.shift()
  return `${equations.join(style.faint(' · '))} ${style.faint(`(${formatDuration(durationMs)})`)}\n`

  function equation(whole: keyof Ledger | 'delivery', parts: readonly Part[]): string {
    const shown = parts.filter(([name], index) => index === 0 || count(name) > 0)
    const sum = shown.map(([name, look]) => {
      const text = `${formatCount(count(name))} ${name}`
      return count(name) > 0 ? style[look](text) : text
    })
    const total = count(whole === 'delivery' ? 'deliveries' : whole)
    return `${formatCount(total)} ${whole} = ${sum.join(' + ')}`
  }
}
