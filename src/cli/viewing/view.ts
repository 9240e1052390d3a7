import { once } from 'node:events'
import { openInput } from '../../importer/index.ts'
import { checkUrl, plainText, recordLine } from '../../model/index.ts'
import { CaptureViewer, readCapture } from '../../receiver/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData, type Io } from '../io.ts'
import { inspectorUrl, openPage } from '../listening/inspector-page.ts'
import { formatCount } from '../output/numbers.ts'

/** What `view` is asked to show, checked. */
export interface ViewOptions {
  /** The capture; `-` for stdin. */
  readonly path: string
  /** The port, or 0 for a free one. */
  readonly port: number
  /** Where requests are sent again; undefined for nowhere. */
  readonly resendTo: string | undefined
  /** Signs requests that are edited; undefined for no signature. */
  readonly secret: string | undefined
  /** Whether a browser is started. */
  readonly open: boolean
  /** A record on stdout once the page is there. */
  readonly json: boolean
}

/**
 * Shows a capture on a page until a signal.
 *
 * @throws SettingError for a URL that is none; EvrouteError `cannot_read_file`, `port_in_use` or `cannot_listen`
 */
export async function view(options: ViewOptions, io: Io): Promise<ExitCode> {
  const resendTo = options.resendTo === undefined ? undefined : checkUrl('--to', options.resendTo)
  await using viewer = await CaptureViewer.open({ ...options, resendTo })
  const badRows = await load(viewer, options.path, io)
  const { shown, read } = viewer.counts
  const page = inspectorUrl(viewer.url)
  if (options.json) await writeData(io, recordLine({ kind: 'view', inspector: page, shown, read }))
  const others = read > shown ? ` of ${formatCount(read)}, the newest` : ''
  const bad = badRows > 0 ? `; rows that are no requests: ${formatCount(badRows)}` : ''
  io.stderr.write(`Requests   ${formatCount(shown)}${others} of ${plainText(options.path)}${bad}\n`)
  io.stderr.write(`Page       ${page ?? ''}\nCtrl-C ends it.\n`)
  if (options.open) io.stderr.write(`${await openPage(page)}\n`)
  if (!io.stop.aborted) await once(io.stop, 'abort')
  return badRows > 0 ? exitCodes.badInput : exitCodes.ok
}

/** @returns how many rows are neither requests nor other records of `listen` */
async function load(viewer: CaptureViewer, path: string, io: Io): Promise<number> {
  let badRows = 0
  for await (const part of readCapture(await openInput(path, io.stdin))) {
    badRows += part.badRows
    for (const event of part.events) await viewer.add(event)
    if (io.stop.aborted) break
  }
  return badRows
}
