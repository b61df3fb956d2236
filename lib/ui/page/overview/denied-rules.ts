// The rules of authorization behind a refusal, found in what the map tells of the configuration.

import type { MapView, PolicyNode } from '../../../admin/page-api/page-api-types.ts'
import type { SeenRequest } from '../parts/requests.ts'

export interface ShownRule {
  readonly mode: string
  readonly expression: string
}

/** The one that the log names, or all that could have allowed it; none when the configuration is another by now. */
export function deniedRules(map: MapView, request: SeenRequest): readonly ShownRule[] {
  const fields = new Map(request.fields)
  if (fields.get('reason') !== 'authorization_denied') return []
  const rules = rulesIn(policiesOf(map, request.route, String(fields.get('listener') ?? '')))
  const at = fields.get('rule')
  if (typeof at === 'number') return rules.slice(at, at + 1)
  return rules.filter(({ mode }) => mode === 'allow')
}

/** Those of the listener hold before there is a route. */
function policiesOf(map: MapView, route: string, listener: string): readonly PolicyNode[] {
  const listeners = map.gateways.flatMap((gateway) => gateway.listeners)
  if (route === '') return listeners.find(({ key }) => key === listener)?.policies ?? []
  const routes = listeners.flatMap((one) => one.routes)
  return routes.find(({ key }) => key === route)?.policies ?? []
}

function rulesIn(policies: readonly PolicyNode[]): readonly ShownRule[] {
  const config = policies.find(({ kind }) => kind === 'authorization')?.config
  const { rules } = (config ?? {}) as { readonly rules?: unknown }
  return Array.isArray(rules) ? rules.map(ruleOf) : []
}

function ruleOf(rule: unknown): ShownRule {
  const { mode, expression } = (rule ?? {}) as Readonly<Record<string, unknown>>
  return { mode: String(mode), expression: String(expression) }
}
