import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DeliveryFilter } from '../../delivery/index.ts'
import { recordLine } from '../../model/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { createStyle, wantsColor } from '../output/style.ts'
import { filterOfId } from './find-deliveries.ts'
import { deliveriesAtOnce, type LogContext } from './open-log.ts'
import type { RetrySelection } from './retry.ts'

/**
 * Ends pending deliveries as failed and reports how many. A dry run only counts them.
 *
 * @throws EvrouteError `invalid_usage` for an unknown id
 */
export async function discardDeliveries(
  { selection, dryRun }: { readonly selection: RetrySelection; readonly dryRun: boolean },
  context: LogContext,
): Promise<ExitCode> {
  const { io, view } = context
  const filter = 'id' in selection ? await filterOfId(selection.id, context) : selection.filter
  const count = dryRun ? await countPending(filter, context) : await discardAll(filter, context)
  if (view.json) {
    await writeData(io, recordLine({ kind: 'discard', deliveries: count, dryRun }))
    return exitCodes.ok
  }
  await writeData(io, `${countText(count, dryRun)}\n`)
  const style = await createStyle(wantsColor(io, io.stderr, view.color))
  if (!dryRun && count > 0) io.stderr.write(`${style.faint(afterwards)}\n`)
  return exitCodes.ok
}

const afterwards =
  'They failed with the reason "discarded" and can be retried. Webhooks that are being sent now are not ' +
  'taken back.'

async function discardAll(filter: DeliveryFilter, { log, io, nowMs }: LogContext): Promise<number> {
  let total = 0
  for (;;) {
    const count = await log.discard({ nowMs, filter, limit: deliveriesAtOnce })
    total += count
    // Yield, so that signals are handled and other users of the store get their turn.
    await nextTurn()
    if (count < deliveriesAtOnce || io.stop.aborted) return total
  }
}

async function countPending(filter: DeliveryFilter, { log, io }: LogContext): Promise<number> {
  const pending = { ...filter, states: ['pending'] } as const
  let [total, beforeId] = [0, Number.MAX_SAFE_INTEGER]
  for (;;) {
    const page = await log.list({ filter: pending, limit: deliveriesAtOnce, beforeId })
    total += page.length
    beforeId = page.at(-1)?.id ?? beforeId
    if (page.length < deliveriesAtOnce || io.stop.aborted) return total
  }
}

function countText(count: number, dryRun: boolean): string {
  const deliveries = count === 1 ? '1 delivery' : `${formatCount(count)} deliveries`
  return `${deliveries} ${dryRun ? 'would be discarded' : 'discarded'}`
}
