import type { Command } from 'commander'
import { countFlag } from '../flags.ts'
import type { AddCommand, CommandContext } from '../io.ts'
import {
  addAccessFlags,
  addStoreFlags,
  readStoreAccess,
  type AccessFlags,
} from '../store-access/access.ts'
import { onReaders } from '../store-access/on-readers.ts'

interface ListFlags extends AccessFlags {
  readonly limit: number
}

/** The highest `--limit`. */
const limitMax = 1_000_000
const limitDefault = 50

const exitCodesText =
  'Exit codes: 0 as asked, 2 usage, an unknown id, a wrong configuration or token, 7 the store or the\n' +
  'service cannot be used, 130 interrupted.'

const examples = `
Examples:
  evroute regulations list
  evroute regulations show reg_1vBTfYLhNxnQyHkTQTUGvpuGbVC
  evroute regulations list --api http://127.0.0.1:4001 --token env:EVROUTE_ADMIN_TOKEN

\`evroute delete\` makes them.

${exitCodesText}`

const listExamples = `
Examples:
  evroute regulations list
  evroute regulations list --store sqlite:./evroute.db --limit 500 --json

${exitCodesText}`

const showExamples = `
Examples:
  evroute regulations show reg_1vBTfYLhNxnQyHkTQTUGvpuGbVC
  evroute regulations show reg_1vBTfYLhNxnQyHkTQTUGvpuGbVC --json

${exitCodesText}`

const releaseExamples = `
Examples:
  evroute regulations release "/srv/evroute/archive on web-1"

${exitCodesText}`

/** Adds `evroute regulations` with the commands below it. */
export const addRegulationsCommand: AddCommand = (program, context) => {
  const regulations = program
    .command('regulations')
    .summary('list and show deletion requests')
    .description(
      'Lists the deletion requests of a store or a running service, and shows what each one erased and which ' +
        'notifications it sent. Another process may deliver from the store meanwhile.',
    )
    .addHelpText('after', examples)
  addList(regulations, context)
  addShow(regulations, context)
  addRelease(regulations, context)
}

function addList(regulations: Command, context: CommandContext): void {
  const command = regulations
    .command('list')
    .summary('list regulations, newest first')
    .description('Lists regulations, newest first.')
    .option('--limit <n>', 'list at most this many', countFlag(1, limitMax), limitDefault)
  addAccessFlags(command)
    .addHelpText('after', listExamples)
    .action(async () => {
      const flags = command.opts<ListFlags>()
      await onReaders({ flags, context }, async (run) => {
        const { listRegulations } = await import('../regulations/show.ts')
        return listRegulations({ limit: flags.limit }, run)
      })
    })
}

function addShow(regulations: Command, context: CommandContext): void {
  const command = regulations
    .command('show')
    .summary('show what a regulation erased and sent')
    .description(
      'Shows the users of a regulation, what it erased from the store and from archives, and the status of ' +
        'the notifications from each source to each destination.',
    )
    .argument('<id>', 'its id, as `regulations list` prints it')
  addAccessFlags(command)
    .addHelpText('after', showExamples)
    .action((id: string) =>
      onReaders({ flags: command.opts<AccessFlags>(), context }, async (run) => {
        const { showRegulation } = await import('../regulations/show.ts')
        return showRegulation(id, run)
      }),
    )
}

function addRelease(regulations: Command, context: CommandContext): void {
  const command = regulations
    .command('release')
    .summary('stop waiting for an archive that is lost')
    .description(
      'Releases an archive on a machine that will never run a service again. Regulations that wait for it ' +
        'end, and record that it was not erased. If a service starts with that archive again, regulations ' +
        'wait for it again.',
    )
    .argument('<archive>', 'its name, as `regulations show` prints it')
  addStoreFlags(command)
    .addHelpText('after', releaseExamples)
    .action(async (archive: string) => {
      const access = await readStoreAccess(command.opts(), context.io)
      const { releaseArchive } = await import('../regulations/show.ts')
      context.end(await releaseArchive(archive, access, context.io))
    })
}
