import { session } from './session.ts'

/** Maximum hidden tabs with a stream. Browsers open six connections to a server, and every stream takes one. */
const hiddenStreamsMax = 3

/**
 * Ends the stream of a hidden tab once more than {@link hiddenStreamsMax} tabs were opened or shown after it.
 * Otherwise, seven tabs would need all connections of the browser, and none could load anything. The tab follows the
 * receiver again when it is shown.
 */
export function shareConnections(): void {
  const tabs = new BroadcastChannel('evroute')
  const [ownId] = crypto.getRandomValues(new Uint32Array(1))
  /** The ids of tabs that were opened or shown after this one. */
  const newer = new Set<number>()
  let isResting = false
  const announce = (): void => {
    newer.clear()
    tabs.postMessage({ id: ownId, isOpen: true })
  }
  const restIfMany = (): void => {
    const isLive = !isResting && session.capture.value === undefined
    if (!document.hidden || !isLive || newer.size <= hiddenStreamsMax) return
    isResting = true
    session.rest()
  }
  tabs.addEventListener('message', ({ data }) => {
    const { id, isOpen } = data as { readonly id: number; readonly isOpen: boolean }
    if (isOpen) newer.add(id)
    else newer.delete(id)
    restIfMany()
  })
  window.addEventListener('pagehide', () => tabs.postMessage({ id: ownId, isOpen: false }))
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      restIfMany()
      return
    }
    announce()
    if (isResting) session.follow()
    isResting = false
  })
  announce()
}
