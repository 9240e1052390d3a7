import { recordLine } from '../../model/index.ts'
import { storyRecord, type DeliveryStory } from '../../delivery/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { DataWriter } from '../io.ts'
import { createStyle, wantsColor } from '../output/style.ts'
import { filterOfId } from './find-deliveries.ts'
import { pagesOf, type LogContext } from './open-log.ts'
import { storyText } from './story-text.ts'
import { waitFields, waitsAt, type Wait } from './waits.ts'

/**
 * Shows the whole history of a delivery, or of every delivery of an event.
 *
 * @throws EvrouteError `invalid_usage` for an unknown id
 */
export async function showDeliveries(id: string, context: LogContext): Promise<ExitCode> {
  const { io, log, nowMs, view } = context
  const stdout = new DataWriter(io)
  const style = await createStyle(wantsColor(io, io.stdout, view.color))
  const columns = io.stdout.isTTY === true ? io.stdout.columns : undefined
  const filter = await filterOfId(id, context)
  const waitOf = waitsAt(nowMs, await log.destinations?.())
  let isFirst = true
  for await (const page of pagesOf(context, { filter, limit: Infinity })) {
    for (const { destinationId, id } of page) {
      const story = await log.story({ destinationId, id })
      // Purged since it was listed.
      if (story === undefined) continue
      const text = (): string =>
        `${isFirst ? '' : '\n'}${storyText(story, { nowMs, waitOf, style, columns })}`
      stdout.write(view.json ? recordLine(recordOf(story, waitOf(story))) : text())
      isFirst = false
    }
    await stdout.ready()
  }
  return exitCodes.ok
}

function recordOf(story: DeliveryStory, wait: Wait | undefined): Readonly<Record<string, unknown>> {
  const record = storyRecord(story)
  return { ...record, delivery: { ...(record['delivery'] as object), ...waitFields(wait) } }
}
