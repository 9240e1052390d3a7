import type { LookupAddress } from 'node:dns'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/runtime/index.ts'
import { checkEndpointNames } from '../../src/service/index.ts'
import { gate } from '../support/gate.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'
import { configurationOf } from './running-service.ts'

const noSuchName = Object.assign(new Error('not found'), { code: 'ENOTFOUND' })

function resolveName(name: string): Promise<readonly LookupAddress[]> {
  const addresses: Readonly<Record<string, string>> = {
    'public.example.com': '93.184.215.14',
    'private.example.com': '10.0.0.5',
  }
  const address = addresses[name]
  return address === undefined
    ? Promise.reject(noSuchName)
    : Promise.resolve([{ address, family: 4 }])
}

/** Makes a configuration with a destination for each list of host names. */
function configured(hosts: readonly (readonly string[])[], changes: object = {}) {
  const destinations = hosts.map((names, index) => ({
    id: `crm_${index}`,
    type: 'Webhooks',
    sources: ['website'],
    endpoints: names.map((name) => ({ url: `https://${name}/hook` })),
    ...changes,
  }))
  const sources = [{ id: 'website', writeKeys: ['wk_example'] }]
  return configurationOf({ sources, destinations }, '/srv/evroute')
}

describe('the host names of endpoints', () => {
  test('are reported as problems if they resolve to a refused address', async () => {
    const { runtime, warnings } = recordingRuntime(new ManualClock(startMs))
    const configuration = await configured([
      ['public.example.com'],
      ['public.example.com', 'private.example.com'],
    ])
    const problems = await checkEndpointNames(configuration, { log: runtime.log, resolveName })
    expect(problems).toEqual([
      {
        path: 'destinations[1].endpoints[1].url',
        message: expect.stringMatching(/10\.0\.0\.5 is .*network\.allow/) as string,
        hint: undefined,
      },
    ])
    expect(warnings).toEqual([])
  })

  test('are only logged if they have no address', async () => {
    const { runtime, warnings } = recordingRuntime(new ManualClock(startMs))
    const configuration = await configured([['missing.example.com']])
    expect(await checkEndpointNames(configuration, { log: runtime.log, resolveName })).toEqual([])
    expect(warnings).toMatchObject([
      {
        setting: 'destinations[0].endpoints[0].url',
        reason: expect.stringContaining('Cannot resolve missing.example.com: ENOTFOUND') as string,
      },
    ])
  })

  test('are not resolved for a disabled destination', async () => {
    const { runtime } = recordingRuntime(new ManualClock(startMs))
    const configuration = await configured([['private.example.com']], { enabled: false })
    expect(await checkEndpointNames(configuration, { log: runtime.log, resolveName })).toEqual([])
  })

  test('are not resolved if a proxy does that', async () => {
    const { runtime, warnings } = recordingRuntime(new ManualClock(startMs))
    const { network, ...others } = await configured([
      ['private.example.com', 'missing.example.com'],
    ])
    const behind = { ...others, network: { ...network, proxy: 'http://proxy.example.com:3128' } }
    expect(await checkEndpointNames(behind, { log: runtime.log, resolveName })).toEqual([])
    expect(warnings).toEqual([])
  })

  test('do not delay the start if the resolver is slow; its result is logged', async () => {
    const { opened, open } = gate()
    const { runtime, warnings } = recordingRuntime(new ManualClock(startMs))
    const configuration = await configured([['private.example.com']])
    const slow = async (name: string) => {
      await opened
      return resolveName(name)
    }
    const options = { log: runtime.log, resolveName: slow }
    expect(await checkEndpointNames(configuration, options)).toEqual([])
    open()
    await expect
      .poll(() => warnings)
      .toMatchObject([{ setting: 'destinations[0].endpoints[0].url' }])
  })
})
