import type { Command } from 'commander'
import { countFlag } from '../flags.ts'
import type { AddCommand, CommandContext } from '../io.ts'
import {
  addAccessFlags,
  addStoreFlags,
  readAccess,
  type AccessFlags,
} from '../store-access/access-flags.ts'

interface ListFlags extends AccessFlags {
  readonly limit: number
}

/** The highest `--limit`. */
const limitMax = 1_000_000
const limitDefault = 50

const exitCodesText =
  'Exit codes: 0 as asked, 2 usage, an id that is not there, a configuration or a token that is wrong,\n' +
  '7 the store cannot be used or the service cannot be asked, 130 interrupted.'

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
    .summary('look into deletion requests')
    .description(
      'Lists the deletion requests of a store or a running service, and shows what each has erased, and ' +
        'which notifications it has sent. A process may deliver from the store meanwhile.',
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
    .option('--limit <n>', 'list so many at the most', countFlag(1, limitMax), limitDefault)
  addAccessFlags(command)
    .addHelpText('after', listExamples)
    .action(async () => {
      const flags = command.opts<ListFlags>()
      const [{ runReaders }, { listRegulations }] = await Promise.all([
        import('../store-access/readers.ts'),
        import('../regulations/show.ts'),
      ])
      await runReaders({ flags, context }, (run) => listRegulations({ limit: flags.limit }, run))
    })
}

function addShow(regulations: Command, context: CommandContext): void {
  const command = regulations
    .command('show')
    .summary('show what a regulation has erased and sent')
    .description(
      'Shows a regulation: whom it is about, what was erased in the store and in archives, and how the ' +
        'notifications of each source to each destination stand.',
    )
    .argument('<id>', 'its id as it is listed')
  addAccessFlags(command)
    .addHelpText('after', showExamples)
    .action(async (id: string) => {
      const flags = command.opts<AccessFlags>()
      const [{ runReaders }, { showRegulation }] = await Promise.all([
        import('../store-access/readers.ts'),
        import('../regulations/show.ts'),
      ])
      await runReaders({ flags, context }, (run) => showRegulation(id, run))
    })
}

function addRelease(regulations: Command, context: CommandContext): void {
  const command = regulations
    .command('release')
    .summary('wait no longer for an archive that is gone')
    .description(
      'Lets go of an archive that is gone for good, on a machine that no service is started on again: ' +
        'regulations that wait for it end, with the problem that it was not erased. A service that is ' +
        'started with it is waited for again.',
    )
    .argument('<archive>', 'its name as `regulations show` tells it')
  addStoreFlags(command)
    .addHelpText('after', releaseExamples)
    .action(async (archive: string) => {
      const access = await readAccess(command.opts<AccessFlags>(), context.io)
      const { releaseArchive } = await import('../regulations/show.ts')
      if (access.kind === 'store') context.end(await releaseArchive(archive, access, context.io))
    })
}
