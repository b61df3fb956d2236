// `mcp` and `llm` → routes on a port of their own, or on the gateways they are attached to.

import { bindKey } from '../bind-key.ts'
import type { Path } from '../error.ts'
import type { Parts } from '../shape/file.ts'
import type { PoliciesShape } from '../shape/policies.ts'
import { ANY_REQUEST } from '../shape/route.ts'
import { refuseUnread } from './ai.ts'
import { DEFAULT_GATEWAY, listenersFor } from './attach.ts'
import type { Attachments } from './attach.ts'
import type { Target } from './backends.ts'
import type { Context } from './context.ts'
import { ANY_ADDRESS } from './gateways.ts'
import type { OpenGateway, OpenListener } from './gateways.ts'
import { limitsOf, refuseTokens } from './limits.ts'
import { llmOf } from './llm.ts'
import { mcpOf } from './mcp.ts'
import { checkBackendPolicies, checkPolicies, gatewayPoliciesOf } from './policies.ts'
import { hang } from './routes.ts'
import type { LooseRoute } from './routes.ts'

interface Section {
  readonly port?: number | undefined
  readonly address?: string | undefined
  readonly gateways?: string | readonly string[] | undefined
  readonly policies?: PoliciesShape | undefined
}

/** How a section is served, by its name. */
const SECTIONS = {
  mcp: { port: 3000, prefixes: ['/mcp', '/sse', '/.well-known'] },
  llm: { port: 4000, prefixes: ['/v1', '/v2'] },
} as const

type Name = keyof typeof SECTIONS

/** Gateways of the sections' own ports; what is attached hangs on `to` afterwards. */
export function checkSections(context: Context, parts: Parts, to: Attachments): OpenGateway[] {
  const own: OpenGateway[] = []
  const policies = checkBackendPolicies(context, [], {})
  const serve = (name: Name, section: Section, target: Target): void => {
    const gateway = place(context, name, section, target, to)
    if (gateway !== undefined) own.push(gateway)
  }
  const { mcp, llm } = parts
  if (mcp !== undefined)
    serve('mcp', mcp, { kind: 'mcp', mcp: mcpOf(context, ['mcp'], mcp), policies })
  if (llm !== undefined) serve('llm', llm, { kind: 'llm', llm: llmOf(context, llm), policies })
  return own
}

function place(
  context: Context,
  name: Name,
  section: Section,
  target: Target,
  to: Attachments,
): OpenGateway | undefined {
  const path = [name]
  const { port, address = ANY_ADDRESS, gateways } = section
  if (port !== undefined && gateways !== undefined)
    context.problem([name, 'port'], 'got port and gateways, expected one of them', 'key')
  if (section.address !== undefined && gateways !== undefined)
    context.problem([name, 'address'], 'got address and gateways, expected one of them', 'key')
  const isAttached =
    gateways !== undefined || (port === undefined && to.names.includes(DEFAULT_GATEWAY))
  if (!isAttached && port === undefined && to.names.length > 0)
    context.problem(
      [name],
      `got neither port nor gateways, expected one of them: no gateway is called '${DEFAULT_GATEWAY}'`,
      'key',
    )
  const route = routeOf(context, name, section, target)
  if (isAttached) {
    const { prefixes } = SECTIONS[name]
    const matches = prefixes.map((value) => ({
      ...ANY_REQUEST,
      path: { kind: 'prefix' as const, value },
    }))
    const references = gateways ?? DEFAULT_GATEWAY
    for (const listener of listenersFor(context, [name, 'gateways'], references, to))
      hang(context, path, { ...route, matches }, listener)
    return undefined
  }
  const listener = ownListener(context, name)
  hang(context, path, route, listener, route.name)
  const { port: usual } = SECTIONS[name]
  context.mark(bindKey(port ?? usual), path)
  return { name, port: port ?? usual, address, listeners: [listener], limits: [] }
}

function ownListener(context: Context, name: Name): OpenListener {
  const policies = gatewayPoliciesOf(context, [], {})
  context.mark(name, [name])
  return { key: name, name, hostname: '', protocol: 'HTTP', tls: null, policies, routes: [] }
}

/** It answers on any path. */
function routeOf(context: Context, name: Name, section: Section, target: Target): LooseRoute {
  const path: Path = [name, 'policies']
  const { policies: written = {} } = section
  const policies = checkPolicies(context, path, written)
  if (name === 'mcp') refuseTokens(context, path, written)
  refuseUnread(context, [...path, 'ai'], policies.ai, name === 'llm' ? 'llm' : 'others')
  return {
    name: `${name}:default`,
    hostnames: [],
    matches: [ANY_REQUEST],
    policies,
    limits: limitsOf(context, path, written),
    backends: [{ target, weight: 1 }],
  }
}
