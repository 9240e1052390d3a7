import { readServiceConfiguration, Service } from '../../src/service/index.ts'
import { Receiver } from '../../src/receiver/index.ts'
import { createRuntime, ManualClock, silentLog, systemClock } from '../../src/runtime/index.ts'

const minuteMs = 60_000
const minutes = 40
const writeKey = 'wk_example'

/**
 * Starts the service of a fictional shop, with 40 minutes of traffic: one endpoint accepts every webhook, the other
 * has answered 503 for the last two minutes.
 */
export async function openShop(): Promise<AsyncDisposable & Pick<Service, 'signInLink'>> {
  const crm = new Receiver()
  const mail = new Receiver()
  const clock = new ManualClock(systemClock.nowMs() - minutes * minuteMs)
  const destination = async (id: string, receiver: Receiver): Promise<object> => ({
    id,
    type: 'Webhooks',
    sources: ['website'],
    endpoints: [{ url: (await receiver.start()).url }],
  })
  const { configuration } = await readServiceConfiguration(
    {
      listen: { port: 0 },
      admin: { port: 0, token: 'not-a-real-token' },
      store: 'memory:',
      network: { allow: ['127.0.0.0/8'] },
      sources: [{ id: 'website', writeKeys: [writeKey] }],
      destinations: [await destination('crm', crm), await destination('mail', mail)],
    },
    { env: {}, log: silentLog },
  )
  const service = await Service.start({
    configuration,
    runtime: createRuntime({ clock, log: silentLog }),
  })
  const { url } = service.address
  for (let minute = 0; minute < minutes; minute += 1) {
    if (minute === minutes - 2) mail.respond(503)
    const batch = Array.from({ length: 12 + Math.round(8 * Math.sin(minute / 5)) }, (_, index) => ({
      type: 'track',
      userId: `u_${index + 1}`,
      event: 'Order Completed',
      messageId: `order-${minute}-${index}`,
      properties: { total: 39.95, currency: 'EUR' },
    }))
    const headers = { 'x-write-key': writeKey }
    const answer = await fetch(`${url}/v1/batch`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ batch }),
    })
    await answer.arrayBuffer()
    while (service.work.requests > 0) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(minuteMs)
  }
  return {
    signInLink: () => service.signInLink(),
    [Symbol.asyncDispose]: async () => {
      await service.close()
      await Promise.all([crm.close(), mail.close()])
    },
  }
}
