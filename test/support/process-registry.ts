import {
  processGoneMs,
  type DeliveringProcesses,
  type Heartbeat,
  type ProcessPlace,
} from '../../src/delivery/index.ts'

interface Member {
  readonly processId: string
  readonly joinedAtMs: number
  seenAtMs: number
}

/** The processes of a shared store, in memory: what the port says, with a clock of its own. */
export class ProcessRegistry implements DeliveringProcesses {
  readonly #nowMs: () => number
  readonly #members = new Map<string, Member[]>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  heartbeat({ processId, destinationIds }: Heartbeat): Promise<readonly ProcessPlace[]> {
    return Promise.resolve(this.heartbeatNow({ processId, destinationIds }))
  }

  /** The same at once, for who simulates the way there and back. */
  heartbeatNow({ processId, destinationIds }: Heartbeat): readonly ProcessPlace[] {
    const nowMs = this.#nowMs()
    return destinationIds.map((destinationId) => {
      const members = this.#members.get(destinationId) ?? []
      this.#members.set(destinationId, members)
      let own = members.findLast((member) => member.processId === processId)
      if (own === undefined || !isThere(own, nowMs)) {
        const isAlone = !members.some((member) => isThere(member, nowMs))
        const joinedAtMs = isAlone ? nowMs - processGoneMs : nowMs
        own = { processId, joinedAtMs, seenAtMs: nowMs }
        members.push(own)
      }
      own.seenAtMs = nowMs
      const there = members.filter((member) => isThere(member, nowMs))
      return {
        destinationId,
        rank: there.indexOf(own),
        processes: there.length,
        memberMs: nowMs - own.joinedAtMs,
      }
    })
  }

  leave({ processId }: { readonly processId: string }): Promise<void> {
    const nowMs = this.#nowMs()
    for (const member of [...this.#members.values()].flat()) {
      if (member.processId !== processId || !isThere(member, nowMs)) continue
      member.seenAtMs = nowMs - processGoneMs
    }
    return Promise.resolve()
  }

  /** Nobody is told: each process has its own breakers. */
  tell(): void {}

  listen(): void {}
}

function isThere({ seenAtMs }: Member, nowMs: number): boolean {
  return seenAtMs > nowMs - processGoneMs
}
