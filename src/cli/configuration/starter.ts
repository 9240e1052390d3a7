/** The folder for secrets, beside the configuration. */
export const secretsFolderName = 'evroute.secrets'

/** The schema in an installed package, relative to the project. */
export const installedSchema = 'node_modules/evroute/dist/evroute.config.schema.json'

/** A starter configuration: one source, and one destination at the address of `evroute listen`. */
export const starterConfiguration: Readonly<Record<string, unknown>> = Object.freeze({
  $schema: `./${installedSchema}`,
  listen: { host: '127.0.0.1', port: 4_000 },
  admin: { port: 4_001, token: `@${secretsFolderName}/admin-token` },
  store: 'sqlite:./evroute.db',
  network: { allow: ['127.0.0.0/8', '::1/128'] },
  sources: [{ id: 'website', writeKeys: [`@${secretsFolderName}/write-key`], enabled: true }],
  destinations: [
    {
      id: 'crm',
      type: 'Webhooks',
      sources: ['website'],
      endpoints: [{ url: 'http://127.0.0.1:4100/', headers: { 'X-Team': 'growth' } }],
      sharedSecret: `@${secretsFolderName}/shared-secret`,
      enabled: true,
    },
  ],
})

/** The file names in the next steps, quoted for a shell. */
export interface StarterFiles {
  /** The configuration; undefined if `serve` finds it by default. */
  readonly configuration: string | undefined
  /** The folder with the secrets. */
  readonly secretsFolder: string
}

/** Tells the user how to adapt the starter configuration and try it. */
export function nextSteps({ configuration, secretsFolder }: StarterFiles): string {
  const secret = shellWord(`@${secretsFolder}/shared-secret`)
  const writeKey = `$(cat ${shellWord(`${secretsFolder}/write-key`)})`
  const config = configuration === undefined ? '' : ` --config ${shellWord(configuration)}`
  return `
A destination is set up in five steps, which the starter shows:
  1. type, sources       Webhooks, with the events of the source "website"
  2. endpoints           up to five URLs; http://127.0.0.1:4100/ is where \`evroute listen\` listens
  3. headers             optional, static, for each URL: X-Team
  4. sharedSecret        optional: signs every webhook in X-Signature
  5. enabled             true: all that the source sends is forwarded

Try it, in three terminals:
  evroute listen --secret ${secret}
  evroute serve${config}
  curl -u "${writeKey}:" -d '{"userId":"u_1","event":"Order Completed"}' http://127.0.0.1:4000/v1/track

\`evroute config${config}\` shows every setting that is in force.
`
}

/** Quotes a text as one word of a POSIX shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
