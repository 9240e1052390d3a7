import { formatDuration, plainText } from '../../model/index.ts'
import { jsonLog, lineLog, systemClock, type Log } from '../../runtime/index.ts'
import type { ServiceAddress, ServiceWork } from '../../service/index.ts'
import { storeName } from '../../store/index.ts'
import type { Io } from '../io.ts'
import { formatCount } from '../output/numbers.ts'

/** Tells on stderr what a service does. */
export interface Announcer {
  /** Where rooms say what they do. */
  readonly log: Log
  /** It accepts requests. */
  readonly serving: (address: ServiceAddress) => void
  /** A signal asked it to end: it still serves requests for this long, in milliseconds. */
  readonly draining: (drainMs: number) => void
  /** It closes its ports. */
  readonly ending: (work: ServiceWork) => void
  /** It has ended; what was not delivered is in that store. */
  readonly ended: (store: string, work: ServiceWork) => void
}

/** What is said of a service. */
export interface AnnouncedService {
  /** Its configuration file. */
  readonly path: string
  /** Time that requests under way are given at the end, in milliseconds. */
  readonly graceMs: number
}

/**
 * Everything is for one reader: lines of text where a person looks at a terminal, else one JSON object a
 * line.
 *
 * @param json - whether a program was announced to read the output, whatever it is
 */
export function createAnnouncer(
  service: AnnouncedService,
  { stderr }: Pick<Io, 'stderr'>,
  json: boolean,
): Announcer {
  const write = (line: string): void => void stderr.write(line)
  return stderr.isTTY === true && !json ? forPerson(service, write) : forProgram(service, write)
}

function forPerson({ path, graceMs }: AnnouncedService, write: (line: string) => void): Announcer {
  const grace = formatDuration(graceMs)
  return {
    log: lineLog(write),
    serving: ({ url, admin }) => {
      const lines = [
        `Serving ${plainText(path)}`,
        `  tracking API  ${url}/v1/batch`,
        ...(admin === null ? [] : [`  admin API     ${admin}`]),
        `Ctrl-C ends it: requests under way are given ${grace}, the rest stays in the store`,
      ]
      write(`${lines.join('\n')}\n`)
    },
    draining: (drainMs) =>
      write(
        `Draining: /readyz answers 503, requests are served for ${formatDuration(drainMs)}; Ctrl-C again ends it at once\n`,
      ),
    ending: ({ requests }) => {
      const underWay = `${formatCount(requests)} ${requests === 1 ? 'webhook is' : 'webhooks are'} under way`
      write(`Ending: ${underWay}, given ${grace}; Ctrl-C again ends it at once\n`)
    },
    ended: (store, { pending }) => write(`Ended: ${whatStays(store, pending)}\n`),
  }
}

function whatStays(store: string, pending: number): string {
  const isOne = pending === 1
  const deliveries = `${formatCount(pending)} ${isOne ? 'delivery' : 'deliveries'}`
  return store === 'memory:'
    ? `${deliveries} ${isOne ? 'is' : 'are'} gone with the store in memory`
    : `${deliveries} ${isOne ? 'stays' : 'stay'} in ${plainText(storeName(store))}`
}

function forProgram({ path, graceMs }: AnnouncedService, write: (line: string) => void): Announcer {
  const log = jsonLog(write, systemClock)
  return {
    log,
    serving: ({ url, admin }) => log.info('serving', { file: path, url, admin }),
    draining: (drainMs) => log.info('draining, ends at once with another signal', { drainMs }),
    ending: ({ requests }) =>
      log.info('ending, at once with another signal', { requests, graceMs }),
    ended: (store, { pending }) => log.info('ended', { store: storeName(store), pending }),
  }
}
