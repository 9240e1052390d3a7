import { formatDuration, type DeliveryLedger, type Ledger } from '../../model/index.ts'
import { formatCount } from './numbers.ts'
import type { Style } from './style.ts'

/** A count, its name, and its style when it is not zero. */
type Part = readonly [keyof Ledger, keyof Style]

/**
 * The summary line of a command that moves events. It consists of equations, so that the reader sees that the
 * counts balance. Zero terms are left out, and `read` if the ledger has none.
 */
export function summaryLine(
  ledger: DeliveryLedger & Partial<Ledger>,
  durationMs: number,
  style: Style,
): string {
  const countOf = (name: keyof Ledger): number => ledger[name] ?? 0
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
    equation('deliveries', [
      ['delivered', 'good'],
      ['failed', 'bad'],
      ['expired', 'bad'],
      ['pending', 'warning'],
    ]),
  ]
  if (ledger.read === undefined) equations.shift()
  return `${equations.join(style.faint(' · '))} ${style.faint(`(${formatDuration(durationMs)})`)}\n`

  function equation(whole: keyof Ledger, parts: readonly Part[]): string {
    const shown = parts.filter(([name], index) => index === 0 || countOf(name) > 0)
    const sum = shown.map(([name, look]) => {
      const text = `${formatCount(countOf(name))} ${name}`
      return countOf(name) > 0 ? style[look](text) : text
    })
    return `${formatCount(countOf(whole))} ${whole} = ${sum.join(' + ')}`
  }
}
