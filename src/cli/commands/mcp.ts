import { command, flag, type ValuesOf } from '../command.ts'
import { targetOptions } from '../flags.ts'

const options = {
  allowSend: flag('--allow-send', 'also offer send_calls, check_handler and retry_deliveries'),
  ...targetOptions,
}

/** The parsed options of `evroute mcp`. */
export type McpValues = ValuesOf<typeof options>

/** Adds `evroute mcp`. */
export const addMcpCommand = command({
  name: 'mcp',
  summary: 'give an agent tools for webhooks',
  description:
    'Offers tools to a coding agent over the Model Context Protocol, on stdin and stdout.',
  options,
  after: `Examples:
  evroute mcp
  evroute mcp --allow-send --config staging/evroute.config.json
  evroute mcp --api http://127.0.0.1:4001 --token env:EVROUTE_ADMIN_TOKEN

An MCP client starts this command. Without --allow-send, the agent can start receivers on
this machine, wait for webhooks, explain calls and read deliveries. With it, the
agent can also send calls, check handlers and retry deliveries.

Exit codes: 0 the client disconnected, or a signal ended evroute; 2 usage.`,
  run: async (values, context) =>
    (await import('../agents/serve-agent.ts')).serveAgent(values, context),
})
