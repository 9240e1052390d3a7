import { once } from 'node:events'
import { checkUrl, fullUrl, plainText, recordLine } from '../../model/index.ts'
import { openCaptureViewer, readCapture } from '../../receiver/index.ts'
import type { ViewValues } from '../commands/view.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { aboutFile, openInputOf } from '../input.ts'
import { writeData, type Io } from '../io.ts'
import { inspectorUrl, openPage } from '../listening/inspector-page.ts'
import { countOf, formatCount } from '../output/numbers.ts'
import { readSecret } from '../secret.ts'

/** Shows a capture on a page until a signal arrives. */
export async function view(path: string, values: ViewValues, io: Io): Promise<ExitCode> {
  const { port, to, json, open } = values
  const secret = await readSecret(values.secret, io)
  const resendTo = to === undefined ? undefined : checkUrl('--to', fullUrl(to))
  await using viewer = await openCaptureViewer({ port, resendTo, secret })
  let badRows = 0
  for await (const part of aboutFile(path, readCapture(await openInputOf(path, io)))) {
    badRows += part.badRows.length
    for (const event of part.events) await viewer.add(event)
  }
  const { shown, read } = viewer.counts()
  const page = inspectorUrl(viewer.url)
  if (json) await writeData(io, recordLine({ kind: 'view', inspector: page, shown, read }))
  const requests =
    read > shown ? `the newest ${formatCount(shown)} of ${formatCount(read)}` : formatCount(shown)
  const bad = badRows > 0 ? `; ${countOf(badRows, 'row is', 'rows are')} not requests` : ''
  io.stderr.write(`Requests   ${requests} in ${plainText(path)}${bad}\n`)
  io.stderr.write(`Page       ${page ?? ''}\nPress Ctrl-C to stop.\n`)
  if (open) io.stderr.write(`${await openPage(page)}\n`)
  if (!io.stop.aborted) await once(io.stop, 'abort')
  return badRows > 0 ? exitCodes.badInput : exitCodes.ok
}
