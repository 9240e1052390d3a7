/** The folder beside a configuration that keeps its secrets. */
export const secretsFolderName = 'evroute.secrets'

/** The schema of an installed package, relative to the folder that has it. */
export const installedSchema = 'node_modules/evroute/dist/evroute.config.schema.json'

/** A starter configuration: one source, and one destination where `evroute listen` listens. */
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

/** What the next steps name, as a shell takes it. */
export interface StarterFiles {
  /** The configuration; undefined where `serve` finds it by itself. */
  readonly configuration: string | undefined
  /** The folder of its secrets. */
  readonly secretsFolder: string
}

/** How the starter is made one's own, in the steps in which a destination is set up, and tried. */
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

/** A text as one word of a POSIX shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
