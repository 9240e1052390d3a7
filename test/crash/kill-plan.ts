/** What happens around a deliverer, as the test sees it; `loaded` and `opened` are part of its start. */
export type DelivererEvent =
  'loaded' | 'opened' | 'acknowledged' | 'requested' | 'answered' | 'settled'

/** The moment of a kill: right after something happened for that time since the start. */
export interface KillMoment {
  readonly event: DelivererEvent
  readonly count: number
}

/** One in five falls into the start, in the long run. */
const deck: readonly DelivererEvent[] = [
  ...(['loaded', 'opened', 'acknowledged', 'acknowledged', 'requested'] as const),
  ...(['requested', 'answered', 'answered', 'answered', 'settled'] as const),
]

/** After which events to kill, in random order. */
export function randomKillEvents(kills: number, random: () => number): readonly DelivererEvent[] {
  const events: DelivererEvent[] = []
  while (events.length < kills) {
    const cards = [...deck]
    while (cards.length > 0) events.push(...cards.splice(Math.floor(random() * cards.length), 1))
  }
  return events.slice(0, kills)
}

/**
 * Draws the moment of the next kill: at random, and so that in all likelihood every kill that is left
 * finds messages that are not acknowledged yet.
 */
export function drawKillMoment(
  event: DelivererEvent,
  left: { readonly messages: number; readonly kills: number },
  random: () => number,
): KillMoment {
  if (event === 'loaded' || event === 'opened') return { event, count: 1 }
  return { event, count: 1 + Math.floor((random() * 1.5 * left.messages) / (left.kills + 1)) }
}
