import { audienceRecord, memberFields, type Audience, type Member } from '../../audience/index.ts'
import { plainText, recordLine } from '../../model/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData } from '../io.ts'
import { formatPast, formatSpan } from '../output/moments.ts'
import { formatCount } from '../output/numbers.ts'
import { pairsText, textTable, type TableColumn } from '../output/table.ts'
import { pagesOf, type ReadersRun } from '../store-access/readers.ts'
import { refusalError } from './refusal.ts'

/** Lists audiences and computed traits, ordered by key. */
export async function listAudiences(run: ReadersRun): Promise<ExitCode> {
  const { audiences, io, json, nowMs } = run
  const found = await audiences.list()
  if (json) await writeData(io, found.map((each) => recordLine(audienceRecord(each))).join(''))
  else if (found.length === 0) io.stderr.write('There are no audiences or computed traits yet\n')
  else await writeData(io, textTable(found, tableColumns(nowMs), run))
  return exitCodes.ok
}

function tableColumns(nowMs: number): readonly TableColumn<Audience>[] {
  return [
    { title: 'key', text: ({ key }) => key, look: 'strong', columnsMin: 12 },
    { title: 'members', text: ({ members }) => formatCount(members), isCount: true },
    {
      title: 'synced',
      text: ({ syncedAtMs: atMs }) =>
        atMs === null ? 'never finished' : `${formatSpan(nowMs - atMs)} ago`,
      look: ({ syncedAtMs }) => (syncedAtMs === null ? 'warning' : 'faint'),
    },
    { title: 'class', text: ({ computationClass }) => computationClass },
    { title: 'source', text: ({ sourceId }) => sourceId },
    { title: 'name', text: ({ name }) => name, look: 'faint' },
  ]
}

const pageMembersMax = 500

/** Shows an audience and its first members. */
export async function showAudience(
  { key, membersMax }: { readonly key: string; readonly membersMax: number },
  run: ReadersRun,
): Promise<ExitCode> {
  const { audiences, io, json } = run
  const known = await audiences.list()
  const audience = known.find((candidate) => candidate.key === key)
  if (audience === undefined) {
    const knownKeys = known.map((each) => each.key)
    throw refusalError({ kind: 'unknown_audience', knownKeys }, { key })
  }
  const members: Member[] = []
  const paging = { limit: membersMax, pageMax: pageMembersMax, stop: io.stop }
  const pages = pagesOf<Member>(paging, (limit, last) =>
    audiences.members({ key, limit, after: last?.identity ?? null }),
  )
  for await (const page of pages) members.push(...page)
  if (json) {
    const memberList = members.map(memberFields)
    await writeData(io, recordLine({ ...audienceRecord(audience), memberList }))
    return exitCodes.ok
  }
  const fields = pairsText(fieldsOf(audience, run.nowMs), run.style)
  const table = textTable(members, memberColumns(audience), run)
  await writeData(io, members.length === 0 ? fields : `${fields}\n${table}`)
  const others = audience.members - members.length
  if (others > 0 && membersMax > 0) {
    io.stderr.write(`... and ${formatCount(others)} more; see --members\n`)
  }
  return exitCodes.ok
}

function fieldsOf(audience: Audience, nowMs: number): readonly (readonly [string, string])[] {
  const { key, name, computationClass, computationId, sourceId, members, syncedAtMs } = audience
  return [
    ['Key', plainText(key)],
    ['Name', plainText(name)],
    ['Class', computationClass],
    ['Source', plainText(sourceId)],
    ['Computation', plainText(computationId)],
    ['Members', formatCount(members)],
    ['Made', formatPast(audience.createdAtMs, nowMs)],
    ['Synced', syncedAtMs === null ? 'never finished' : formatPast(syncedAtMs, nowMs)],
  ]
}

function memberColumns({ computationClass }: Audience): readonly TableColumn<Member>[] {
  const value: TableColumn<Member> = { title: 'value', text: (member) => member.value }
  return [
    { title: 'user', text: ({ identity }) => identity.userId ?? '-', look: 'name' },
    ...(computationClass === 'trait' ? [value] : []),
    { title: 'anonymous', text: ({ identity }) => identity.anonymousId ?? '-' },
    { title: 'email', text: ({ identity }) => identity.email ?? '-' },
  ]
}
