import { recordLine } from '../../model/index.ts'
import { signBody } from '../../webhook/index.ts'
import { exitCodes } from '../exit-code.ts'
import { readBody } from '../input.ts'
import { type AddCommand, writeData } from '../io.ts'
import { requireSecret } from '../secret.ts'

interface SignFlags {
  readonly secret?: string
  readonly json?: boolean
}

/** Adds `evroute sign`. */
export const addSignCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('sign')
    .summary('sign raw bytes')
    .description('Prints the X-Signature of the exact bytes of a file or of stdin.')
    .argument('[file]', 'the body, - for stdin', '-')
    .option('--secret <value>', 'text, @file or env:NAME [EVROUTE_SECRET]')
    .option('--json', 'write a record instead of the bare value')
    .addHelpText('after', '\nExample:\n  evroute sign --secret s3cret < body.json')
  command.action(async (file: string) => {
    const flags = command.opts<SignFlags>()
    const secret = await requireSecret(flags.secret, io)
    const body = await readBody(file, io)
    if (body === undefined) {
      end(exitCodes.interrupted)
      return
    }
    const signature = signBody(body, secret)
    await writeData(
      io,
      flags.json === true ? recordLine({ kind: 'signature', signature }) : `${signature}\n`,
    )
    end(exitCodes.ok)
  })
}
