import { InvalidArgumentError, Option, type Command } from 'commander'
import type { DeliveryFilter, LoggedState } from '../../delivery/index.ts'
import type { EventType } from '../../model/index.ts'
import { eventTypesFlag, momentFlag, momentMs } from '../flags.ts'
import { storeForms } from '../store-flag.ts'
import type { PlaceFlags } from './log-place.ts'

/** The flags of every command about deliveries, from commander. */
export interface LogFlags extends PlaceFlags {
  /** `--json` */
  readonly json?: boolean
  /** `--reveal` */
  readonly reveal?: boolean
  /** `--no-color` */
  readonly color: boolean
}

/** The flags that filter deliveries, from commander. */
export interface FilterFlags {
  /** `--state` */
  readonly state?: readonly LoggedState[]
  /** `--type` */
  readonly type?: readonly EventType[]
  /** `--user` */
  readonly user?: string
  /** `--destination` */
  readonly destination?: string
  /** `--message` */
  readonly message?: string
  /** `--since` */
  readonly since?: string
  /** `--until` */
  readonly until?: string
}

/** The highest `--limit`. */
export const limitMax = 1_000_000_000

/** Adds the flags of every command about deliveries. */
export function addLogFlags(command: Command): Command {
  return command
    .option('--store <url>', `the store: ${storeForms}; also EVROUTE_STORE`)
    .option('--api <url>', 'a running service instead: the URL of its admin API')
    .option(
      '--token <token>',
      'its admin token: a value, env:NAME or @file; also EVROUTE_ADMIN_TOKEN',
    )
    .option('--json', 'NDJSON records on stdout')
    .option('--no-color', 'no colours')
}

/** Adds the flag of the commands that show endpoints. */
export function addRevealFlag(command: Command): Command {
  return command.option('--reveal', 'show the whole URL of each endpoint, with its path and query')
}

/** Adds the filter flags. `states` are the states that `--state` accepts. */
export function addFilterFlags(command: Command, states: readonly LoggedState[]): Command {
  return command
    .addOption(stateOption(states))
    .option('--type <type>', 'only events of this type, repeatable', eventTypesFlag)
    .option('--user <id>', 'only events about this user')
    .option('--destination <id>', 'only deliveries to this destination')
    .option('--message <id>', 'only deliveries of the event with this messageId')
    .option(
      '--since <moment>',
      'only events accepted from then on: a timestamp, or 2h ago',
      momentFlag,
    )
    .option('--until <moment>', 'only events accepted before then', momentFlag)
}

function stateOption(states: readonly LoggedState[]): Option {
  const option = new Option('--state <state>', 'only deliveries in this state, repeatable')
  // `choices` serves help and completion only: a repeatable flag has to collect its values itself.
  return option.choices(states).argParser((text, previous: readonly LoggedState[] | undefined) => {
    const state = states.find((candidate) => candidate === text)
    if (state !== undefined) return [...(previous ?? []), state]
    throw new InvalidArgumentError(`It is one of ${states.join(', ')}.`)
  })
}

/** The filter that the flags describe. */
export function filterOf(flags: FilterFlags, nowMs: number): DeliveryFilter {
  const { since, until } = flags
  return {
    states: flags.state,
    types: flags.type,
    userId: flags.user,
    destinationId: flags.destination,
    messageId: flags.message,
    sinceMs: since === undefined ? undefined : momentMs(since, nowMs),
    untilMs: until === undefined ? undefined : momentMs(until, nowMs),
  }
}

/** The first filter flag that is given, as typed. */
export function firstFilterFlag(flags: FilterFlags): string | undefined {
  const names = ['state', 'type', 'user', 'destination', 'message', 'since', 'until'] as const
  const name = names.find((candidate) => flags[candidate] !== undefined)
  return name === undefined ? undefined : `--${name}`
}
