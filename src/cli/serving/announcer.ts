import { formatDuration, plainText } from '../../model/index.ts'
import { jsonLog, lineLog, logFrom, systemClock, type Log } from '../../runtime/index.ts'
import type { Service, ServiceWork } from '../../service/index.ts'
import { storeName } from '../../store/index.ts'
import type { ServeValues } from '../commands/service.ts'
import type { Io } from '../io.ts'
import { countOf } from '../output/numbers.ts'

/** Announces on stderr that a service starts, drains and ends. */
export interface Announcer {
  readonly log: Log
  /** Called when the service accepts requests. */
  readonly serving: (service: Pick<Service, 'address' | 'signInLink'>) => void
  /** Called after a signal, if the service continues to serve requests for a while. */
  readonly draining: (drainMs: number) => void
  /** Called when the service closes its ports. */
  readonly ending: (work: ServiceWork) => void
  /** Called when the service has ended. */
  readonly ended: (store: string, work: ServiceWork) => void
}

type AnnouncedService = Pick<ServeValues, 'path' | 'graceMs' | 'logLevel'>

/**
 * Creates an announcer that writes lines of text to a terminal, else JSON lines.
 *
 * @param json - write JSON even to a terminal
 */
export function createAnnouncer(
  service: AnnouncedService,
  { stderr }: Pick<Io, 'stderr'>,
  json: boolean,
): Announcer {
  const write = (line: string): void => void stderr.write(line)
  return stderr.isTTY === true && !json ? forPerson(service, write) : forProgram(service, write)
}

function forPerson(
  { path, graceMs, logLevel }: AnnouncedService,
  write: (line: string) => void,
): Announcer {
  const grace = formatDuration(graceMs)
  return {
    log: logFrom(logLevel, lineLog(write)),
    serving: (service) => {
      const { url, admin } = service.address
      const link = service.signInLink()
      const lines = [
        `Serving ${plainText(path)}`,
        `  tracking API  ${url}/v1/batch`,
        ...(admin === null ? [] : [`  admin API     ${admin}`]),
        ...(link === null ? [] : [`  page          ${link}`, '                (opens once)']),
        `Ctrl-C ends it: requests in flight get ${grace}, and everything else stays in the store`,
      ]
      write(`${lines.join('\n')}\n`)
    },
    draining: (drainMs) =>
      write(
        `Draining: /readyz answers 503, requests are still served for ${formatDuration(drainMs)}; press Ctrl-C again to end at once\n`,
      ),
    ending: ({ requests }) => {
      const underWay = `${countOf(requests, 'webhook is', 'webhooks are')} in flight`
      write(`Ending: ${underWay} and may take ${grace}; press Ctrl-C again to end at once\n`)
    },
    ended: (store, { pending }) => write(`Ended: ${whatStays(store, pending)}\n`),
  }
}

function whatStays(store: string, pending: number | null): string {
  if (pending === null) {
    return `how many deliveries stay in ${plainText(storeName(store))} is unknown, because it cannot be read`
  }
  return store === 'memory:'
    ? `${countOf(pending, 'delivery is', 'deliveries are')} lost, because the store was in memory`
    : `${countOf(pending, 'delivery stays', 'deliveries stay')} in ${plainText(storeName(store))}`
}

function forProgram(
  { path, graceMs, logLevel }: AnnouncedService,
  write: (line: string) => void,
): Announcer {
  const log = logFrom(logLevel, jsonLog(write, systemClock))
  return {
    log,
    serving: ({ address: { url, admin } }) => log.info('serving', { file: path, url, admin }),
    draining: (drainMs) => log.info('draining; send a second signal to end at once', { drainMs }),
    ending: ({ requests }) =>
      log.info('ending; send a second signal to end at once', { requests, graceMs }),
    ended: (store, { pending }) => {
      const fields = { store: storeName(store), pending }
      if (pending === null) {
        log.warn(
          'ended; the store cannot be read, so the number of pending deliveries is unknown',
          fields,
        )
      } else log.info('ended', fields)
    },
  }
}
