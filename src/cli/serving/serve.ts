import { unwatchFile, watchFile } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { formatDuration, messageOf } from '../../model/index.ts'
import { createRuntime, jsonLog, systemClock, type Log } from '../../runtime/index.ts'
import {
  checkEndpointNames,
  ConfigurationError,
  problemText,
  readConfiguration,
  Service,
  type Configuration,
  type ConfigurationOutcome,
} from '../../service/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData, type Io } from '../io.ts'
import { recordLine } from '../output/records.ts'

/** What `serve` is asked to do. */
export interface ServeOptions {
  /** The configuration file. */
  readonly path: string
  /** A ready record on stdout. */
  readonly json: boolean
  /** Time that requests under way are given at the end, in milliseconds. */
  readonly graceMs: number
}

/** How often the configuration file is looked at, in milliseconds. */
const fileLookMs = 1_000

/**
 * Runs the service of a configuration until it is to end, and follows the configuration.
 *
 * @throws ConfigurationError; EvrouteError for a port, a file or a store that cannot be used, at the start
 * or later
 */
export async function serve(options: ServeOptions, io: Io): Promise<ExitCode> {
  const { path, graceMs } = options
  const log = jsonLog((line) => io.stderr.write(line), systemClock)
  const failed = new AbortController()
  const starting = start({ path, io, log, failed: (error) => failed.abort(error) })
  const endFollowing = follow({ starting, path, io, log })
  try {
    const service = await starting
    try {
      await tellReady(service, options, io)
      await aborted(AbortSignal.any([io.stop, failed.signal]))
    } finally {
      await service.close(failed.signal.aborted ? 0 : graceMs)
    }
  } finally {
    endFollowing()
  }
  failed.signal.throwIfAborted()
  return exitCodes.ok
}

async function start(parts: {
  readonly path: string
  readonly io: Io
  readonly log: Log
  readonly failed: (error: unknown) => void
}): Promise<Service> {
  const { path, io, log, failed } = parts
  const configuration = valid(await read(path, io, log), path)
  return Service.start({ configuration, runtime: createRuntime({ log }), failed })
}

async function read(path: string, io: Io, log: Log): Promise<ConfigurationOutcome> {
  const outcome = await readConfiguration(path, {
    env: io.env,
    readFile: (file) => readFile(file, 'utf8'),
  })
  if (outcome.kind === 'invalid') return outcome
  const problems = await checkEndpointNames(outcome.configuration, { log })
  return problems.length === 0 ? outcome : { kind: 'invalid', problems }
}

/** @throws ConfigurationError that tells all that is wrong */
function valid(outcome: ConfigurationOutcome, path: string): Configuration {
  if (outcome.kind === 'valid') return outcome.configuration
  throw new ConfigurationError(path, outcome.problems)
}

async function tellReady(service: Service, options: ServeOptions, io: Io): Promise<void> {
  const { url, port, admin } = service.address
  if (options.json) {
    const ready = { kind: 'ready', url, port, admin, inspector: null, pid: process.pid }
    await writeData(io, recordLine(ready))
    return
  }
  const lines = [
    `Serving ${options.path}`,
    `  tracking API  ${url}/v1/batch`,
    ...(admin === null ? [] : [`  admin API     ${admin}`]),
    `Ctrl-C ends it: requests under way are given ${formatDuration(options.graceMs)}, the rest stays in the store`,
  ]
  io.stderr.write(`${lines.join('\n')}\n`)
}

/**
 * Reads the configuration again on SIGHUP and whenever its file changes; a bad one changes nothing. What
 * comes before the service has started is done afterwards.
 */
function follow(parts: {
  readonly starting: Promise<Service>
  readonly path: string
  readonly io: Io
  readonly log: Log
}): () => void {
  const { starting, path, io, log } = parts
  let reading = Promise.resolve()
  const reload = async (): Promise<void> => {
    const service = await starting.catch(() => undefined)
    if (service === undefined) return
    try {
      const outcome = await read(path, io, log)
      if (outcome.kind === 'invalid') {
        for (const problem of outcome.problems) {
          log.warn('the configuration is refused', { problem: problemText(problem) })
        }
        return
      }
      const changes = service.reconfigure(outcome.configuration)
      if (changes.length === 0) log.debug('the configuration is the same')
      for (const { setting, kind, effect } of changes) {
        log.warn('the configuration changed', { setting, kind, effect })
      }
    } catch (error) {
      log.warn('the configuration cannot be read', { error: messageOf(error) })
    }
  }
  const queue = (): void => {
    reading = reading.then(reload)
  }
  watchFile(path, { interval: fileLookMs }, queue)
  const endHangUps = io.onHangUp?.(queue)
  return () => {
    unwatchFile(path, queue)
    endHangUps?.()
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
