import { createRuntime, type Runtime } from '../runtime/index.ts'
import { readServiceConfiguration } from './read-service-configuration.ts'
import { Service } from './service.ts'

/** Where a service on this machine sends what it is given, for a test. */
export interface LocalServiceOptions {
  /** The endpoint of its only destination, which may be on this machine. */
  readonly url: string
  /** Signs its webhooks. */
  readonly secret: string
  /** Identifies its only source. */
  readonly writeKey: string
  /** Clock, randomness, ids, log and observer; those of production by default. */
  readonly runtime?: Runtime | undefined
}

/**
 * Starts a service on a free port of this machine that keeps nothing: one source, one destination.
 *
 * @throws ConfigurationError where the secret or the write key cannot be used; EvrouteError
 * `cannot_listen`
 */
export async function startLocalService(options: LocalServiceOptions): Promise<Service> {
  const { url, secret, writeKey, runtime = createRuntime() } = options
  const { configuration } = await readServiceConfiguration(
    {
      listen: { port: 0 },
      store: 'memory:',
      network: { allow: ['127.0.0.0/8', '::1/128'] },
      sources: [{ id: 'application', writeKeys: ['env:WRITE_KEY'] }],
      destinations: [
        {
          id: 'receiver',
          type: 'Webhooks',
          sources: ['application'],
          endpoints: [{ url }],
          sharedSecret: 'env:SECRET',
        },
      ],
    },
    // By name, so that a secret that looks like a reference is none.
    { env: { WRITE_KEY: writeKey, SECRET: secret }, log: runtime.log },
  )
  return Service.start({ configuration, runtime })
}
