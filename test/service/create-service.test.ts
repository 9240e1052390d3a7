import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  ConfigurationError,
  createService,
  type CreateServiceOptions,
  type ServiceConfiguration,
} from '../../src/service/library.ts'
import { systemClock } from '../../src/runtime/index.ts'
import { dropTable } from '../support/drop-table.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { recordingRuntime } from '../support/recording-runtime.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { sendRequest, documentFor, token } from './running-service.ts'

const smallest: ServiceConfiguration = {
  store: 'memory:',
  sources: [{ id: 'website', writeKeys: ['wk_example'] }],
}

async function start(options: CreateServiceOptions) {
  const service = await createService(options)
  onTestFinished(() => service.close())
  return service
}

function track(url: string) {
  return sendRequest(`${url}/v1/track`, {
    headers: { 'x-write-key': 'wk_example' },
    body: { userId: 'u_1', event: 'Order Completed' },
  })
}

describe('createService', () => {
  test('starts a service from an object on a free port, until it is closed', async () => {
    const endpoint = await TestEndpoint.start()
    const endpoints = [{ url: endpoint.url }]
    const service = await start({
      configuration: {
        ...smallest,
        network: { allow: ['127.0.0.0/8'] },
        destinations: [{ id: 'crm', type: 'Webhooks', sources: ['website'], endpoints }],
      },
    })
    const { url, port, admin } = service.address
    expect(port).not.toBe(4_000)
    expect(admin).toBeNull()
    expect(await track(url)).toMatchObject({ status: 200 })
    await endpoint.received(1)
    await service.close()
    await expect(track(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('refuses a misspelt option', async () => {
    const options = { config: smallest } as unknown as CreateServiceOptions
    await expect(createService(options)).rejects.toMatchObject({ setting: 'config' })
  })

  test('reads secrets of an object from the given environment', async () => {
    const configuration = { ...smallest, admin: { token: 'env:ADMIN_TOKEN' } }
    const { address } = await start({ configuration, env: { ADMIN_TOKEN: token } })
    const headers = { authorization: `Bearer ${token}` }
    expect(await sendRequest(`${address.admin ?? ''}/v1/ledger`, { headers })).toMatchObject({
      status: 200,
    })
    // The variables of the process are not read unless they are passed in.
    const found = { ...smallest, admin: { token: 'env:VITEST' } }
    await expect(createService({ configuration: found })).rejects.toMatchObject({
      problems: [
        {
          path: 'admin.token',
          message: 'Cannot read the environment variable VITEST: no environment is given',
          hint: 'Pass the option `env: process.env`, or write a value or @file instead.',
        },
      ],
    })
  })

  test.each<[string, ServiceConfiguration]>([
    ['left out', smallest],
    ['undefined', { ...smallest, listen: { port: undefined }, admin: { port: undefined, token } }],
  ])('listens on free ports if they are %s', async (_name, configuration) => {
    const other = await start({ configuration })
    const { address } = await start({ configuration })
    expect(address.port).not.toBe(other.address.port)
    expect(address.port).not.toBe(4_000)
  })

  test('accepts the type that TypeScript infers for an imported JSON file', async () => {
    const imported = {
      $schema: './evroute.config.schema.json',
      store: 'memory:',
      network: { allow: ['192.0.2.0/24'] },
      sources: [{ id: 'website', writeKeys: ['wk_example'] }],
      destinations: [
        {
          id: 'crm',
          type: 'Webhooks',
          sources: ['website'],
          aliasKeys: 'camel',
          endpoints: [
            { url: 'https://192.0.2.1/', headers: { 'X-Team': 'growth' } },
            { url: 'https://192.0.2.2/', headers: { 'X-Tier': 'gold' } },
          ],
        },
      ],
    }
    const { address } = await start({ configuration: imported })
    expect(address.admin).toBeNull()
  })

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'Cannot be left out: it must be an object'],
    ['null', null, 'Cannot use null: it must be an object'],
    [
      'a number that JSON cannot represent',
      { limits: { backlogMax: 1n } },
      'Cannot write the configuration as JSON',
    ],
  ])('refuses %s like any other configuration', async (_name, configuration, message) => {
    const refused = createService({ configuration } as CreateServiceOptions)
    await expect(refused).rejects.toBeInstanceOf(ConfigurationError)
    await expect(refused).rejects.toThrow(message)
    await expect(refused).rejects.toThrow(/^Cannot use the configuration: 1 setting is wrong\n/)
  })

  test('starts a service from a file', async () => {
    const endpoint = await TestEndpoint.start()
    const path = join(await temporaryFolder(), 'evroute.config.json')
    await writeFile(path, JSON.stringify(documentFor(endpoint)))
    await using service = await createService({ configuration: path })
    expect(await track(service.address.url)).toMatchObject({ status: 200 })
    await endpoint.received(1)
  })

  test('reports every problem of a configuration', async () => {
    const wrong = { ...smallest, sources: [], limits: { backlogMax: 0 } }
    const refused = createService({ configuration: wrong })
    await expect(refused).rejects.toBeInstanceOf(ConfigurationError)
    await expect(refused).rejects.toMatchObject({
      code: 'invalid_setting',
      problems: [{ path: 'limits.backlogMax' }, { path: 'sources' }],
    })
    await expect(createService({ configuration: './nowhere.json' })).rejects.toMatchObject({
      code: 'cannot_read_file',
      hint: expect.not.stringContaining('--config') as string,
    })
  })

  test('reports why a service cannot start', async () => {
    const endpoint = await TestEndpoint.start(404)
    const file = join(await temporaryFolder(), 'store.db')
    const failures: unknown[] = []
    const { address } = await start({
      configuration: documentFor(endpoint, { store: `sqlite:${file}` }) as ServiceConfiguration,
      runtime: recordingRuntime(systemClock).runtime,
      onFailure: (error) => failures.push(error),
    })
    await dropTable(file, 'requests')
    await track(address.url)
    await expect.poll(() => failures).toMatchObject([{ code: 'store_unusable' }])
  })
})
