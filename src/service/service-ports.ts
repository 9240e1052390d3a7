import type { RequestListener } from 'node:http'
import { adminConnectionLimits, adminFaultAnswer } from '../admin-api/index.ts'
import { listen, TlsFiles, type ListenAddress, type Listening } from '../http/index.ts'
import { EvrouteError, type TlsPaths } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import { trackingFaultAnswer } from '../tracking-api/index.ts'

/** How each port answers malformed requests, and the limits of its connections. */
const portOptions = {
  listen: { answerFault: trackingFaultAnswer },
  admin: { answerFault: adminFaultAnswer, ...adminConnectionLimits },
}

/** Opens a port of a service. Throws `port_in_use`, `cannot_listen`, or `cannot_read_file` for a certificate. */
export async function listenFor(
  setting: 'listen' | 'admin',
  handler: RequestListener,
  {
    tls: paths,
    log,
    ...address
  }: ListenAddress & { readonly tls?: TlsPaths | undefined; readonly log: Log },
): Promise<Listening> {
  const tls = paths && (await TlsFiles.open(paths, log))
  try {
    return await listen(handler, address, { ...portOptions[setting], tls })
  } catch (error) {
    if (!(error instanceof EvrouteError) || error.code !== 'port_in_use') throw error
    const { code, message } = error
    const hint = `Set ${setting}.port to a different port, or to 0 for a free one.`
    throw new EvrouteError({ code, message, hint, cause: error })
  }
}
