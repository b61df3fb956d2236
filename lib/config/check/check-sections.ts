// Checks the sections `mcp` and `llm`, which become routes on their own port or on gateways.

import { bindKeyOf } from '../bind-key.ts'
import type { ConfigPath } from '../config-error.ts'
import type { ConfigParts } from '../shape/document-shapes.ts'
import type { PoliciesShape } from '../shape/policy-shapes.ts'
import { ANY_REQUEST } from '../shape/document-shapes.ts'
import { checkLlm, refuseUnusedAiPolicy } from './check-llm.ts'
import {
  ANY_ADDRESS,
  DEFAULT_GATEWAY,
  DEFAULT_NAMESPACE,
  resolveListeners,
} from './check-gateways.ts'
import type { AttachmentTargets, GatewayDraft, ListenerDraft } from './check-gateways.ts'
import type { UnattachedBackend } from './check-backends.ts'
import type { CheckContext } from './check-context.ts'
import { checkLimits, refuseTokenLimits } from './check-limits.ts'
import { checkMcpBackend } from './check-backends.ts'
import { checkBackendPolicies, checkPolicies, checkGatewayPolicies } from './check-policies.ts'
import { requiresKnownClient } from './check-policy-use.ts'
import type { RoutePolicies } from '../config-types.ts'
import { attachRoute } from './check-routes.ts'
import type { UnattachedRoute } from './check-routes.ts'

interface ConfigSection {
  readonly port?: number | undefined
  readonly address?: string | undefined
  readonly gateways?: string | readonly string[] | undefined
  readonly policies?: PoliciesShape | undefined
}

/** The default port of each section, and its path prefixes when it is attached to a gateway. */
const SECTIONS = {
  mcp: { port: 3000, prefixes: ['/mcp', '/sse', '/.well-known'] },
  llm: { port: 4000, prefixes: ['/v1', '/v2'] },
} as const

type SectionName = keyof typeof SECTIONS

/** Returns the gateways of sections with their own port; other sections are attached to `targets`. */
export function checkSections(
  context: CheckContext,
  parts: ConfigParts,
  targets: AttachmentTargets,
): GatewayDraft[] {
  const gateways: GatewayDraft[] = []
  const policies = checkBackendPolicies(context, [], {})
  const serve = (name: SectionName, section: ConfigSection, target: UnattachedBackend): void => {
    const gateway = attachSection(context, name, section, target, targets)
    if (gateway !== undefined) gateways.push(gateway)
  }
  const { mcp, llm } = parts
  if (mcp !== undefined)
    serve('mcp', mcp, { kind: 'mcp', mcp: checkMcpBackend(context, ['mcp'], mcp), policies })
  if (llm !== undefined) serve('llm', llm, { kind: 'llm', llm: checkLlm(context, llm), policies })
  return gateways
}

function attachSection(
  context: CheckContext,
  name: SectionName,
  section: ConfigSection,
  target: UnattachedBackend,
  targets: AttachmentTargets,
): GatewayDraft | undefined {
  const path = [name]
  const { port, address = ANY_ADDRESS, gateways } = section
  if (port !== undefined && gateways !== undefined)
    context.problem([name, 'port'], 'got port and gateways, expected one of them', 'key')
  if (section.address !== undefined && gateways !== undefined)
    context.problem([name, 'address'], 'got address and gateways, expected one of them', 'key')
  const isAttached =
    gateways !== undefined || (port === undefined && targets.names.includes(DEFAULT_GATEWAY))
  if (!isAttached && port === undefined && targets.names.length > 0)
    context.problem(
      [name],
      `got neither port nor gateways, expected one of them: no gateway is named '${DEFAULT_GATEWAY}'`,
      'key',
    )
  const route = buildSectionRoute(context, name, section, target)
  if (isAttached) {
    const { prefixes } = SECTIONS[name]
    const matches = prefixes.map((value) => ({
      ...ANY_REQUEST,
      path: { kind: 'prefix' as const, value },
    }))
    const references = gateways ?? DEFAULT_GATEWAY
    for (const listener of resolveListeners(context, [name, 'gateways'], references, targets))
      attachRoute(context, path, { ...route, matches }, listener)
    return undefined
  }
  if (section.address === undefined) warnAboutOpenSection(context, name, route.policies)
  const listener = buildSectionListener(context, name)
  attachRoute(context, path, route, listener, route.name)
  const sectionPort = port ?? SECTIONS[name].port
  context.recordPlace(bindKeyOf(sectionPort), path)
  const listeners = [listener]
  return { name, namespace: DEFAULT_NAMESPACE, port: sectionPort, address, listeners, limits: [] }
}

/** An operator who sets no address may expect that only this machine can connect. */
function warnAboutOpenSection(
  context: CheckContext,
  name: SectionName,
  policies: RoutePolicies,
): void {
  if (requiresKnownClient(policies) || policies.mcpAuthentication?.mode === 'strict') return
  context.warn(
    [name],
    `${name} listens on all interfaces without authentication: set ${name}.address, such as 127.0.0.1, or add authentication to ${name}.policies`,
  )
}

function buildSectionListener(context: CheckContext, name: SectionName): ListenerDraft {
  const policies = checkGatewayPolicies(context, [], {})
  context.recordPlace(name, [name])
  return { key: name, name, hostname: '', protocol: 'HTTP', tls: null, policies, routes: [] }
}

/** The route of a section, which matches any path. */
function buildSectionRoute(
  context: CheckContext,
  name: SectionName,
  section: ConfigSection,
  target: UnattachedBackend,
): UnattachedRoute {
  const path: ConfigPath = [name, 'policies']
  const { policies: policiesShape = {} } = section
  const policies = checkPolicies(context, path, policiesShape)
  if (name === 'mcp') refuseTokenLimits(context, path, policiesShape)
  refuseUnusedAiPolicy(context, [...path, 'ai'], policies.ai, name === 'llm' ? 'llm' : 'others')
  return {
    name: `${name}:default`,
    namespace: DEFAULT_NAMESPACE,
    hostnames: [],
    matches: [ANY_REQUEST],
    policies,
    limits: checkLimits(context, path, policiesShape),
    backends: [{ target, weight: 1 }],
  }
}
