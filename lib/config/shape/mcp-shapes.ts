// What users write to reach MCP servers: the `mcp` backend of a route, and the section `mcp`.

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
  .describe('Name in front of its tools')

/** Never printed; may be empty. */
const hidden = z
  .string()
  .regex(/^[^\0]*$/, 'got a zero byte, expected none')
  .transform((value) => new Secret(value))

const variables = z
  .record(z.string().regex(/^[^=\0]+$/, 'expected a name without ='), hidden)
  .default({})

const noNul = (shape: z.ZodString) => shape.regex(/^[^\0]*$/, 'got a zero byte, expected none')

const stdio = z
  .strictObject({
    cmd: noNul(nonEmptyText).describe('Executable, found by PATH; no shell'),
    args: z.array(noNul(z.string())).default([]).describe('Its arguments'),
    env: variables.describe("Variables beside the gateway's own"),
    clear_env: z.boolean().default(false).describe("Leave the gateway's variables out"),
  })
  .describe('A child process that speaks MCP on its standard input and output')

const urlParts = z.strictObject({
  host: z.union([httpUrl, hostWithoutPort]).describe('URL, or host beside `port`'),
  port: portNumber.optional().describe('Port, when `host` is no URL'),
  path: targetPath.optional().describe('Path, when `host` is no URL'),
  ...unsupportedFields('backend'),
})

/** Where a remote server is; the URL says everything, or its parts do. */
const REMOTE = urlParts.transform((written, context) => {
  const { host, port, path } = written
  const isUrl = /^https?:/i.test(host)
  const wrong = (message: string): never => {
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  }
  if (isUrl && (port !== undefined || path !== undefined))
    return wrong('got port or path beside a URL, expected all of it in the URL')
  if (!isUrl && port === undefined)
    return wrong('got a host without port, expected a URL or a port')
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

const KINDS = {
  stdio: stdio.optional(),
  mcp: REMOTE.optional().describe('Streamable HTTP; path `/mcp` by default'),
  sse: REMOTE.optional().describe('The older transport; path `/sse` by default'),
  ...unsupportedFields('openapi'),
}

const target = z
  .strictObject({
    name: targetName,
    ...KINDS,
    policies: TARGET_POLICIES.optional().describe('For remote targets only'),
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

const SERVED = {
  targets: z
    .array(target)
    .min(1)
    .describe('MCP servers that appear as one; each `stdio`, `mcp` or `sse`'),
  statefulMode: z
    .enum(['stateful', 'stateless'])
    .default('stateful')
    .describe('Whether sessions are kept between requests'),
  prefixMode: z
    .enum(['conditional', 'always', 'never'])
    .default('conditional')
    .describe('Whether tools are named `target_tool`; `conditional`: with several targets'),
  failureMode: z
    .enum(['failOpen', 'failClosed'])
    .default('failOpen')
    .describe('`failClosed`: one failing target fails the call'),
  dnsRebindingProtection: optionalOrNull(z.boolean()).describe(
    'Whether only loopback names are answered; default on loopback listeners',
  ),
}

export const MCP_BACKEND = z
  .strictObject(SERVED)
  .meta({ id: 'McpBackend', description: 'MCP servers behind one endpoint' })

export type McpShape = z.output<typeof MCP_BACKEND>

export const MCP = z
  .strictObject({
    port: listenPort.optional().describe('Port of its own; default 3000'),
    address: ipAddress.optional().describe('IP address to bind it to').meta({ preset: '::' }),
    gateways: gatewayNames.optional().describe('Or the gateways it is served by'),
    ...SERVED,
    policies: POLICIES.optional(),
  })
  .describe('MCP servers on a port of their own, or attached to a gateway')
