import { SettingError } from '../model/index.ts'
import { createRuntime, type Runtime } from '../runtime/index.ts'
import { writeKeys } from './configuration/index.ts'
import { readServiceConfiguration } from './read-service-configuration.ts'
import { Service } from './service.ts'

/** The endpoint and the keys of a local service for a test. */
export interface LocalServiceOptions {
  /** The URL of the only destination's only endpoint. It may be on this machine. */
  readonly url: string
  readonly secret: string
  readonly writeKey: string
  readonly runtime?: Runtime | undefined
}

/**
 * Starts a service with one source, one destination and an in-memory store, on a free port of this machine. Throws a
 * SettingError for an unusable write key.
 */
export async function startLocalService(options: LocalServiceOptions): Promise<Service> {
  const { url, secret, writeKey, runtime = createRuntime() } = options
  if (typeof writeKey !== 'string' || !writeKeys.pattern.test(writeKey)) {
    const message = `Cannot use this write key: it must be ${writeKeys.accepted}`
    throw new SettingError('writeKey', message)
  }
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
    // Pass secrets through `env`, because a secret may itself look like `env:NAME` or `@file`.
    { env: { WRITE_KEY: writeKey, SECRET: secret }, log: runtime.log },
  )
  return Service.start({ configuration, runtime })
}
