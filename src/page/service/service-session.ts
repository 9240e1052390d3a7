import { signal } from '@preact/signals'
import type { DestinationFields } from '../../admin-api/index.ts'
import type { RegulationType } from '../../model/index.ts'
import { notice, tell, tried } from '../notice.tsx'
import { counted, visibleText } from '../text.ts'
import * as api from './api.ts'
import type { Conditions, DeliveryAction } from './api.ts'
import { deliveriesPath, destinationsPath, readRoute, type Route } from './route.ts'

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
      'Each delivery becomes due immediately and gets a new retry window. Endpoints may receive it twice.',
  },
  discard: {
    verb: 'Discard',
    done: 'Discarded',
    consequence:
      'The deliveries fail without being sent, with the reason "discarded". You can retry each of them later.',
  },
} as const

/** The state of the page, and the actions that a person has to confirm. */
class ServiceSession {
  readonly route = signal<Route>(readRoute(location.hash))
  /** The link to the page of the list of deliveries that was shown last. */
  listPath = deliveriesPath({})
  readonly proposal = signal<Proposal | undefined>(undefined)
  /** Increases with each action, so that components read again. */
  readonly version = signal(0)

  /** Follows the fragment of the URL. Closes the dialog and the notice of the previous view. */
  follow(): void {
    window.addEventListener('hashchange', ({ oldURL }) => {
      if (this.route.value.view === 'deliveries') this.listPath = new URL(oldURL).hash
      this.route.value = readRoute(location.hash)
      this.proposal.value = undefined
      if (notice.value?.isProblem !== true) notice.value = undefined
      // The link that led to the view may be gone. Without a focus, screen readers would start over.
      setTimeout(() => {
        if (document.activeElement === document.body) document.querySelector('main')?.focus()
      })
    })
  }

  /** Searches the destinations. Puts the text into the URL, without an entry in the history for each character. */
  searchDestinations(search: string): void {
    history.replaceState(null, '', destinationsPath(search))
    this.route.value = { view: 'destinations', search }
  }

  /** Counts the deliveries that an action affects, and asks for confirmation. */
  async propose(action: DeliveryAction, conditions: Conditions): Promise<void> {
    await this.#ask(async () => {
      const count = await api.countDeliveries(action, conditions)
      if (count === 0) tell(`There is nothing to ${action}.`)
      return count === 0 ? undefined : proposalFor(count, action, conditions)
    })
  }

  /** Asks for confirmation of an action on a known number of deliveries. */
  proposeFor(...known: Parameters<typeof proposalFor>): void {
    this.proposal.value = proposalFor(...known)
  }

  /** Asks whether to enable or disable a destination. The question states the size of its backlog. */
  async proposeSwitch(id: string): Promise<void> {
    await this.#withDestination(id, ({ enabled, pending }) => {
      const [verb, done] = enabled ? ['Disable', 'Disabled'] : ['Enable', 'Enabled']
      const follows = enabled
        ? `${waitingText(pending, 'will wait until you enable it')} Events that arrive while it is disabled are never sent to it.`
        : `${waitingText(pending, 'will be sent')} Later events are sent to it.`
      const lasts =
        'The change affects only this process. It lasts until "enabled" of this destination changes in the configuration, or the service restarts.'
      return {
        title: `${verb} ${id}?`,
        consequence: `${follows} ${lasts}`,
        verb,
        act: async () => {
          await api.act(`v1/destinations/${encodeURIComponent(id)}/${verb.toLowerCase()}`)
          return `${done} ${id}.`
        },
      }
    })
  }

  /** Asks whether to send a test event to a destination. The question states the size of the destination's backlog. */
  async proposeTest(id: string): Promise<void> {
    await this.#withDestination(id, ({ pending }) => ({
      title: `Send 1 test event to ${id}?`,
      consequence: `The destination gets a track call "Order Completed" for the user u_sample, signed and counted like other events. ${waitingText(pending)}`,
      verb: 'Send',
      act: async () => {
        const { messageId } = await api.act<{ readonly messageId: string }>(
          `v1/destinations/${encodeURIComponent(id)}/test`,
        )
        await followLink(deliveriesPath({ message: messageId }))
        return `Sent a test event to ${id}.`
      },
    }))
  }

  /** Counts the members of an audience, and asks whether to remove it. */
  async proposeRemoval(key: string): Promise<void> {
    await this.#ask(async () => {
      const { left, audience } = await api.removeAudience(key, 'dry run')
      return {
        title: `Remove ${visibleText(audience.name)}?`,
        consequence: `${counted(left, 'member leaves', 'members leave')}. Each destination gets a call for each of these changes.`,
        verb: 'Remove',
        act: async () => {
          const removal = await api.removeAudience(key)
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
    await this.#ask(async () => {
      const { entered, left, changed, rejected } = await api.syncAudience(named, list, 'dry run')
      const rows = rejected === 0 ? '' : ` ${counted(rejected, 'row')} of the list cannot be used.`
      return {
        title: `Sync ${visibleText(named.name)}?`,
        consequence: `${counted(entered, 'user enters', 'users enter')}, ${counted(left, 'user leaves', 'users leave')}, ${counted(changed, 'value changes', 'values change')}. Each destination gets a call for each of these changes.${rows}`,
        verb: 'Sync',
        act: async () => {
          const sync = await api.syncAudience(named, list)
          return `Synced ${visibleText(named.name)}: ${sync.entered} entered, ${sync.left} left.`
        },
      }
    })
  }

  proposeDeletion(type: RegulationType, subjectIds: readonly string[]): void {
    if (subjectIds.length === 0) {
      tell('Name at least one user.')
      return
    }
    const users = counted(subjectIds.length, 'user')
    this.proposal.value = {
      title: `Request ${type} for ${users}?`,
      consequence:
        'Deleted data cannot be restored. The list of deletion requests shows the progress.',
      verb: 'Request',
      act: async () => {
        const body = { regulationType: type, subjectIds }
        const { id } = await api.act<{ readonly id: string }>('v1/regulations', body)
        return `Created the deletion request ${id}.`
      },
    }
  }

  proposeReplay(conditions: Readonly<Record<string, string>>): void {
    const described = Object.entries(conditions).map(([name, value]) => `${name} ${value}`)
    const chosen = described.length === 0 ? 'all archived events' : described.join(', ')
    this.proposal.value = {
      title: 'Replay archived events?',
      consequence: `These events are sent to their destinations again: ${visibleText(chosen)}.`,
      verb: 'Replay',
      act: async () => {
        const { events, deliveries } = await api.act<{
          readonly events: number
          readonly deliveries: number
        }>('v1/replay', described.length === 0 ? { all: true } : conditions)
        return `Replayed ${counted(events, 'event')}: ${counted(deliveries, 'delivery', 'deliveries')}.`
      },
    }
  }

  async confirm({ act }: Proposal): Promise<void> {
    this.proposal.value = undefined
    await tried(async () => {
      tell(await act())
      this.version.value += 1
    })
  }

  /** Signs in with the admin token; false if that fails. */
  async signIn(token: string): Promise<boolean> {
    const isDone = await tried(() => api.signIn(token).then(() => true))
    if (isDone === true) notice.value = undefined
    return isDone === true
  }

  async #withDestination(
    id: string,
    proposalOf: (destination: DestinationFields) => Proposal,
  ): Promise<void> {
    await this.#ask(async () => {
      const { destinations } = await api.read('v1/destinations')
      const destination = destinations.find((each) => each.id === id)
      if (destination === undefined) throw new Error(`${id} is not configured any more`)
      return proposalOf(destination)
    })
  }

  /** Shows a proposal once its figures are read, unless another view or dialog is open by then. */
  async #ask(ask: () => Promise<Proposal | undefined>): Promise<void> {
    const { value: route } = this.route
    const proposal = await tried(ask)
    if (this.route.value === route) this.proposal.value ??= proposal
  }
}

export const session = new ServiceSession()

function proposalFor(count: number, action: DeliveryAction, conditions: Conditions): Proposal {
  const { verb, done, consequence } = deliveryTexts[action]
  const deliveries = counted(count, 'delivery', 'deliveries')
  const to = conditions.destination === undefined ? '' : ` to ${conditions.destination}`
  return {
    title: `${verb} ${count < api.countedMax ? '' : 'at least '}${deliveries}${to}?`,
    consequence,
    verb,
    act: async () => {
      const acted = await api.changeDeliveries(action, conditions)
      return `${done} ${counted(acted, 'delivery', 'deliveries')}.`
    },
  }
}

/** Changes the fragment of the URL. Resolves once the previous view's notice has been closed. */
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
