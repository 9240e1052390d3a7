import type { ComparedFigure, StoreFigures } from '../../store/index.ts'
import { formatCount } from '../output/numbers.ts'
import { textTable, type TextTableView } from '../output/table.ts'

/** A table of the row counts on both sides. */
export function comparedTable(figures: readonly ComparedFigure[], view: TextTableView): string {
  return textTable(
    figures,
    [
      { title: 'rows', text: ({ what }) => what, look: 'name' },
      { title: 'file', text: ({ source }) => formatCount(source), isCount: true },
      {
        title: 'database',
        text: ({ target }) => formatCount(target),
        look: ({ source, target }) => (source === target ? 'good' : 'bad'),
        isCount: true,
      },
    ],
    view,
  )
}

/** A table of the row counts of one store. */
export function figuresTable({ rows }: StoreFigures, view: TextTableView): string {
  return textTable(
    rows,
    [
      { title: 'rows', text: ({ title }) => title, look: 'name' },
      { title: 'file', text: ({ rows: count }) => formatCount(count), isCount: true },
    ],
    view,
  )
}
