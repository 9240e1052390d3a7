import { describe, expect, test } from 'vitest'
import { changesBetween } from '../../../src/service/index.ts'
import { documentWith, readValid, type GivenSettings } from './read-document.ts'

async function changes(before: object, after: object): Promise<readonly string[]> {
  const [old, young] = await Promise.all([readValid(before), readValid(after)])
  return changesBetween(old.configuration, young.configuration).map(
    ({ setting, kind, effect }) => `${setting} ${kind} ${effect}`,
  )
}

const admin = { token: 'not-a-real-token', port: 1 }

describe('changesBetween', () => {
  test.each<[GivenSettings, GivenSettings, readonly string[]]>([
    [{}, {}, []],
    [{}, { listen: { port: 1 } }, ['listen.port changed after_restart']],
    [{}, { tracing: true }, ['tracing changed after_restart']],
    [{}, { senderThreads: 1 }, ['senderThreads changed after_restart']],
    [{}, { listen: { host: '::1' } }, ['listen.host changed after_restart']],
    [{}, { listen: { trustedProxies: 1 } }, ['listen.trustedProxies changed after_restart']],
    [{}, { admin }, ['admin added after_restart']],
    [{ admin }, {}, ['admin removed after_restart']],
    [{ admin }, { admin: { ...admin, port: 2 } }, ['admin.port changed after_restart']],
    [{ admin }, { admin: { ...admin, host: '0.0.0.0' } }, ['admin.host changed after_restart']],
    [
      { admin },
      { admin: { ...admin, metricsToken: 'metrics-token-no-secret' } },
      ['admin.metricsToken changed at_once'],
    ],
    [
      { admin },
      { admin: { ...admin, token: 'another-token-no-secret' } },
      ['admin.token changed at_once'],
    ],
    [{}, { store: 'memory:' }, ['store changed after_restart']],
    [{}, { network: { allow: ['10.0.0.1'] } }, ['network.allow changed at_once']],
    [{}, { retention: { failed: '1d' } }, ['retention.failed changed at_once']],
    [{}, { limits: { backlogMax: 1 } }, ['destinations.crm.backlogMax changed at_once']],
    [{}, { limits: { eventsPerSecond: 1 } }, ['sources.website.eventsPerSecond changed at_once']],
    [{}, { source: { writeKeys: ['wk_new'] } }, ['sources.website.writeKeys changed at_once']],
    [{}, { source: { archive: { directory: 'a' } } }, ['sources.website.archive changed at_once']],
    [
      { destination: { sharedSecret: 'old-no-secret' } },
      { destination: { sharedSecret: 'new-no-secret', enabled: false, retryFor: '1h' } },
      [
        'destinations.crm.enabled changed at_once',
        'destinations.crm.sharedSecret changed at_once',
        'destinations.crm.retryFor changed at_once',
      ],
    ],
  ])('from %j to %j', async (before, after, expected) => {
    expect(await changes(documentWith(before), documentWith(after))).toEqual(expected)
  })

  test('compares by id: a renamed destination counts as removed and added', async () => {
    const after = documentWith({ destination: { id: 'mail' } })
    expect(await changes(documentWith({}), after)).toEqual([
      'destinations.crm removed at_once',
      'destinations.mail added at_once',
    ])
  })

  test('ignores the order of sources', async () => {
    const [a, b] = ['a', 'b'].map((id) => ({ id, writeKeys: [id] }))
    expect(await changes({ sources: [a, b] }, { sources: [b, a] })).toEqual([])
  })
})
