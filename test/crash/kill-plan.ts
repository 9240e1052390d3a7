/** An event of a deliverer that a test can see; `loaded` and `opened` are parts of its start. */
export type DelivererEvent =
  'loaded' | 'opened' | 'acknowledged' | 'requested' | 'answered' | 'settled'

/** When to kill a process: right after the `count`-th event of this kind since its start. */
export interface KillMoment {
  readonly event: DelivererEvent
  readonly count: number
}

/** In the long run, one kill in five happens during the start. */
const deck: readonly DelivererEvent[] = [
  ...(['loaded', 'opened', 'acknowledged', 'acknowledged', 'requested'] as const),
  ...(['requested', 'answered', 'answered', 'answered', 'settled'] as const),
]

/** Draws the events after which to kill, in random order. */
export function randomKillEvents(kills: number, random: () => number): readonly DelivererEvent[] {
  const events: DelivererEvent[] = []
  while (events.length < kills) {
    const cards = [...deck]
    while (cards.length > 0) events.push(...cards.splice(Math.floor(random() * cards.length), 1))
  }
  return events.slice(0, kills)
}

/**
 * Draws the moment of the next kill. It is random, but early enough that the remaining kills will most likely
 * still find unacknowledged messages.
 */
export function drawKillMoment(
  event: DelivererEvent,
  remaining: { readonly messages: number; readonly kills: number },
  random: () => number,
): KillMoment {
  if (event === 'loaded' || event === 'opened') return { event, count: 1 }
  return {
    event,
    count: 1 + Math.floor((random() * 1.5 * remaining.messages) / (remaining.kills + 1)),
  }
}
