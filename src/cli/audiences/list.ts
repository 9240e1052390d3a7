import { audienceRecord, type Audience } from '../../audience/index.ts'
import { recordLine } from '../../model/index.ts'
import { formatSpan } from '../delivery-log/moments.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData } from '../io.ts'
import type { ReadersRun } from '../operations/run-readers.ts'
import { formatCount } from '../output/numbers.ts'
import { textTable, type TableColumn } from '../output/table.ts'

/** Lists audiences and computed traits, ordered by key. */
export async function listAudiences(run: ReadersRun): Promise<ExitCode> {
  const { audiences, io, json, nowMs, style, columns } = run
  const found = await audiences.list()
  if (json) await writeData(io, found.map((each) => recordLine(audienceRecord(each))).join(''))
  else if (found.length === 0) io.stderr.write('There is no audience and no computed trait yet\n')
  else await writeData(io, textTable(found, tableColumns(nowMs), { style, columns }))
  return exitCodes.ok
}

/** The most important column first. */
function tableColumns(nowMs: number): readonly TableColumn<Audience>[] {
  return [
    { title: 'key', text: ({ key }) => key, look: 'strong', columnsMin: 12 },
    { title: 'members', text: ({ members }) => formatCount(members), isCount: true },
    { title: 'synced', text: (audience) => syncedText(audience, nowMs), look: syncedLook },
    { title: 'class', text: ({ computationClass }) => computationClass },
    { title: 'source', text: ({ sourceId }) => sourceId },
    { title: 'name', text: ({ name }) => name, look: 'faint' },
  ]
}

function syncedText({ syncedAtMs }: Audience, nowMs: number): string {
  return syncedAtMs === null ? 'never whole' : `${formatSpan(nowMs - syncedAtMs)} ago`
}

function syncedLook({ syncedAtMs }: Audience): 'warning' | 'faint' {
  return syncedAtMs === null ? 'warning' : 'faint'
}
