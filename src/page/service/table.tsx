import type { ComponentChildren, JSX } from 'preact'
import { Button } from '../button.tsx'

export interface Row {
  readonly key: string
  readonly cells: readonly ComponentChildren[]
  /** The link to follow when the row is clicked. A cell has the same link, so that the keyboard can reach it. */
  readonly href?: string
}

/** A table that scrolls sideways if it is too wide. If there are no rows, shows the text `empty`. */
export function Table({
  label,
  columns,
  rows,
  empty,
}: {
  readonly label: string
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
  readonly empty: string
}): JSX.Element {
  if (rows.length === 0) return <p class="empty">{empty}</p>
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells, href }) => (
            <tr
              key={key}
              class={href === undefined ? undefined : 'opens'}
              onClick={href === undefined ? undefined : (event) => openRow(event, href)}
            >
              {cells.map((cell, index) => (
                <td key={index} data-column={columns[index]}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Follows the link of a row, except after a click on a link in the row or while text is selected. */
function openRow({ target }: MouseEvent, href: string): void {
  const isLink = (target as Element).closest('a') !== null
  if (!isLink && getSelection()?.isCollapsed !== false) location.hash = href
}

export function Pager<Cursor>({
  cursor,
  next,
  turn,
}: {
  readonly cursor: Cursor | undefined
  readonly next: Cursor | null
  readonly turn: (cursor: Cursor | undefined) => void
}): JSX.Element {
  return (
    <div class="actions">
      {cursor === undefined ? null : <Button label="First page" onClick={() => turn(undefined)} />}
      {next === null ? null : <Button label="Next page" onClick={() => turn(next)} />}
    </div>
  )
}
