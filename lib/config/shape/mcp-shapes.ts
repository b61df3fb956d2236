// Shapes of the `mcp` backend of a route and of the section `mcp`.

import { z } from 'zod'
import { Secret } from '../../text/secret.ts'
import {
  gatewayNames,
  hostWithoutPort,
  httpUrl,
  ipAddress,
  listenPort,
  nonEmptyText,
  optionalOrNull,
  portNumber,
  refuseValue,
  targetPath,
  unsupportedFields,
} from './value-shapes.ts'
import { BACKEND_AUTH, BACKEND_TLS, TRANSFORMATIONS } from './traffic-shapes.ts'
import { REQUEST_HEADERS } from './header-shapes.ts'
import { POLICIES } from './policy-shapes.ts'

const NAME_EXPECTED =
  "expected lower case letters, digits, '-' and '.'; '_' and '+' separate target and tool"

const targetName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, {
    error: ({ input }) => `got '${String(input)}', ${NAME_EXPECTED}`,
  })
  .describe('Name of the target, which prefixes the names of its tools.')

/** Text that is never printed and may be empty. */
const secretOrEmpty = z
  .string()
  .regex(/^[^\0]*$/, 'got a zero byte, expected none')
  .transform((value) => new Secret(value))

const variables = z
  .record(z.string().regex(/^[^=\0]+$/, 'expected a name without ='), secretOrEmpty)
  .default({})

const withoutZeroBytes = (shape: z.ZodString) =>
  shape.regex(/^[^\0]*$/, 'got a zero byte, expected none')

const stdio = z
  .strictObject({
    cmd: withoutZeroBytes(nonEmptyText).describe('Executable, searched in PATH; no shell is used.'),
    args: z
      .array(withoutZeroBytes(z.string()))
      .default([])
      .describe('Arguments of the executable.'),
    env: variables.describe(
      'Environment variables in addition to `PATH`, `HOME`, `LANG` and a few others of the gateway.',
    ),
    clear_env: z
      .boolean()
      .default(false)
      .describe('Whether the child process gets only `env`, and no variable of the gateway.'),
    inheritEnv: z
      .boolean()
      .default(false)
      .describe('Whether the child process gets all variables of the gateway, keys included.'),
  })
  .describe('Child process that speaks MCP on standard input and output.')

const urlParts = z.strictObject({
  host: z
    .union([httpUrl, hostWithoutPort])
    .describe('URL of the server, or a host together with `port`.'),
  port: portNumber.optional().describe('Port of the server, if `host` is not a URL.'),
  path: targetPath.optional().describe('Path of the server, if `host` is not a URL.'),
  ...unsupportedFields('backend'),
})

/** The location of a remote server, from a URL or from host, port and path. */
const REMOTE = urlParts.transform((fields, context) => {
  const { host, port, path } = fields
  const isUrl = /^https?:/i.test(host)
  if (isUrl && (port !== undefined || path !== undefined))
    return refuseValue(context, 'got port or path next to a URL, expected them in the URL')
  if (!isUrl && port === undefined)
    return refuseValue(context, 'got a host without port, expected a URL or a port')
  const url = new URL(isUrl ? host : `http://${host}:${port}${path ?? ''}`)
  const secure = url.protocol === 'https:'
  return {
    secure,
    host: url.hostname.replace(/^\[(.+)\]$/, '$1'),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    path: url.pathname === '/' ? null : url.pathname + url.search,
  }
})

const TARGET_POLICIES = z.strictObject({
  requestHeaderModifier: REQUEST_HEADERS.optional(),
  transformations: TRANSFORMATIONS.optional(),
  backendTLS: BACKEND_TLS.optional(),
  backendAuth: BACKEND_AUTH.optional(),
  ...unsupportedFields('http', 'tcp', 'backendTunnel'),
})

const TARGET_KINDS = {
  stdio: stdio.optional(),
  mcp: REMOTE.optional().describe(
    'Remote server with the Streamable HTTP transport; the default path is `/mcp`.',
  ),
  sse: REMOTE.optional().describe(
    'Remote server with the older SSE transport; the default path is `/sse`.',
  ),
  ...unsupportedFields('openapi'),
}

const target = z
  .strictObject({
    name: targetName,
    ...TARGET_KINDS,
    policies: TARGET_POLICIES.optional().describe(
      'Policies for requests to the target; only for remote targets.',
    ),
  })
  .meta({ oneOf: ['stdio', 'mcp', 'sse'].map((name) => ({ required: [name] })) })
  .superRefine(({ stdio: child, mcp, sse, policies }, context) => {
    const fail = (message: string, path: string[] = []): void =>
      context.addIssue({ code: 'custom', message, path })
    const kinds = Object.entries({ stdio: child, mcp, sse }).filter(([, one]) => one !== undefined)
    if (kinds.length !== 1) {
      const got = kinds.map(([name]) => name).join(' and ') || 'none'
      fail(`got ${got}, expected exactly one of 'stdio', 'mcp', 'sse'`)
    } else if (child !== undefined && policies !== undefined)
      fail('got policies of a stdio target, expected them on remote targets only', ['policies'])
  })

export type TargetShape = z.output<typeof target>

const MCP_FIELDS = {
  targets: z
    .array(target)
    .min(1)
    .describe('MCP servers that are served as one; each has `stdio`, `mcp` or `sse`.'),
  statefulMode: z
    .enum(['stateful', 'stateless'])
    .default('stateful')
    .describe('Whether sessions are kept between requests.'),
  prefixMode: z
    .enum(['conditional', 'always', 'never'])
    .default('conditional')
    .describe('Whether tools are named `target_tool`; `conditional` does so with several targets.'),
  failureMode: z
    .enum(['failOpen', 'failClosed'])
    .default('failOpen')
    .describe(
      'Whether requests fail if a target fails: `failOpen` skips the target, `failClosed` fails the request.',
    ),
  dnsRebindingProtection: optionalOrNull(z.boolean()).describe(
    'Whether only requests for loopback hosts are accepted; the default is true on loopback listeners.',
  ),
}

export const MCP_BACKEND = z
  .strictObject(MCP_FIELDS)
  .meta({ id: 'McpBackend', description: 'MCP servers that are served as one.' })

export type McpShape = z.output<typeof MCP_BACKEND>

export const MCP = z
  .strictObject({
    port: listenPort.optional().describe('Port of the section; the default is 3000.'),
    address: ipAddress.optional().describe('IP address to listen on.').meta({ preset: '::' }),
    gateways: gatewayNames
      .optional()
      .describe('Gateways that serve the section instead of its own port.'),
    ...MCP_FIELDS,
    policies: POLICIES.optional(),
  })
  .describe('MCP servers on their own port or attached to gateways.')
