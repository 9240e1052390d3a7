import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { formatDuration, messageOf, plainText, recordLine } from '../../model/index.ts'
import {
  createRuntime,
  jsonLog,
  lineLog,
  logFrom,
  sleep,
  systemClock,
  type Log,
  type Clock,
  type Timer,
} from '../../runtime/index.ts'
import {
  ConfigurationError,
  problemText,
  readServiceConfiguration,
  Service,
  type Configuration,
  type ServiceWork,
} from '../../service/index.ts'
import { storeName } from '../../store/index.ts'
import { isShortage } from '../../webhook/index.ts'
import type { ServeValues } from '../commands/service.ts'
import { readForCommand } from '../configuration/read-for-command.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { countOf } from '../output/numbers.ts'

/** Runs a service until a signal, even if stdout is closed. Applies changes to the configuration. */
export async function serve(options: ServeValues, io: Io): Promise<ExitCode> {
  const write = (line: string): void => void io.stderr.write(line)
  const isForPerson = io.stderr.isTTY === true && !options.json
  const announcer = isForPerson ? forPerson(options, write) : forProgram(options, write)
  // Watch before the first read, so that no change is missed.
  const reloads = await watchConfiguration(options.path, io, announcer.log)
  try {
    const { configuration } = await readForCommand({ ...options, log: announcer.log }, io)
    await run(configuration, { options, io, announcer, reloads })
  } finally {
    reloads.end()
  }
  return exitCodes.ok
}

interface Serving {
  readonly options: ServeValues
  readonly io: Io
  readonly announcer: Announcer
  readonly reloads: Awaited<ReturnType<typeof watchConfiguration>>
}

async function run(configuration: Configuration, serving: Serving): Promise<void> {
  const { options, io, announcer, reloads } = serving
  const failed = new AbortController()
  const service = await Service.start({
    configuration,
    role: options.role,
    runtime: createRuntime({ log: announcer.log }),
    failed: (error) => failed.abort(error),
  })
  try {
    const { url, port, admin } = service.address
    const { pid } = process
    const ready = recordLine({ kind: 'ready', url, port, admin, inspector: pageOf(admin), pid })
    if (options.json) io.stdout.write(ready)
    announcer.serving(service)
    reloads.follow(service)
    const end = AbortSignal.any([io.interrupted, failed.signal])
    if (!end.aborted) await once(end, 'abort')
    if (!failed.signal.aborted) await drain(service, serving, failed.signal)
    if (!failed.signal.aborted) announcer.ending(service.work)
  } finally {
    await service.close(failed.signal.aborted ? 0 : options.graceMs)
  }
  announcer.ended(configuration.store, service.work)
  failed.signal.throwIfAborted()
}

/** Gives load balancers time to send their requests elsewhere. */
async function drain(service: Service, serving: Serving, failed: AbortSignal): Promise<void> {
  const { drainMs } = serving.options
  if (drainMs === 0) return
  serving.announcer.draining(drainMs)
  service.drain()
  await sleep(systemClock, drainMs, failed)
}

/**
 * Reloads the configuration on SIGHUP and when its file changes. A reload waits until the service runs. An invalid
 * configuration changes nothing.
 */
async function watchConfiguration(path: string, io: Io, log: Log) {
  let service: Service | undefined
  let isWanted = false
  let reading = Promise.resolve()
  const want = (): void => {
    const running = service
    isWanted = true
    if (running !== undefined) reading = reading.then(() => reload(running, path, { io, log }))
  }
  const endHangUps = io.onHangUp?.(want)
  const endWatching = await watchFile(path, want, systemClock)
  return {
    follow: (started: Service): void => {
      service = started
      if (isWanted) want()
    },
    end: (): void => {
      endHangUps?.()
      endWatching()
    },
  }
}

async function reload(
  service: Service,
  path: string,
  { io, log }: { readonly io: Io; readonly log: Log },
): Promise<void> {
  try {
    const { configuration } = await readServiceConfiguration(path, { env: io.env, log })
    const changes = service.reconfigure(configuration)
    if (changes.length === 0) log.info('the configuration is the same')
    for (const { setting, kind, effect } of changes) {
      if (effect === 'at_once') log.info('the configuration changed', { setting, kind })
      else log.warn('a changed setting needs a restart', { setting, kind })
    }
  } catch (error) {
    service.refuseConfiguration()
    const what =
      error instanceof ConfigurationError
        ? 'the new configuration is invalid'
        : 'the configuration cannot be read'
    log.warn(`${what}; the previous one stays in force`, {
      file: path,
      problems: problemsText(error),
    })
  }
}

function problemsText(error: unknown): string {
  if (!(error instanceof ConfigurationError)) return messageOf(error)
  // Take the first line of each problem: the other lines are an excerpt of the file, and a log entry is one line.
  return error.problems.map((problem) => problemText(problem).split('\n', 1)[0]).join('; ')
}

/** Announces on stderr that a service starts, drains and ends. */
type Announcer = ReturnType<typeof forPerson>

function forPerson({ path, graceMs, logLevel }: ServeValues, write: (line: string) => void) {
  const grace = formatDuration(graceMs)
  return {
    log: logFrom(logLevel, lineLog(write)),
    serving: (service: Pick<Service, 'address' | 'signInLink'>): void => {
      const { url, admin } = service.address
      const link = service.signInLink()
      const lines = [
        `Serving ${plainText(path)}`,
        `  tracking API  ${url}/v1/batch`,
        ...(admin === null ? [] : [`  admin API     ${admin}`]),
        ...(link === null ? [] : [`  page          ${link}`, '                (opens once)']),
        `Ctrl-C ends the service: requests in flight get ${grace}`,
      ]
      write(`${lines.join('\n')}\n`)
    },
    draining: (drainMs: number): void =>
      write(
        `Draining: /readyz answers 503, requests are still served for ${formatDuration(drainMs)}; press Ctrl-C again to end at once\n`,
      ),
    ending: ({ requests }: ServiceWork): void => {
      const underWay = `${countOf(requests, 'webhook is', 'webhooks are')} in flight`
      write(`Ending: ${underWay} and may take ${grace}; press Ctrl-C again to end at once\n`)
    },
    ended: (store: string, { pending }: ServiceWork): void =>
      write(`Ended: ${whatStays(store, pending)}\n`),
  }
}

function whatStays(store: string, pending: number | null): string {
  if (pending === null) {
    return `the store ${plainText(storeName(store))} cannot be read, so the number of its pending deliveries is unknown`
  }
  return store === 'memory:'
    ? `${countOf(pending, 'delivery is', 'deliveries are')} lost, because the store was in memory`
    : `${countOf(pending, 'delivery stays', 'deliveries stay')} in ${plainText(storeName(store))}`
}

function forProgram(
  { path, graceMs, logLevel }: ServeValues,
  write: (line: string) => void,
): Announcer {
  const log = logFrom(logLevel, jsonLog(write, systemClock))
  return {
    log,
    serving: ({ address: { url, admin } }) =>
      log.info('serving', { file: path, url, admin, page: pageOf(admin) }),
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

function pageOf(admin: string | null): string | null {
  return admin && `${admin}/_evroute/`
}

/** Interval between checks for a changed file, in milliseconds. */
export const fileLookMs = 1_000

/** Begins to watch a file, and calls `changed` after each change. Resolves with a function that ends the watch. */
export async function watchFile(
  path: string,
  changed: () => void,
  clock: Pick<Clock, 'schedule'>,
): Promise<() => void> {
  let seen = await versionOf(path)
  let hasEnded = false
  let timer: Timer | undefined
  const planLook = (): void => {
    if (!hasEnded) timer = clock.schedule(fileLookMs, () => void look())
  }
  const look = async (): Promise<void> => {
    const found = await versionOf(path, seen)
    if (found !== seen && !hasEnded) changed()
    seen = found
    planLook()
  }
  planLook()
  return () => {
    hasEnded = true
    timer?.cancel()
  }
}

/** Returns a string that changes whenever a file does. If no file descriptor is free, returns `seen`. */
async function versionOf(path: string, seen?: string): Promise<string | undefined> {
  try {
    const file = await stat(path, { bigint: true })
    // Include the text, because two changes within a tick of the file system have the same time. Don't read a pipe,
    // which can be read only once.
    const text = file.isFile() ? await readFile(path, 'utf8') : ''
    return `${file.ino} ${file.mtimeNs} ${text}`
  } catch (error) {
    return isShortage(error) ? seen : undefined
  }
}
