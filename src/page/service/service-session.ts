import { signal } from '@preact/signals'
import type { DestinationFields } from '../../admin-api/index.ts'
import type { RegulationType } from '../../model/index.ts'
import type { Notice } from '../notice.tsx'
import { counted, visibleText } from '../text.ts'
import { messageOf } from '../use-read.ts'
import { countedMax, ServiceApi, type Conditions, type DeliveryAction } from './api.ts'
import { deliveriesPath, readRoute, type Route } from './route.ts'

/** Something that waits for a person to confirm it. */
export interface Proposal {
  /** Asks whether it is meant, with how many it is about. */
  readonly title: string
  /** What follows from it. */
  readonly consequence: string
  /** Names the button. */
  readonly verb: string
  /** Does it, and says what was done. */
  readonly act: () => Promise<string>
}

const deliveryTexts = {
  retry: {
    verb: 'Retry',
    done: 'Retrying',
    consequence: 'Each is due at once and gets a new retry window. Endpoints may get it again.',
  },
  discard: {
    verb: 'Discard',
    done: 'Discarded',
    consequence:
      'They end as failed without being sent, with the reason "discarded". You can retry them later.',
  },
} as const

/** What a person looks at, and what is done. */
export class ServiceSession {
  readonly api: ServiceApi = new ServiceApi()
  readonly route = signal<Route>(readRoute(location.hash))
  readonly notice = signal<Notice | undefined>(undefined)
  readonly proposal = signal<Proposal | undefined>(undefined)
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
      if (count > 0) this.proposeFor(count, action, conditions)
      else this.#tell(`There is nothing to ${action}.`)
    })
  }

  /** Asks whether an action on some deliveries is meant. */
  proposeFor(count: number, action: DeliveryAction, conditions: Conditions): void {
    const { verb, done, consequence } = deliveryTexts[action]
    const deliveries = counted(count, 'delivery', 'deliveries')
    this.proposal.value = {
      title: `${verb} ${count < countedMax ? deliveries : `at least ${deliveries}`}?`,
      consequence,
      verb,
      act: async () => {
        const acted = await this.api.act(action, conditions)
        return `${done} ${counted(acted, 'delivery', 'deliveries')}.`
      },
    }
  }

  /** Counts the backlog of a destination, and asks whether it is to be turned off, or on again. */
  async proposeSwitch(id: string): Promise<void> {
    await this.#withDestination(id, ({ enabled, pending }) => {
      const [verb, done] = enabled ? ['Disable', 'Disabled'] : ['Enable', 'Enabled']
      const follows = enabled
        ? `${waitingText(pending, 'will wait until you enable it')} Events from now on never reach it.`
        : `${waitingText(pending, 'will be sent')} Events from now on reach it.`
      const lasts =
        'It lasts until the configuration changes or the service restarts, in this process only.'
      return {
        title: `${verb} ${id}?`,
        consequence: `${follows} ${lasts}`,
        verb,
        act: async () => {
          await this.api.setEnabled(id, !enabled)
          return `${done} ${id}.`
        },
      }
    })
  }

  /** Counts the backlog of a destination, and asks whether a test is to be sent to it. */
  async proposeTest(id: string): Promise<void> {
    await this.#withDestination(id, ({ pending }) => ({
      title: `Send 1 test event to ${id}?`,
      consequence: `It gets a track call "Order Completed" of the user u_sample, signed and counted like others. ${waitingText(pending)}`,
      verb: 'Send',
      act: async () => {
        location.hash = deliveriesPath({ message: await this.api.sendTest(id) })
        return `Sent a test event to ${id}.`
      },
    }))
  }

  /** Counts the members that would leave an audience with its removal, and asks whether it is meant. */
  async proposeRemoval(key: string): Promise<void> {
    await this.#tried(async () => {
      const { left, audience } = await this.api.removeAudience(key, 'dry run')
      this.proposal.value = {
        title: `Remove ${visibleText(audience.name)}?`,
        consequence: `${counted(left, 'member leaves', 'members leave')}: its destinations get a call for each.`,
        verb: 'Remove',
        act: async () => {
          const removal = await this.api.removeAudience(key)
          return `Removed ${visibleText(audience.name)}: ${counted(removal.left, 'member')} left.`
        },
      }
    })
  }

  /** Compares a list with an audience, and asks whether the audience is to have its members. */
  async proposeSync(
    named: { readonly name: string; readonly source: string },
    list: File,
  ): Promise<void> {
    await this.#tried(async () => {
      const { entered, left, changed, rejected } = await this.api.syncAudience(
        named,
        list,
        'dry run',
      )
      const rows = rejected === 0 ? '' : ` ${counted(rejected, 'row')} of the list cannot be used.`
      this.proposal.value = {
        title: `Sync ${visibleText(named.name)}?`,
        consequence: `${counted(entered, 'user enters', 'users enter')}, ${counted(left, 'user leaves', 'users leave')}, ${counted(changed, 'value changes', 'values change')}. Its destinations get a call for each.${rows}`,
        verb: 'Sync',
        act: async () => {
          const sync = await this.api.syncAudience(named, list)
          return `Synced ${visibleText(named.name)}: ${sync.entered} entered, ${sync.left} left.`
        },
      }
    })
  }

  /** Asks whether the deletion of users is meant. */
  proposeDeletion(type: RegulationType, subjectIds: readonly string[]): void {
    if (subjectIds.length === 0) {
      this.#tell('Name at least one user.')
      return
    }
    const users = counted(subjectIds.length, 'user')
    this.proposal.value = {
      title: `Ask for ${type} of ${users}?`,
      consequence:
        'Nothing that is deleted comes back. You find the progress in the list of requests.',
      verb: 'Ask',
      act: async () => {
        const { id } = await this.api.createRegulation(type, subjectIds)
        return `Asked: the request is ${id}.`
      },
    }
  }

  /** Asks whether archived events are to be sent again. */
  proposeReplay(conditions: Readonly<Record<string, string>>): void {
    const described = Object.entries(conditions).map(([name, value]) => `${name} ${value}`)
    const chosen = described.length === 0 ? 'all archived events' : described.join(', ')
    this.proposal.value = {
      title: 'Replay archived events?',
      consequence: `Destinations get them again: ${visibleText(chosen)}.`,
      verb: 'Replay',
      act: async () => {
        const { events, deliveries } = await this.api.replay(conditions)
        return `Replayed ${counted(events, 'event')}: ${counted(deliveries, 'delivery', 'deliveries')}.`
      },
    }
  }

  /** Does what was proposed. */
  async confirm({ act }: Proposal): Promise<void> {
    this.proposal.value = undefined
    await this.#tried(async () => {
      this.#tell(await act())
      this.version.value += 1
    })
  }

  /** Copies a text to the clipboard. */
  async copy(text: string): Promise<void> {
    await this.#tried(async () => {
      await navigator.clipboard.writeText(text)
      this.#tell('Copied.')
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

  /** Reads a destination as it stands now, and asks about it. */
  async #withDestination(
    id: string,
    proposalOf: (destination: DestinationFields) => Proposal,
  ): Promise<void> {
    await this.#tried(async () => {
      const destination = (await this.api.destinations()).find((each) => each.id === id)
      if (destination === undefined) throw new Error(`${id} is not configured any more`)
      this.proposal.value = proposalOf(destination)
    })
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

/** Such as `1,204 deliveries wait; they will be sent.` */
function waitingText(count: number, fate?: string): string {
  if (count === 0) return 'No delivery waits.'
  const waiting = counted(count, 'delivery waits', 'deliveries wait')
  return fate === undefined ? `${waiting}.` : `${waiting}; ${count === 1 ? 'it' : 'they'} ${fate}.`
}
