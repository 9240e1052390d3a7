import { run, type Finished, type RunSettings } from '../../support/io.ts'

/** Signs a webhook as a sender does, and sends it to the URL in the environment. */
export const sendSigned = `
  const { createHmac } = await import('node:crypto')
  const send = (webhook) => {
    const body = JSON.stringify({ type: 'track', userId: 'u_1', ...webhook })
    const signature = createHmac('sha1', process.env.EVROUTE_SECRET).update(body).digest('hex')
    const headers = { 'x-signature': signature }
    return fetch(process.env.EVROUTE_URL, { method: 'POST', body, headers })
  }
`

/** The arguments that run a module of Node after these flags. */
export function argvOf(flags: readonly string[], program: string): readonly string[] {
  return ['run', ...flags, '--', process.execPath, '--input-type=module', '-e', program]
}

/** Runs a module of Node to its end. */
export function runModule(
  flags: readonly string[],
  program: string,
  settings: RunSettings = {},
): Promise<Finished> {
  return run(argvOf(flags, program), settings)
}
