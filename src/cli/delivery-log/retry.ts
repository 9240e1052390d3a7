import { setImmediate as nextTurn } from 'node:timers/promises'
import { formatDeliveryId, type DeliveryFilter, type LoggedDelivery } from '../../delivery/index.ts'
import { plainText, recordLine } from '../../model/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { createStyle, wantsColor } from '../output/style.ts'
import { filterOfId } from './find-deliveries.ts'
import { deliveriesAtOnce, type LogContext } from './open-log.ts'

/** The deliveries to retry: those of an id, or those that match a filter. */
export type RetrySelection = { readonly id: string } | { readonly filter: DeliveryFilter }

/**
 * Makes deliveries due at once, with a new retry window, and reports how many.
 *
 * @throws EvrouteError `invalid_usage` for an unknown id
 */
export async function retryDeliveries(
  selection: RetrySelection,
  context: LogContext,
): Promise<ExitCode> {
  const { io, view } = context
  const filter = 'id' in selection ? await filterOfId(selection.id, context) : selection.filter
  const count = await retryAll(filter, context)
  if (view.json) {
    await writeData(io, recordLine({ kind: 'retry', deliveries: count }))
    return exitCodes.ok
  }
  await writeData(io, `${countText(count)}\n`)
  const style = await createStyle(wantsColor(io, io.stderr, view.color))
  const notes = count > 0 ? [nextTexts[context.place]] : await reasonsOf(selection, filter, context)
  for (const note of notes) io.stderr.write(`${style.faint(note)}\n`)
  return exitCodes.ok
}

async function retryAll(filter: DeliveryFilter, { log, io, nowMs }: LogContext): Promise<number> {
  let total = 0
  for (;;) {
    const count = await log.retry({ nowMs, filter, limit: deliveriesAtOnce })
    total += count
    // Yield, so that signals are handled and other users of the store get their turn.
    await nextTurn()
    if (count < deliveriesAtOnce || io.stop.aborted) return total
  }
}

const nextTexts: Readonly<Record<LogContext['place'], string>> = {
  store:
    'They go out at once where a process delivers from the store, else with the next `send` or ' +
    '`replay` to the same --to with this --store.',
  service: 'The service sends them now, as far as their endpoints let it.',
}

function countText(count: number): string {
  return count === 1 ? '1 delivery is due again' : `${formatCount(count)} deliveries are due again`
}

/** Explains why no delivery was retried. */
async function reasonsOf(
  selection: RetrySelection,
  filter: DeliveryFilter,
  { log }: LogContext,
): Promise<readonly string[]> {
  if (!('id' in selection)) {
    return ['Nothing that failed, expired or waits for a retry is like that.']
  }
  const found = await log.list({ filter, limit: deliveriesAtOnce })
  return found.map((delivery) => `${plainText(formatDeliveryId(delivery))} ${whyNot(delivery)}`)
}

function whyNot({ state, lane }: LoggedDelivery): string {
  if (state === 'delivered') return 'is delivered'
  return lane === 'first' ? 'waits for its first attempt' : 'is due already'
}
