import { signal } from '@preact/signals'
import type { Notice } from '../notice.tsx'
import { counted } from '../text.ts'
import { messageOf } from '../use-read.ts'
import { countedMax, ServiceApi, type Conditions, type DeliveryAction } from './api.ts'
import { readRoute, type Route } from './route.ts'

/** An action that waits for a person to confirm it. */
export interface Pending {
  readonly action: DeliveryAction
  readonly conditions: Conditions
  /** How many deliveries it takes, at least that many where it is 500. */
  readonly count: number
}

/** What a person looks at, and what is done to deliveries. */
export class ServiceSession {
  readonly api: ServiceApi = new ServiceApi()
  readonly route = signal<Route>(readRoute(location.hash))
  readonly notice = signal<Notice | undefined>(undefined)
  readonly pending = signal<Pending | undefined>(undefined)
  /** Changes with what was done, so that it is read again. */
  readonly version = signal(0)

  /** Follows the address. */
  follow(): void {
    window.addEventListener('hashchange', () => (this.route.value = readRoute(location.hash)))
  }

  /** Counts the deliveries of an action, and asks whether it is meant. */
  async propose(action: DeliveryAction, conditions: Conditions): Promise<void> {
    await this.#tried(async () => {
      const count = await this.api.count(action, conditions)
      if (count > 0) this.pending.value = { action, conditions, count }
      else this.#tell(`There is nothing to ${action}.`)
    })
  }

  /** Does what was proposed. */
  async confirm({ action, conditions }: Pending): Promise<void> {
    this.pending.value = undefined
    await this.#tried(async () => {
      const deliveries = counted(await this.api.act(action, conditions), 'delivery', 'deliveries')
      this.#tell(action === 'retry' ? `Retrying ${deliveries}.` : `Discarded ${deliveries}.`)
      this.version.value += 1
    })
  }

  /** Signs in with the admin token; false where it is wrong. */
  async signIn(token: string): Promise<boolean> {
    const isDone = await this.#tried(() => this.api.signIn(token))
    if (isDone) this.notice.value = undefined
    return isDone
  }

  /** Ends the session. */
  async signOut(): Promise<void> {
    await this.#tried(() => this.api.signOut())
  }

  #tell(text: string): void {
    this.notice.value = { text, isProblem: false }
  }

  async #tried(work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      this.notice.value = { text: messageOf(error), isProblem: true }
      return false
    }
  }
}

/** The number of deliveries that an action takes, for a person. */
export function pendingCount({ count }: Pending): string {
  const text = counted(count, 'delivery', 'deliveries')
  return count < countedMax ? text : `at least ${text}`
}
