import { z } from 'zod'
import { limits, parseDuration, parseRate, parseUrl, rateForms } from '../../model/index.ts'

/** Sets the error message to what a setting accepts. `checkDocument` adds the given value. */
const accepts = (accepted: string) => ({ error: () => accepted })

/** An example value for a setting without a default, for editors and `init --full`. */
const example = (value: unknown) => ({ examples: [value] })

/** A section of settings. The message of an unknown key lists the known keys. */
function section<Shape extends z.core.$ZodLooseShape>(shape: Shape, given?: string) {
  const keys = Object.keys(shape)
  const accepted = given ?? `an object with ${keys.map((key) => `"${key}"`).join(', ')}`
  return z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? keys.join(', ') : accepted),
  })
}

function wholeNumber(min: number, max: number, text = `a whole number from ${min} to ${max}`) {
  const accepted = accepts(text)
  return z.int(accepted).min(min, accepted).max(max, accepted)
}

function pattern(expression: RegExp, accepted: string) {
  return z.string(accepts(accepted)).regex(expression, accepts(accepted))
}

function duration(min: string, max: string) {
  const accepted = `a duration such as 90s, 4h or 30d, from ${min} to ${max}`
  return pattern(/^\d+(\.\d+)?(ms|s|m|h|d)$/, accepted).refine((text) => {
    const durationMs = parseDuration(text) ?? NaN
    return durationMs >= (parseDuration(min) ?? NaN) && durationMs <= (parseDuration(max) ?? NaN)
  }, accepts(accepted))
}

function list<Element extends z.core.$ZodType>(
  element: Element,
  { accepted, min = 0, max = Infinity }: { accepted: string; min?: number; max?: number },
) {
  const any = z.array(element, accepts(accepted)).min(min, accepts(accepted))
  return max === Infinity ? any : any.max(max, accepts(accepted))
}

function orNull<Setting extends z.ZodType>(setting: Setting) {
  return setting.nullable().default(null)
}

/** A text that the file may also give as `env:NAME` or `@file`. The check applies to the resolved text. */
function secret(isAccepted: (text: string) => boolean, accepted: string) {
  return z.string(accepts(accepted)).refine(isAccepted, accepts(accepted))
}

const secretForms = 'given as a value, env:NAME or @file'
const flag = () => z.boolean(accepts('true or false'))

const id = () =>
  pattern(
    /^[A-Za-z0-9][\w.-]{0,63}$/,
    '1 to 64 letters, digits, "." "_" and "-", beginning with a letter or digit',
  )

/** Which write keys a source can have. */
export const writeKeys = {
  pattern: /^[\x21-\x39\x3b-\x7e]{1,200}$/,
  accepted: '1 to 200 printable characters without spaces or colons',
} as const

const writeKey = () =>
  secret((text) => writeKeys.pattern.test(text), `${writeKeys.accepted}, ${secretForms}`)

const retentionTime = () => duration('1m', '3650d')
const backlog = () => wholeNumber(1, 1_000_000_000)
const rate = () => orNull(wholeNumber(1, 1_000_000))

/** Accepts any text that is not empty. A text after `whsec_` must be the base64 of 24 to 64 bytes. */
function isSigningSecret(text: string): boolean {
  if (!text.startsWith('whsec_')) return text !== ''
  const base64 = text.slice('whsec_'.length)
  const bytes = Buffer.from(base64, 'base64')
  return bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === base64
}

const bearerToken = () =>
  secret(
    (text) => /^[\w.~+/-]+=*$/.test(text),
    `a bearer token of letters, digits and . _ ~ + / -, ${secretForms}`,
  )

const host = () =>
  pattern(/^\S+$/, 'an address or name of this machine, such as 127.0.0.1').default('127.0.0.1')

/** Checks only the form. `checkReferences` checks the details of a PostgreSQL URL. */
function isStoreUrl(text: string): boolean {
  return /^(memory:|sqlite:(?!:memory:$|.*\/$).+)$/.test(text) || /^postgres(ql)?:\/\//i.test(text)
}

/** Accepts the URL of a proxy. Its credentials, if any, must be decodable. */
function isProxyUrl(text: string): boolean {
  const url = parseUrl(text)
  if (url === undefined || !/^https?:\/\/[^/]*\/$/.test(url.href)) return false
  try {
    decodeURIComponent(url.username + url.password)
    return true
  } catch {
    return false
  }
}

const signingSecret = () =>
  secret(isSigningSecret, `a string, or whsec_ and the base64 of 24 to 64 bytes, ${secretForms}`)

const source = section({
  id: id().describe('The id of the source, unique among all sources.'),
  writeKeys: list(writeKey(), { accepted: 'a list of at least one write key', min: 1 }).describe(
    'The keys that SDKs send; list several to rotate them. Each is a value, env:NAME or @file.',
  ),
  type: orNull(
    z.enum(['browser', 'mobile', 'server'], accepts('"browser", "mobile", "server" or null')),
  ).describe(
    'The kind of client. For "browser", the service fills in context.ip and context.userAgent from the request; for "mobile", only context.ip; for "server", neither. null detects browsers by their requests.',
  ),
  enabled: flag().default(true).describe('false refuses calls from this source with 403.'),
  eventsPerSecond: rate().describe(
    'Maximum events per second from the source; further calls get a 429. null uses limits.eventsPerSecond.',
  ),
  archive: orNull(
    section({
      directory: pattern(/./, 'a directory')
        .meta(example('./archive'))
        .describe('The folder of the archive, relative to this file.'),
    }),
  ).describe('Writes every accepted event to gzipped NDJSON files, by day; null for no archive.'),
})

const pemFile = (name: string) =>
  pattern(/./, 'the path of a PEM file').meta(example(`/etc/evroute/${name}`))

const endpoint = section({
  url: z
    .string(accepts(`a full http or https URL, ${secretForms}`))
    .describe(`The URL that receives webhooks: a full http or https URL, ${secretForms}.`),
  headers: z
    .record(
      z.string(),
      z.string(accepts(`a string, ${secretForms}`)),
      accepts('an object of strings'),
    )
    .default({})
    .describe('Headers to send with every webhook; each value is a string, env:NAME or @file.'),
  rate: pattern(/^\d+(\.\d+)?\/[smh]$/, rateForms)
    .refine((text) => parseRate(text) !== undefined, accepts(rateForms))
    .optional()
    .meta(example('50/s'))
    .describe('Maximum rate of requests, such as 50/s, 300/m or 1000/h; no limit by default.'),
  tls: section({
    cert: pemFile('client.crt')
      .optional()
      .describe('The client certificate that evroute presents to the endpoint.'),
    key: pemFile('client.key')
      .optional()
      .describe('The private key of the certificate, without a passphrase.'),
    ca: pemFile('ca.crt')
      .optional()
      .describe('Certificate authorities to trust for this endpoint, instead of the default ones.'),
  })
    .refine(
      ({ cert, key, ca }) =>
        (cert === undefined) === (key === undefined) && (cert ?? ca) !== undefined,
      accepts('an object with "cert" and "key", with "ca", or with all three'),
    )
    .optional()
    .describe('PEM files, relative to this file; reloaded when they change.'),
})

const clientError = () =>
  wholeNumber(400, 499, 'a status from 400 to 499: 5xx are retried anyway, redirects never')

const destination = section({
  id: id().describe('The id of the destination, unique among all destinations.'),
  type: z
    .literal('Webhooks', accepts('"Webhooks"'))
    .describe('The name by which calls select destinations in `integrations`.'),
  sources: list(id(), { accepted: 'a list of at least one source id', min: 1 }).describe(
    'The ids of the sources whose events go to this destination.',
  ),
  enabled: flag().default(true).describe('false sends nothing to this destination.'),
  endpoints: list(endpoint, {
    accepted: `a list of 1 to ${limits.endpointsMax} endpoints`,
    min: 1,
    max: limits.endpointsMax,
  }).describe(
    'Each event is sent to every endpoint, and counts as delivered when one endpoint accepts it.',
  ),
  sharedSecret: orNull(
    secret(
      (text) => text !== '',
      `a string that is not empty, ${secretForms}, or null to send without X-Signature`,
    ),
  ).describe(
    'The secret that signs every webhook in X-Signature: a value, env:NAME or @file; null for no signature.',
  ),
  standardWebhooks: z
    .union(
      [
        flag(),
        section({
          secrets: list(signingSecret(), { accepted: 'a list of 1 to 5 secrets', min: 1, max: 5 })
            .meta(example(['env:EVROUTE_SIGNING_SECRET']))
            .describe(
              'The secrets: whsec_ and the base64 of the key, or any other text, whose UTF-8 bytes are the key. Each adds a signature, so that secrets can be rotated.',
            ),
        }),
      ],
      accepts('true, false or an object with "secrets"'),
    )
    .default(false)
    .describe(
      'Adds the Standard Webhooks headers webhook-id, webhook-timestamp and webhook-signature. With true, they are signed with sharedSecret.',
    ),
  aliasKeys: z
    .enum(['spec', 'camel', 'both'], accepts('"spec", "camel" or "both"'))
    .default('spec')
    .describe(
      'How alias webhooks name the ids: "spec" writes "Previous ID" and "User ID", "camel" writes previousId and userId, "both" writes all four.',
    ),
  acceptsHistorical: flag()
    .default(true)
    .describe('false skips events that are more than a day old.'),
  filter: orNull(
    z.string(
      accepts('a match such as "type:track properties.revenue:>10", or null for every call'),
    ),
  ).describe(
    'Sends only calls that match, such as type:track properties.revenue:>10; null sends all.',
  ),
  concurrency: wholeNumber(1, 1_000)
    .default(10)
    .describe('Maximum requests in flight per endpoint.'),
  backlogMax: orNull(backlog()).describe(
    'Maximum pending deliveries; null uses limits.backlogMax.',
  ),
  retryFor: duration('0s', '30d')
    .default('4h')
    .describe('How long to retry a delivery after its first attempt, at most 30d.'),
  retryStatuses: list(clientError(), { accepted: 'a list of statuses from 400 to 499' })
    .default([])
    .describe(
      'Statuses from 400 to 499 that are retried like 5xx, in addition to 408, 425 and 429.',
    ),
})

const serverCertificate = (described: string) =>
  section({
    cert: pemFile('server.crt').describe(
      'The certificate, followed by its intermediate certificates.',
    ),
    key: pemFile('server.key').describe(
      'The private key of the certificate, without a passphrase.',
    ),
  })
    .optional()
    .describe(described)

/** The default ports of the tracking API and the admin API. */
export const defaultPorts = { listen: 4_000, admin: 4_001 } as const

/** The schema of a configuration file. It checks each setting by itself and fills in defaults. */
export const documentSchema = section(
  {
    $schema: z
      .string(accepts('a string'))
      .optional()
      .describe('Lets editors complete and check this file.'),
    listen: section({
      host: host().describe(
        'The address to listen on; 0.0.0.0 opens the tracking API to the network.',
      ),
      port: wholeNumber(0, 65_535)
        .default(defaultPorts.listen)
        .describe('The port to listen on; 0 for a free one.'),
      trustedProxies: wholeNumber(0, 10)
        .default(0)
        .describe(
          'Number of trusted proxies in front of the service; the client address is taken from the X-Forwarded-For header that they add.',
        ),
      tls: serverCertificate(
        'Serves https with these PEM files, relative to this file; reloaded when they change.',
      ),
      publicUrl: pattern(
        /^https?:\/\/[^/?#\s@]+(\/[^/?#\s]+)*$/,
        'a full http or https URL without a query or trailing slash',
      )
        .optional()
        .meta(example('https://events.example.com'))
        .describe(
          'The URL at which SDKs and browsers reach the service, such as the URL of a proxy.',
        ),
    })
      .prefault({})
      .describe('The tracking API, to which SDKs send calls. A change needs a restart.'),
    admin: orNull(
      section({
        host: host().describe(
          'The address to listen on; 0.0.0.0 opens the admin API to the network. A change needs a restart.',
        ),
        port: wholeNumber(0, 65_535)
          .default(defaultPorts.admin)
          .describe('The port to listen on; 0 for a free one. A change needs a restart.'),
        token: bearerToken().describe(
          'The bearer token that requests must carry: a value, env:NAME or @file.',
        ),
        metricsToken: orNull(bearerToken()).describe(
          'A separate bearer token that works for /metrics only.',
        ),
        tls: serverCertificate('Serves https, like listen.tls. A change needs a restart.'),
      }),
    ).describe('The admin API; null turns it off.'),
    store: secret(
      isStoreUrl,
      `memory:, sqlite:<file> such as sqlite:./evroute.db, or postgres://user:password@host:5432/database, ${secretForms}`,
    )
      .meta({ pattern: '^(memory:$|sqlite:(?!:memory:$|.*/$).+|postgres(ql)?://|env:.|@.)' })
      .default('sqlite:./evroute.db')
      .describe(
        'The store of deliveries: memory:, sqlite:<file> relative to this file, or postgres://user:password@host:5432/database; also env:NAME or @file. A change needs a restart.',
      ),
    tracing: orNull(z.boolean(accepts('true, false or null'))).describe(
      'true records spans with a loaded OpenTelemetry SDK, and passes the traceparent of a request on to its webhooks, even without an SDK. null does both only if an SDK is loaded; false does neither. A change needs a restart.',
    ),
    senderThreads: orNull(wholeNumber(0, 16)).describe(
      'Number of threads that sign and send webhooks; with 0, the main thread does. null means 1 on a machine with 4 cores or more, otherwise 0. A change needs a restart.',
    ),
    network: section({
      allow: list(z.string(accepts('an address, a range such as 10.0.0.0/8 or a host name')), {
        accepted: 'a list of addresses, ranges and host names',
      })
        .default([])
        .describe('Private and other non-public addresses to which webhooks may be sent.'),
      proxy: orNull(
        secret(
          isProxyUrl,
          `an http or https URL without a path, such as http://user:password@proxy.example.com:3128, ${secretForms}, or null`,
        ),
      ).describe(
        'The forward proxy through which webhooks are tunnelled (CONNECT), such as http://user:password@proxy.example.com:3128: a value, env:NAME or @file; null for none.',
      ),
    })
      .prefault({})
      .describe('Rules for connections to endpoints.'),
    retention: section({
      delivered: retentionTime().default('24h').describe('How long to keep delivered deliveries.'),
      failed: retentionTime()
        .default('30d')
        .describe('How long to keep failed and expired deliveries.'),
      untried: retentionTime()
        .default('30d')
        .describe('How long a delivery may wait for its first attempt before it expires.'),
      messageIds: retentionTime().default('24h').describe('How long to deduplicate by messageId.'),
    })
      .prefault({})
      .describe('How long the store keeps data.'),
    limits: section({
      backlogMax: backlog()
        .default(1_000_000)
        .describe('Maximum pending deliveries per destination; more fail, except manual retries.'),
      eventsPerSecond: rate().describe(
        'Maximum events per second from each source; null for no limit.',
      ),
    })
      .prefault({})
      .describe('Default limits for sources and destinations.'),
    sources: list(source, { accepted: 'a list of at least one source', min: 1 }).describe(
      'The websites, apps and servers that send calls.',
    ),
    destinations: list(destination, { accepted: 'a list of destinations' })
      .default([])
      .describe('The receivers of webhooks.'),
  },
  'an object with "sources" and "destinations"',
)

/** A configuration as it is written in a file. */
export type GivenDocument = z.input<typeof documentSchema>

/** A configuration with secrets and defaults filled in. */
export type ConfigurationDocument = z.output<typeof documentSchema>

/** A source as the file describes it, with defaults filled in. */
export type SourceDocument = ConfigurationDocument['sources'][number]

/** A destination as the file describes it, with defaults filled in. */
export type DestinationDocument = ConfigurationDocument['destinations'][number]

/** The JSON Schema of the file, for editors. */
export function documentJsonSchema(): object {
  return {
    ...z.toJSONSchema(documentSchema, { io: 'input', target: 'draft-7' }),
    title: 'Configuration of an evroute service',
  }
}
