import { recordLine } from '../../model/index.ts'
import type { SignatureCheck } from '../../webhook/index.ts'
import type { AddCommand } from '../command.ts'
import { exitCodes } from '../exit-code.ts'
import { writeData } from '../io.ts'
import { readBody } from '../read-body.ts'
import { requireSecret } from '../secret.ts'

interface VerifyFlags {
  readonly secret?: string
  readonly signature: string
  readonly json?: boolean
}

const verdicts: Readonly<Record<SignatureCheck, string>> = {
  valid: 'valid',
  missing: 'invalid: the signature is empty',
  malformed: 'invalid: a signature is 40 lower-case hexadecimal digits',
  mismatch: 'invalid: these bytes were signed with another secret, or other bytes were signed',
}

/** Adds `evroute verify`. */
export const addVerifyCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('verify')
    .summary('verify the signature of raw bytes')
    .description('Says whether X-Signature fits the exact bytes of a file or of stdin; 6 if not.')
    .argument('[file]', 'the body as it was received, - for stdin', '-')
    .option('--secret <value>', 'the shared secret; also @file, env:NAME or EVROUTE_SECRET')
    .requiredOption('--signature <hex>', 'the value of X-Signature')
    .option('--json', 'a record instead of words')
    .addHelpText(
      'after',
      '\nExample:\n  evroute verify --secret s3cret --signature 3f9a... < body.json',
    )
  command.action(async (file: string) => {
    const flags = command.opts<VerifyFlags>()
    const secret = await requireSecret(flags.secret, io)
    const body = await readBody(file, io)
    if (body === undefined) {
      end(exitCodes.interrupted)
      return
    }
    const { checkSignature } = await import('../../webhook/index.ts')
    const check = checkSignature(body, flags.signature, secret)
    const record = {
      kind: 'verification',
      valid: check === 'valid',
      reason: check === 'valid' ? null : check,
    }
    await writeData(io, flags.json === true ? recordLine(record) : `${verdicts[check]}\n`)
    end(check === 'valid' ? exitCodes.ok : exitCodes.badSignature)
  })
}
