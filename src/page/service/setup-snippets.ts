export interface SetupSnippet {
  readonly language: string
  readonly text: string
}

/** Makes sample code that sends calls to the service with the write key of a source. */
export function setupSnippets(url: string, writeKey: string): readonly SetupSnippet[] {
  const [endpoint, key] = [`'${url}'`, `'${writeKey}'`]
  return [
    {
      language: 'Browser',
      text: `import { AnalyticsBrowser } from '@segment/analytics-next'

const analytics = AnalyticsBrowser.load({ writeKey: ${key}, cdnURL: ${endpoint} })
await analytics.track('Order Completed', { revenue: 39.95 })`,
    },
    {
      language: 'Node.js',
      text: `import { Analytics } from '@segment/analytics-node'

const analytics = new Analytics({ writeKey: ${key}, host: ${endpoint} })
analytics.track({ userId: 'u_1', event: 'Order Completed', properties: { revenue: 39.95 } })
await analytics.closeAndFlush()`,
    },
    {
      language: 'Python',
      text: `import segment.analytics as analytics

analytics.write_key = ${key}
analytics.host = ${endpoint}
analytics.track('u_1', 'Order Completed', {'revenue': 39.95})
analytics.flush()`,
    },
    {
      language: 'Go',
      text: `client, err := analytics.NewWithConfig("${writeKey}", analytics.Config{Endpoint: "${url}"})
if err != nil {
	log.Fatal(err)
}
defer client.Close()
client.Enqueue(analytics.Track{UserId: "u_1", Event: "Order Completed"})`,
    },
    {
      language: 'Ruby (https only)',
      text: `analytics = Segment::Analytics.new(write_key: ${key}, host: 'events.example.com')
analytics.track(user_id: 'u_1', event: 'Order Completed')
analytics.flush`,
    },
    {
      language: 'curl',
      text: `curl -u ${key}: ${endpoint.slice(0, -1)}/v1/track' \\
  -H 'content-type: application/json' \\
  -d '{"userId":"u_1","event":"Order Completed","properties":{"revenue":39.95}}'`,
    },
  ]
}
