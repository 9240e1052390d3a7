import { recordLine } from '../../model/index.ts'
import type { Diagnosis } from '../../receiver/index.ts'
import { signBody, checkSignature, type SignatureCheck } from '../../webhook/index.ts'
import { exitCodes } from '../exit-code.ts'
import { languageNames, readLanguage } from '../flags.ts'
import { readBody } from '../input.ts'
import { writeData, type AddCommand, type Io } from '../io.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { requireSecret, readOtherSecrets } from '../secret.ts'

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

interface VerifyFlags {
  readonly secret?: string
  readonly signature: string
  readonly config?: string
  readonly language?: string
  readonly json?: boolean
  readonly verbose?: boolean
  readonly color: boolean
}

const verdicts: Readonly<Record<SignatureCheck, string>> = {
  valid: 'valid',
  missing: 'invalid: the signature is empty',
  malformed: 'invalid: a signature is 40 lower-case hexadecimal digits',
  mismatch: 'invalid: these bytes were signed with another secret, or other bytes were signed',
}

const examples = `
Examples:
  evroute verify --secret s3cret --signature 3f9a... < body.json
  evroute verify --secret @key --signature 3f9a... --language python body.json

If a known mistake explains an invalid signature, it is named with its fix.
Languages: ${languageNames}.

Exit codes: 0 valid, 2 usage, 6 invalid, 7 a file cannot be read.`

/** Adds `evroute verify`. */
export const addVerifyCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('verify')
    .summary('verify the signature of raw bytes')
    .description('Checks an X-Signature against the exact bytes of a file or of stdin.')
    .argument('[file]', 'the body as it was received, - for stdin', '-')
    .requiredOption('--signature <hex>', 'the value of X-Signature')
    .option('--secret <value>', 'text, @file or env:NAME [EVROUTE_SECRET]')
    .option('--config <file>', "try the secrets of a service's destinations too")
    .option('--language <name>', 'if invalid, print a correct handler in this language')
    .option('--json', 'write a record instead of words')
    .option('-v, --verbose', 'if it is invalid, print a handler for express')
    .option('--no-color', 'use no colours')
    .addHelpText('after', examples)
  command.action(async (file: string) => {
    const flags = command.opts<VerifyFlags>()
    const { verbose } = flags
    const language = await readLanguage(
      flags.language ?? (verbose === true ? 'express' : undefined),
    )
    const secret = await requireSecret(flags.secret, io)
    const otherSecrets = await readOtherSecrets(flags.config, io)
    const body = await readBody(file, io)
    if (body === undefined) {
      end(exitCodes.interrupted)
      return
    }
    const { signature, json = false, color } = flags
    const check = checkSignature(body, signature, secret)
    if (check === 'valid') {
      await writeVerdict({ check, diagnosis: null, json }, io)
      end(exitCodes.ok)
      return
    }
    const { diagnose, snippets } = await import('../../receiver/index.ts')
    const diagnosis = diagnose({ body, signature, secret, otherSecrets }) ?? null
    await writeVerdict({ check, diagnosis, json }, io)
    const style = await createStyle(wantsColor(io, io.stderr, color))
    if (!json && check !== 'missing') io.stderr.write(diagnosisText(diagnosis, style))
    if (language !== undefined) io.stderr.write(`\n${snippets[language]}`)
    end(exitCodes.badSignature)
  })
}

interface Verdict {
  readonly check: SignatureCheck
  readonly diagnosis: Diagnosis | null
  readonly json: boolean
}

async function writeVerdict({ check, diagnosis, json }: Verdict, io: Io): Promise<void> {
  const valid = check === 'valid'
  const reason = valid ? null : check
  const record = (): string => recordLine({ kind: 'verification', valid, reason, diagnosis })
  await writeData(io, json ? record() : `${verdicts[check]}\n`)
}

function diagnosisText(diagnosis: Diagnosis | null, style: Style): string {
  if (diagnosis === null) {
    return 'No known mistake explains it. Compare secret and bytes on both sides.\n'
  }
  return `${style.strong(diagnosis.message)}\nFix: ${diagnosis.fix}\n`
}
