import { recordLine } from '../../model/index.ts'
import type { Diagnosis } from '../../receiver/index.ts'
import { signBody, checkSignature, type SignatureCheck } from '../../webhook/index.ts'
import { command, flag, option } from '../command.ts'
import { exitCodes } from '../exit-code.ts'
import { languageNames, handlerIn } from '../flags.ts'
import { readBody } from '../input.ts'
import { writeData } from '../io.ts'
import { styleOf, type Style } from '../output/style.ts'
import { requireSecret, readOtherSecrets } from '../secret.ts'

const secretOption = option('--secret <value>', 'text, @file or env:NAME [EVROUTE_SECRET]')

/** Adds `evroute sign`. */
export const addSignCommand = command({
  name: 'sign',
  summary: 'sign raw bytes',
  description: 'Prints the X-Signature of the exact bytes of a file or of stdin.',
  arguments: [['[file]', 'the body, - for stdin', '-']],
  options: {
    secret: secretOption,
    json: flag('--json', 'write a JSON record, not only the signature'),
  },
  after: `Example:
  evroute sign --secret s3cret < body.json

Exit codes: 0 signed; 2 usage; 7 a file cannot be read; 130 interrupted.`,
  run: async ({ secret: given, json }, { io }, [file]: [string]) => {
    const secret = await requireSecret(given, io)
    const body = await readBody(file, io)
    const signature = signBody(body, secret)
    await writeData(io, json ? recordLine({ kind: 'signature', signature }) : `${signature}\n`)
    return exitCodes.ok
  },
})

const verdicts: Readonly<Record<SignatureCheck, string>> = {
  valid: 'valid',
  missing: 'invalid: the signature is empty',
  malformed: 'invalid: a signature must be 40 lowercase hexadecimal digits',
  mismatch:
    'invalid: these bytes were signed with a different secret, or different bytes were signed',
}

/** Adds `evroute verify`. */
export const addVerifyCommand = command({
  name: 'verify',
  summary: 'verify the signature of raw bytes',
  description: 'Checks an X-Signature against the exact bytes of a file or of stdin.',
  arguments: [['[file]', 'the body as it was received, - for stdin', '-']],
  options: {
    signature: option('--signature <hex>', 'the value of X-Signature').needed(),
    secret: secretOption,
    config: option('--config <file>', "try the secrets of a service's destinations too"),
    language: option('--language <name>', 'if invalid, print a correct handler in this language'),
    json: flag('--json', 'write a JSON record instead of text'),
    verbose: flag('-v, --verbose', 'if it is invalid, print a handler for express'),
    color: flag('--no-color', 'print without colours'),
  },
  after: `Examples:
  evroute verify --secret s3cret --signature 3f9a... < body.json
  evroute verify --secret @key --signature 3f9a... --language python body.json

If a known mistake explains an invalid signature, evroute names it and its fix.
Languages: ${languageNames}.

Exit codes: 0 valid; 2 usage; 6 invalid; 7 a file cannot be read.`,
  run: async (values, { io }, [file]: [string]) => {
    const { signature, config, verbose, json, color } = values
    const language = values.language ?? (verbose ? 'express' : undefined)
    const handler = language === undefined ? '' : `\n${await handlerIn(language)}`
    const secret = await requireSecret(values.secret, io)
    const otherSecrets = await readOtherSecrets(config, io)
    const body = await readBody(file, io)
    const check = checkSignature(body, signature, secret)
    const valid = check === 'valid'
    const suspect = { body, signature, secret, otherSecrets }
    // Import here: a valid signature needs no diagnosis.
    const diagnosis = valid
      ? null
      : ((await import('../../receiver/index.ts')).diagnose(suspect) ?? null)
    const reason = valid ? null : check
    const record = recordLine({ kind: 'verification', valid, reason, diagnosis })
    await writeData(io, json ? record : `${verdicts[check]}\n`)
    if (valid) return exitCodes.ok
    const style = styleOf(io, 'stderr', color)
    if (!json && (diagnosis !== null || check === 'mismatch')) {
      io.stderr.write(diagnosisText(diagnosis, style))
    }
    io.stderr.write(handler)
    return exitCodes.badSignature
  },
})

function diagnosisText(diagnosis: Diagnosis | null, style: Style): string {
  if (diagnosis === null) {
    return 'No known mistake explains the mismatch. Compare the secret and the bytes on both sides.\n'
  }
  return `${style.strong(diagnosis.message)}\nFix: ${diagnosis.fix}\n`
}
