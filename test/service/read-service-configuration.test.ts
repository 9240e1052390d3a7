import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { silentLog } from '../../src/runtime/index.ts'
import { ConfigurationError, readServiceConfiguration } from '../../src/service/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const document = {
  sources: [{ id: 'website', writeKeys: ['@key'] }],
  destinations: [
    {
      id: 'crm',
      type: 'Webhooks',
      sources: ['website'],
      endpoints: [{ url: 'https://crm.example.com/hook' }],
    },
  ],
}

/** Reads a configuration for which every name resolves to this address. */
function surroundings(address: string) {
  const resolveName = () => Promise.resolve([{ address, family: 4 }])
  return { env: {}, log: silentLog, resolveName }
}

/** A configuration in a file, with its write key in a file next to it. */
async function written(): Promise<string> {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'key'), 'wk_example')
  const path = join(folder, 'evroute.config.json')
  await writeFile(path, JSON.stringify(document))
  return path
}

describe('the configuration of a service', () => {
  test('is read with the files it refers to', async () => {
    const outcome = await readServiceConfiguration(await written(), surroundings('93.184.215.14'))
    expect(outcome.configuration.sources).toMatchObject([{ writeKeys: ['wk_example'] }])
  })

  test("is refused before anything listens if a port's certificate is unusable", async () => {
    const path = await written()
    const tls = { cert: 'cert.pem', key: 'key.pem' }
    await writeFile(path, JSON.stringify({ ...document, listen: { tls } }))
    const refused = readServiceConfiguration(path, surroundings('93.184.215.14'))
    await expect(refused).rejects.toMatchObject({
      code: 'cannot_read_file',
      message: `listen.tls: Cannot use ${join(dirname(path), 'cert.pem')}: it is missing or empty`,
    })
  })

  test('is refused if a certificate for an endpoint is unusable', async () => {
    const [destination] = document.destinations
    const endpoints = [{ url: 'https://crm.example.com/hook', tls: { ca: '/missing/ca.pem' } }]
    const given = {
      sources: [{ id: 'website', writeKeys: ['wk_example'] }],
      destinations: [{ ...destination, endpoints }],
    }
    const refused = readServiceConfiguration(given, surroundings('93.184.215.14'))
    await expect(refused).rejects.toMatchObject({
      code: 'cannot_read_file',
      message:
        'destinations[0].endpoints[0].tls: Cannot use /missing/ca.pem: it is missing or empty',
    })
  })

  test('is refused if a name resolves to an address that is not public', async () => {
    const path = await written()
    const refused = readServiceConfiguration(path, surroundings('10.0.0.5'))
    await expect(refused).rejects.toBeInstanceOf(ConfigurationError)
    await expect(refused).rejects.toMatchObject({
      summary: `Cannot use ${path}: 1 setting is wrong`,
      problems: [{ path: 'destinations[0].endpoints[0].url' }],
    })
  })

  test('may be an object, with paths relative to the working directory', async () => {
    const refused = readServiceConfiguration(document, surroundings('93.184.215.14'))
    await expect(refused).rejects.toMatchObject({
      summary: 'Cannot use the configuration: 1 setting is wrong',
      problems: [
        {
          path: 'sources[0].writeKeys[0]',
          message: 'Cannot read the file key: there is no such file',
        },
      ],
    })
  })
})
