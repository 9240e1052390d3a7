import { signal } from '@preact/signals'
import type { DestinationFields } from '../../admin-api/index.ts'
import type { RegulationType } from '../../model/index.ts'
import type { Notice } from '../notice.tsx'
import { counted, visibleText } from '../text.ts'
import { messageOf } from '../use-read.ts'
import { countedMax, ServiceApi, type Conditions, type DeliveryAction } from './api.ts'
import { deliveriesPath, readRoute, type Route } from './route.ts'

/** An action that a person has to confirm. */
export interface Proposal {
  /** The question, with the number of deliveries or users that the action affects. */
  readonly title: string
  readonly consequence: string
  /** Label of the button. */
  readonly verb: string
  /** Performs the action. Returns the text of the notice. */
  readonly act: () => Promise<string>
}

const deliveryTexts = {
  retry: {
    verb: 'Retry',
    done: 'Retrying',
    consequence:
      'Each delivery is due at once and gets a new retry window. Endpoints may receive it twice.',
  },
  discard: {
    verb: 'Discard',
    done: 'Discarded',
    consequence:
      'The deliveries fail without being sent, with the reason "discarded". You can retry them later.',
  },
} as const

/** The state of the page, and the actions that a person has to confirm. */
export class ServiceSession {
  readonly api: ServiceApi = new ServiceApi()
  readonly route = signal<Route>(readRoute(location.hash))
  /** The link to the list of deliveries with the conditions that were used last. */
  listPath = deliveriesPath({})
  readonly notice = signal<Notice | undefined>(undefined)
  readonly proposal = signal<Proposal | undefined>(undefined)
  /** Increases with each action, so that components read again. */
  readonly version = signal(0)

  /** Follows the fragment of the URL. Closes the dialog and the notice of the previous view. */
  follow(): void {
    window.addEventListener('hashchange', () => {
      const { value: before } = this.route
      if (before.view === 'deliveries') this.listPath = deliveriesPath(before.conditions)
      this.route.value = readRoute(location.hash)
      this.proposal.value = undefined
      if (this.notice.value?.isProblem === false) this.notice.value = undefined
    })
  }

  /** Counts the deliveries that an action affects, and asks for confirmation. */
  async propose(action: DeliveryAction, conditions: Conditions): Promise<void> {
    await this.#tried(async () => {
      const count = await this.api.count(action, conditions)
      if (count > 0) this.proposeFor(count, action, conditions)
      else this.#tell(`There is nothing to ${action}.`)
    })
  }

  /** Asks for confirmation of an action on a known number of deliveries. */
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

  /** Asks whether to enable or disable a destination, with the size of its backlog. */
  async proposeSwitch(id: string): Promise<void> {
    await this.#withDestination(id, ({ enabled, pending }) => {
      const [verb, done] = enabled ? ['Disable', 'Disabled'] : ['Enable', 'Enabled']
      const follows = enabled
        ? `${waitingText(pending, 'will wait until you enable it')} Later events are never sent to it.`
        : `${waitingText(pending, 'will be sent')} Later events are sent to it.`
      const lasts =
        'Only this process is changed, until the configuration changes or the service restarts.'
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

  /** Asks whether to send a test event to a destination, with the size of its backlog. */
  async proposeTest(id: string): Promise<void> {
    await this.#withDestination(id, ({ pending }) => ({
      title: `Send 1 test event to ${id}?`,
      consequence: `The destination gets a track call "Order Completed" for the user u_sample, signed and counted like other events. ${waitingText(pending)}`,
      verb: 'Send',
      act: async () => {
        await followLink(deliveriesPath({ message: await this.api.sendTest(id) }))
        return `Sent a test event to ${id}.`
      },
    }))
  }

  /** Counts the members of an audience, and asks whether to remove it. */
  async proposeRemoval(key: string): Promise<void> {
    await this.#tried(async () => {
      const { left, audience } = await this.api.removeAudience(key, 'dry run')
      this.proposal.value = {
        title: `Remove ${visibleText(audience.name)}?`,
        consequence: `${counted(left, 'member leaves', 'members leave')}. The destinations are sent a call for each.`,
        verb: 'Remove',
        act: async () => {
          const removal = await this.api.removeAudience(key)
          return `Removed ${visibleText(audience.name)}: ${counted(removal.left, 'member')} left.`
        },
      }
    })
  }

  /** Compares a list with an audience, and asks whether to sync. */
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
        consequence: `${counted(entered, 'user enters', 'users enter')}, ${counted(left, 'user leaves', 'users leave')}, ${counted(changed, 'value changes', 'values change')}. The destinations are sent a call for each.${rows}`,
        verb: 'Sync',
        act: async () => {
          const sync = await this.api.syncAudience(named, list)
          return `Synced ${visibleText(named.name)}: ${sync.entered} entered, ${sync.left} left.`
        },
      }
    })
  }

  /** Asks for confirmation of a deletion request. */
  proposeDeletion(type: RegulationType, subjectIds: readonly string[]): void {
    if (subjectIds.length === 0) {
      this.#tell('Name at least one user.')
      return
    }
    const users = counted(subjectIds.length, 'user')
    this.proposal.value = {
      title: `Request ${type} for ${users}?`,
      consequence:
        'Deleted data cannot be restored. The list of deletion requests shows the progress.',
      verb: 'Request',
      act: async () => {
        const { id } = await this.api.createRegulation(type, subjectIds)
        return `Created the request ${id}.`
      },
    }
  }

  /** Asks whether to send archived events again. */
  proposeReplay(conditions: Readonly<Record<string, string>>): void {
    const described = Object.entries(conditions).map(([name, value]) => `${name} ${value}`)
    const chosen = described.length === 0 ? 'all archived events' : described.join(', ')
    this.proposal.value = {
      title: 'Replay archived events?',
      consequence: `These events are sent to their destinations again: ${visibleText(chosen)}.`,
      verb: 'Replay',
      act: async () => {
        const { events, deliveries } = await this.api.replay(conditions)
        return `Replayed ${counted(events, 'event')}: ${counted(deliveries, 'delivery', 'deliveries')}.`
      },
    }
  }

  /** Performs a proposed action. */
  async confirm({ act }: Proposal): Promise<void> {
    this.proposal.value = undefined
    await this.#tried(async () => {
      this.#tell(await act())
      this.version.value += 1
    })
  }

  async copy(text: string): Promise<void> {
    await this.#tried(async () => {
      await navigator.clipboard.writeText(text)
      this.#tell('Copied.')
    })
  }

  /** Signs in with the admin token; false if that fails. */
  async signIn(token: string): Promise<boolean> {
    const isDone = await this.#tried(() => this.api.signIn(token))
    if (isDone) this.notice.value = undefined
    return isDone
  }

  async signOut(): Promise<void> {
    await this.#tried(() => this.api.signOut())
  }

  /** Reads a destination, and asks for confirmation of an action on it. */
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

/** The properties of all components of a service's page. */
export interface ServiceParts {
  readonly session: ServiceSession
}

/** Changes the fragment of the URL. Resolves after the notice of the previous view was closed. */
function followLink(path: string): Promise<void> {
  return new Promise((resolve) => {
    window.addEventListener('hashchange', () => resolve(), { once: true })
    location.hash = path
  })
}

/** Formats a backlog: `1,204 deliveries are waiting; they will be sent.` */
function waitingText(count: number, fate?: string): string {
  if (count === 0) return 'No delivery is waiting.'
  const waiting = counted(count, 'delivery is waiting', 'deliveries are waiting')
  return fate === undefined ? `${waiting}.` : `${waiting}; ${count === 1 ? 'it' : 'they'} ${fate}.`
}
