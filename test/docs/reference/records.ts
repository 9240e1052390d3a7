import { code, generatedNotice, page, table } from './markdown.ts'
import { meaningOf } from './meanings.ts'
import {
  alternatives,
  recordSources,
  type RecordField,
  type RecordSource,
} from './record-fields.ts'
import type { Sources } from './sources.ts'

/** A kind of record, or one of several meanings that a kind has. */
interface Section {
  readonly kind: string
  /** Who writes it: commands, and the HTTP interfaces. */
  readonly writers: string
  /** When it is written. */
  readonly about: string
  /** The files or folders of the code that makes it. */
  readonly made: readonly string[]
}

const operations = 'src/admin-api/operations.ts'
const deliveryOperations = 'src/admin-api/delivery-operations.ts'

const sections: readonly Section[] = [
  {
    kind: 'ready',
    writers: '`listen`',
    about: 'The first record: the port is open.',
    made: ['src/cli/listening/listen.ts'],
  },
  {
    kind: 'ready',
    writers: '`serve`',
    about: 'The only record: both ports are open.',
    made: ['src/cli/serving/serve.ts'],
  },
  {
    kind: 'view',
    writers: '`view`',
    about: 'The only record: the page is open.',
    made: ['src/cli/viewing/view.ts'],
  },
  {
    kind: 'event',
    writers: '`listen`, `demo`, the file of `--save`, `/_evroute/wait` and `/_evroute/events`',
    about: 'A request arrived.',
    made: ['src/receiver/event-record.ts'],
  },
  {
    kind: 'request',
    writers: '`send`, `replay`, `demo`',
    about: 'A request to an endpoint ended.',
    made: ['src/cli/sending/report-text.ts'],
  },
  {
    kind: 'delivery',
    writers: '`send`, `replay`, `demo`',
    about: 'A delivery ended.',
    made: ['src/cli/sending/report-text.ts'],
  },
  {
    kind: 'rejected',
    writers: '`send`, `replay`, `explain`',
    about: 'A row was not taken.',
    made: ['src/cli/sending/report.ts'],
  },
  {
    kind: 'rejected',
    writers: '`audience sync`, `delete`, the admin API',
    about: 'A row of a list was not taken.',
    made: ['src/audience/', 'src/cli/regulations/'],
  },
  {
    kind: 'plan',
    writers: '`explain`, `send --dry-run`, `replay --dry-run`',
    about: 'What would happen to an event at a destination.',
    made: ['src/cli/sending/report.ts'],
  },
  {
    kind: 'plan',
    writers: '`delete --dry-run`',
    about: 'What a deletion request would do.',
    made: ['src/cli/regulations/delete.ts'],
  },
  {
    kind: 'summary',
    writers: '`send`, `replay`, `explain`, `demo`',
    about:
      'The last record: counts that balance. `acknowledged` comes with `--endpoint`, `skipped` with `replay`.',
    made: ['src/cli/demo/demo.ts', 'src/cli/sending/report.ts'],
  },
  {
    kind: 'summary',
    writers: '`listen`',
    about:
      'The last record. `expectations` comes with `--expect`; each has the fields of an `expectation`.',
    made: ['src/cli/listening/listen.ts'],
  },
  {
    kind: 'ready',
    writers: '`check`',
    about: 'The first record: how many webhooks are sent.',
    made: ['src/cli/checking/check.ts'],
  },
  {
    kind: 'verdict',
    writers: '`check`',
    about: 'How the handler reacted to a webhook.',
    made: ['src/cli/checking/check.ts'],
  },
  {
    kind: 'finding',
    writers: '`check`',
    about: 'A mistake of the handler.',
    made: ['src/cli/checking/check.ts'],
  },
  {
    kind: 'summary',
    writers: '`check`',
    about: 'The last record: how many cases were right.',
    made: ['src/cli/checking/check.ts'],
  },
  {
    kind: 'case',
    writers: '`check --list`',
    about: 'A case of a check.',
    made: ['src/cli/checking/check.ts'],
  },
  {
    kind: 'expectation',
    writers: '`expect`',
    about: 'The result of an expectation.',
    made: ['src/cli/expecting/expect.ts'],
  },
  {
    kind: 'scenario',
    writers: '`run --scenario`',
    about: 'The result of a scenario.',
    made: ['src/cli/running/scenarios.ts'],
  },
  {
    kind: 'delivery',
    writers: '`deliveries`, the admin API',
    about:
      'A delivery. With `--api` it also has `parked` (`urls`, `until`) while every endpoint is held back, and `destinationIs` (`disabled` or `removed`) if the service sends nothing there. `windowAttempts` and `firstAttemptAt` belong to the last retry that was planned: 0 and null if the first attempt was the last.',
    made: ['src/delivery/log-records.ts'],
  },
  {
    kind: 'story',
    writers: '`deliveries show`, the admin API',
    about: 'A delivery with everything that happened to it.',
    made: ['src/delivery/log-records.ts'],
  },
  {
    kind: 'deliveries',
    writers: 'the admin API',
    about: 'A page of deliveries.',
    made: [deliveryOperations],
  },
  {
    kind: 'retry',
    writers: '`deliveries retry`, the admin API',
    about: 'How many deliveries are due again. `dryRun` comes from the command line only.',
    made: ['src/cli/deliveries/change.ts', deliveryOperations],
  },
  {
    kind: 'discard',
    writers: '`deliveries discard`, the admin API',
    about: 'How many deliveries were discarded. `dryRun` comes from the command line only.',
    made: ['src/cli/deliveries/change.ts', deliveryOperations],
  },
  {
    kind: 'destinations',
    writers: 'the admin API',
    about:
      'Each destination with `id`, `enabled`, `sources`, `endpoints` (`url`, `breaker`, `probeAt`, `faults`, `rate` if it has one) and its counts.',
    made: [operations],
  },
  {
    kind: 'sources',
    writers: 'the admin API',
    about:
      'Each source with `id`, `enabled`, `writeKeys`, `destinations`, `archived`, and what happened to its calls in this process: `accepted` by outcome, `rejected` by code, `latestRejected` (`at`, `messageId`, `code`, `message`).',
    made: [operations],
  },
  {
    kind: 'overview',
    writers: 'the admin API',
    about:
      'What is wrong now (`text`, `advice`, `destination`), and the last hour of the process by the minute (`at`, `accepted`, `delivered`, `failed`).',
    made: [operations],
  },
  { kind: 'ledger', writers: 'the admin API', about: 'The counts of a store.', made: [operations] },
  {
    kind: 'audit',
    writers: '`audit`, the admin API',
    about: 'Whether the counts of a store balance.',
    made: ['src/delivery/log-records.ts'],
  },
  {
    kind: 'destination',
    writers: 'the admin API',
    about: 'A destination was enabled or disabled.',
    made: [operations],
  },
  {
    kind: 'test',
    writers: 'the admin API',
    about: 'A sample was sent to a destination.',
    made: [operations],
  },
  {
    kind: 'replay',
    writers: 'the admin API',
    about: 'Archived events were sent again.',
    made: [operations],
  },
  {
    kind: 'audience',
    writers: '`audience list`, `audience show`, the admin API',
    about: 'An audience. A single one also has `memberList`.',
    made: ['src/audience/'],
  },
  {
    kind: 'audiences',
    writers: 'the admin API',
    about: 'All audiences.',
    made: ['src/admin-api/audience-operations.ts'],
  },
  {
    kind: 'change',
    writers: '`audience sync --dry-run`, `audience remove --dry-run`, the admin API',
    about: 'What a sync would send for a member. `value` is null if the member leaves.',
    made: ['src/audience/'],
  },
  {
    kind: 'comparing',
    writers: 'the admin API',
    about: 'Progress of a dry run: the number of stored members read so far.',
    made: ['src/audience/'],
  },
  {
    kind: 'progress',
    writers: 'the admin API',
    about: 'Progress of a sync.',
    made: ['src/audience/'],
  },
  {
    kind: 'sync',
    writers: '`audience sync`, the admin API',
    about: 'The last record of a sync.',
    made: ['src/audience/', 'src/cli/audiences/'],
  },
  {
    kind: 'removal',
    writers: '`audience remove`, the admin API',
    about: 'The last record of a removal.',
    made: ['src/audience/'],
  },
  {
    kind: 'error',
    writers: 'the admin API',
    about: 'The request failed after the answer had begun.',
    made: ['src/admin-api/'],
  },
  {
    kind: 'created',
    writers: '`delete`',
    about: 'A regulation was stored.',
    made: ['src/cli/regulations/delete.ts'],
  },
  {
    kind: 'regulation',
    writers: '`regulations`, `delete`, the admin API',
    about:
      'A regulation and how far it is. A list has the number `subjects` instead of `subjectIds`.',
    made: ['src/privacy/'],
  },
  {
    kind: 'regulations',
    writers: 'the admin API',
    about: 'A page of regulations.',
    made: ['src/admin-api/regulation-operations.ts'],
  },
  {
    kind: 'migrated',
    writers: '`migrate`',
    about: 'What became of a migration, or what `--dry-run` would move.',
    made: ['src/cli/migrating/'],
  },
  {
    kind: 'init',
    writers: '`init`',
    about: 'The files that were written.',
    made: ['src/cli/configuration/init.ts'],
  },
  {
    kind: 'setting',
    writers: '`config`',
    about: 'A setting in force.',
    made: ['src/cli/configuration/show.ts'],
  },
  {
    kind: 'problem',
    writers: '`config`',
    about: 'A mistake in the configuration.',
    made: ['src/cli/configuration/'],
  },
  {
    kind: 'signature',
    writers: '`sign`',
    about: 'The signature of a body.',
    made: ['src/cli/commands/signatures.ts'],
  },
  {
    kind: 'verification',
    writers: '`verify`',
    about: 'Whether a signature fits a body.',
    made: ['src/cli/commands/signatures.ts'],
  },
]

/**
 * The records of `--json`, from the objects that the code makes.
 *
 * @throws Error if the code makes a record that has no section here, or no record for one of the sections
 */
export function recordsPage(sources: Sources): string {
  const found = recordSources(sources)
  const unknown = found.filter((source) => !sections.some((section) => isAbout(section, source)))
  if (unknown.length > 0) {
    const names = unknown.map(({ kind, path }) => `${kind} of ${path}`).join(', ')
    throw new Error(
      `Cannot document these records: ${names}. Add each to test/docs/reference/records.ts.`,
    )
  }
  return page([
    generatedNotice,
    '# Which records does `--json` print?',
    'With `--json`, stdout is NDJSON: one JSON object per line, each with `"v": 1` and a `kind`. Lines end at `\\n` only. Timestamps are UTC in ISO 8601. Ignore fields that you don\'t know: later versions may add some. Errors go to stderr; [exit codes](exit-codes.md) shows how.',
    ...sections.map((section) => sectionText(section, found)),
  ])
}

function isAbout(section: Section, { kind, path }: RecordSource): boolean {
  return section.kind === kind && section.made.some((made) => path.startsWith(made))
}

function sectionText(section: Section, found: readonly RecordSource[]): string {
  // In the order of `made`, because the order of the files depends on their imports.
  const made = section.made.flatMap((start) =>
    found.filter((source) => isAbout({ ...section, made: [start] }, source)),
  )
  if (made.length === 0) throw new Error(`Cannot document "${section.kind}": no code makes it`)
  const fields = alternatives(made.map((source) => source.fields))
  return `## \`${section.kind}\` of ${section.writers}\n\n${section.about}\n\n${table(
    ['field', 'value', 'meaning'],
    fields.map((field) => row(section.kind, field)),
  )}`
}

function row(kind: string, { name, type, meaning, isOptional }: RecordField): readonly string[] {
  const value = `${type}${isOptional ? ', or left out' : ''}`
  return [code(name), value, meaning || meaningOf(kind, name)]
}
