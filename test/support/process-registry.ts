import {
  processGoneMs,
  type DeliveringProcesses,
  type Heartbeat,
  type ProcessMembership,
} from '../../src/delivery/index.ts'

interface Member {
  readonly processId: string
  readonly joinedAtMs: number
  seenAtMs: number
}

/** The registry of the processes that share a store, in memory and with the clock of a test. */
export class ProcessRegistry implements DeliveringProcesses {
  readonly #nowMs: () => number
  readonly #members = new Map<string, Member[]>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  heartbeat({ processId, destinationIds }: Heartbeat): Promise<readonly ProcessMembership[]> {
    return Promise.resolve(this.heartbeatNow({ processId, destinationIds }))
  }

  /** The same without a promise, for tests that simulate the round trip. */
  heartbeatNow({ processId, destinationIds }: Heartbeat): readonly ProcessMembership[] {
    const nowMs = this.#nowMs()
    return destinationIds.map((destinationId) => {
      const members = this.#members.get(destinationId) ?? []
      this.#members.set(destinationId, members)
      let own = members.findLast((member) => member.processId === processId)
      if (own === undefined || !isPresent(own, nowMs)) {
        const isAlone = !members.some((member) => isPresent(member, nowMs))
        const joinedAtMs = isAlone ? nowMs - processGoneMs : nowMs
        own = { processId, joinedAtMs, seenAtMs: nowMs }
        members.push(own)
      }
      own.seenAtMs = nowMs
      const present = members.filter((member) => isPresent(member, nowMs))
      return {
        destinationId,
        rank: present.indexOf(own),
        processes: present.length,
        memberMs: nowMs - own.joinedAtMs,
      }
    })
  }

  leave({ processId }: { readonly processId: string }): Promise<void> {
    const nowMs = this.#nowMs()
    for (const member of [...this.#members.values()].flat()) {
      if (member.processId !== processId || !isPresent(member, nowMs)) continue
      member.seenAtMs = nowMs - processGoneMs
    }
    return Promise.resolve()
  }

  /** Does nothing, so processes don't share news about their breakers. */
  tell(): void {}

  listen(): void {}
}

function isPresent({ seenAtMs }: Member, nowMs: number): boolean {
  return seenAtMs > nowMs - processGoneMs
}
