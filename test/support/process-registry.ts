import {
  processGoneMs,
  type DeliveringProcesses,
  type ProcessBeat,
  type ProcessPlace,
} from '../../src/delivery/index.ts'

interface Member {
  readonly processId: string
  readonly joinedAtMs: number
  beatenAtMs: number
}

/** The processes of a shared store, in memory: what the port says, with a clock of its own. */
export class ProcessRegistry implements DeliveringProcesses {
  readonly #nowMs: () => number
  readonly #members = new Map<string, Member[]>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  beat({ processId, destinationIds }: ProcessBeat): Promise<readonly ProcessPlace[]> {
    return Promise.resolve(this.beatNow({ processId, destinationIds }))
  }

  /** The same at once, for who simulates the way there and back. */
  beatNow({ processId, destinationIds }: ProcessBeat): readonly ProcessPlace[] {
    const nowMs = this.#nowMs()
    return destinationIds.map((destinationId) => {
      const members = this.#members.get(destinationId) ?? []
      this.#members.set(destinationId, members)
      let own = members.findLast((member) => member.processId === processId)
      if (own === undefined || !isThere(own, nowMs)) {
        const isAlone = !members.some((member) => isThere(member, nowMs))
        const joinedAtMs = isAlone ? nowMs - processGoneMs : nowMs
        own = { processId, joinedAtMs, beatenAtMs: nowMs }
        members.push(own)
      }
      own.beatenAtMs = nowMs
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
      member.beatenAtMs = nowMs - processGoneMs
    }
    return Promise.resolve()
  }

  /** Nobody is told: each process has its own breakers. */
  tell(): void {}

  listen(): void {}
}

function isThere({ beatenAtMs }: Member, nowMs: number): boolean {
  return beatenAtMs > nowMs - processGoneMs
}
