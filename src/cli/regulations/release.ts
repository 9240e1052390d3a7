import { EvrouteError, plainText } from '../../model/index.ts'
import { openDeliveryLog } from '../../store/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { storeUrlOf } from '../operations/open-readers.ts'
import type { ConfiguredPlace } from '../operations/operations-flags.ts'

/**
 * Releases an archive that no longer exists, so that regulations stop waiting for it.
 *
 * @throws EvrouteError `invalid_usage` for an unknown archive, or a store without archives
 */
export async function releaseArchive(
  name: string,
  place: ConfiguredPlace,
  io: Io,
): Promise<ExitCode> {
  const log = await openDeliveryLog(await storeUrlOf(place, io), { write: true })
  try {
    const isReleased = await log.sharedRegulations?.release({ name })
    if (isReleased !== true) throw noArchive(name)
  } finally {
    await log.close()
  }
  io.stderr.write(`No regulation waits for the archive ${plainText(name)} any more\n`)
  return exitCodes.ok
}

function noArchive(name: string): EvrouteError {
  return new EvrouteError({
    code: 'invalid_usage',
    message: `No regulation waits for an archive "${plainText(name)}"`,
    hint: 'Name it as `evroute regulations show <id>` does; only a store in PostgreSQL has archives of others.',
  })
}
