import { formatDeliveryId, type LoggedDelivery } from '../../delivery/index.ts'
import { plainText, columnsOf, cutToColumns } from '../../model/index.ts'
import { formatSpan } from '../output/moments.ts'
import { TextTable } from '../output/table.ts'
import { parkedText, stateLooks, type StatusView, type TableView } from './status.ts'

/** Room for every number, which alone names a delivery. */
const idColumnsMin = 18

/** Makes a table of deliveries, the most important column first. */
export function deliveryTable(view: TableView): TextTable<LoggedDelivery> {
  const { nowMs } = view
  return new TextTable<LoggedDelivery>(
    [
      {
        title: 'delivery',
        text: formatDeliveryId,
        look: 'strong',
        columnsMin: idColumnsMin,
        cut: cutId,
      },
      { title: 'state', text: ({ state }) => state, look: ({ state }) => stateLooks[state] },
      {
        title: 'why or next',
        text: (delivery) => outlookOf(delivery, view),
        look: ({ state }) => (state === 'pending' ? 'plain' : 'bad'),
        columnsMin: 16,
      },
      {
        title: 'accepted',
        text: ({ acceptedAtMs }) => `${formatSpan(nowMs - acceptedAtMs)} ago`,
        look: 'faint',
      },
      { title: 'tries', text: ({ attempts }) => String(attempts), isCount: true },
      { title: 'user', text: ({ userId }) => userId ?? '-', look: 'name' },
      { title: 'type', text: ({ type }) => type },
      { title: 'messageId', text: ({ messageId }) => messageId, look: 'faint', columnsMin: 12 },
    ],
    view,
  )
}

/** Shortens the destination in an id, and never the number: `to-127.0…/199950`. */
export function cutId(id: string, columnsMax: number): string {
  const slash = id.lastIndexOf('/')
  if (slash === -1) return cutToColumns(id, columnsMax)
  const room = columnsMax - columnsOf(id.slice(slash))
  // A letter and an ellipsis at least.
  return room < 2 ? id.slice(slash + 1) : cutToColumns(id.slice(0, slash), room) + id.slice(slash)
}

/** Why the delivery failed, or when its next attempt is due. */
function outlookOf(delivery: LoggedDelivery, { nowMs, waitOf }: StatusView): string {
  const { reason, dueAtMs } = delivery
  if (dueAtMs === null) return plainText(reason ?? '')
  const parked = parkedText(waitOf(delivery), nowMs)
  if (parked !== undefined) return parked
  return dueAtMs > nowMs
    ? `next in ${formatSpan(dueAtMs - nowMs)}`
    : `due for ${formatSpan(nowMs - dueAtMs)}`
}
