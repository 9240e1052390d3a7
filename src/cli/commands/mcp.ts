import { addTargetFlags, type AccessFlags } from '../store-access/access.ts'
import type { AddCommand } from '../io.ts'

interface McpFlags extends Pick<AccessFlags, 'config' | 'store' | 'api' | 'token'> {
  readonly allowSend?: boolean
}

const examples = `
Examples:
  evroute mcp
  evroute mcp --allow-send --config staging/evroute.config.json
  evroute mcp --api http://127.0.0.1:4001 --token env:EVROUTE_ADMIN_TOKEN

An MCP client starts it. Without --allow-send the agent can start receivers on
this machine, wait for webhooks, explain calls and read deliveries. With it the
agent can also send calls, check handlers and retry deliveries.

Exit codes: 0 the client left, or a signal ended it, 2 usage.`

/** Adds `evroute mcp`. */
export const addMcpCommand: AddCommand = (program, { io, end, run }) => {
  const command = program
    .command('mcp')
    .summary('give an agent tools for webhooks')
    .description(
      'Serves tools to a coding agent by the Model Context Protocol, on stdin and stdout.',
    )
    .option('--allow-send', 'also offer send_calls, check_handler and retry_deliveries')
  addTargetFlags(command)
    .addHelpText('after', examples)
    .action(async () => {
      const { allowSend = false, config, store, api, token } = command.opts<McpFlags>()
      const { serveAgent } = await import('../agents/serve-agent.ts')
      end(await serveAgent({ allowSend, access: { config, store, api, token } }, { io, run }))
    })
}
