import type { JSX } from 'preact'
import type { LoggedState } from '../../delivery/index.ts'

/** The states of a delivery, in the order of the page. */
export const states = ['pending', 'delivered', 'failed', 'expired'] as const

const texts: Readonly<Record<LoggedState, string>> = {
  pending: '… pending',
  delivered: '✓ delivered',
  failed: '✗ failed',
  expired: '✗ expired',
}
const looks = { pending: 'warning', delivered: 'good', failed: 'bad', expired: 'bad' } as const

export function StateBadge({ state }: { readonly state: LoggedState }): JSX.Element {
  return <span class={`badge ${looks[state]}`}>{texts[state]}</span>
}

/** Returns the style class for a count of deliveries: `lost` if any failed or expired, otherwise none. */
export function countLook(state: keyof typeof looks, count: number): string {
  return looks[state] === 'bad' && count > 0 ? 'lost' : ''
}
