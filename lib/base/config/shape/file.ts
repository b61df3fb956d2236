// What users write: the whole configuration document. Everything unknown is refused.

import { z } from 'zod'
import { NAMED_BACKEND } from './backend.ts'
import type { NamedBackendShape } from './backend.ts'
import { GATEWAY } from './gateway.ts'
import type { GatewayShape } from './gateway.ts'
import { LLM } from './llm.ts'
import { MCP } from './mcp.ts'
import { unsupported } from './parts.ts'
import { FRONTEND, PROCESS } from './process.ts'
import type { FrontendShape, ProcessShape } from './process.ts'
import { ROUTE } from './route.ts'
import type { RouteShape } from './route.ts'
import { UI } from './ui.ts'

export const FILE = z.strictObject({
  config: PROCESS.optional(),
  frontendPolicies: FRONTEND.optional(),
  gateways: z.record(z.string(), GATEWAY).optional().describe('Ports and who answers on them'),
  routes: z.array(ROUTE).optional().describe('Which backend answers which request'),
  backends: z.array(NAMED_BACKEND).optional().describe('Backends that routes refer to by name'),
  mcp: MCP.optional(),
  llm: LLM.optional(),
  ui: UI.optional(),
  ...unsupported('binds', 'policies', 'routeGroups', 'services', 'tcpRoutes', 'workloads'),
})

/** The file's parts that have the right shape; a part that has not is undefined, its place is kept. */
export interface Parts {
  readonly config: ProcessShape | undefined
  readonly frontendPolicies: FrontendShape | undefined
  readonly gateways: ReadonlyMap<string, GatewayShape | undefined>
  readonly routes: readonly (RouteShape | undefined)[]
  readonly backends: readonly (NamedBackendShape | undefined)[]
  /** As they were written, also those of backends that were refused. */
  readonly backendNames: readonly unknown[]
  readonly mcp: z.output<typeof MCP> | undefined
  readonly llm: z.output<typeof LLM> | undefined
  readonly ui: z.output<typeof UI> | undefined
}

/** Parts are looked at one by one, so that one refused part does not hide what is wrong with others. */
export function partsOf(data: unknown): Parts {
  const { config, frontendPolicies, gateways, routes, backends, mcp, llm, ui } = objectOf(data)
  const named = Object.entries(objectOf(gateways))
  return {
    config: PROCESS.safeParse(config).data,
    frontendPolicies: FRONTEND.safeParse(frontendPolicies).data,
    gateways: new Map(named.map(([name, gateway]) => [name, GATEWAY.safeParse(gateway).data])),
    routes: listOf(routes).map((route) => ROUTE.safeParse(route).data),
    backends: listOf(backends).map((backend) => NAMED_BACKEND.safeParse(backend).data),
    backendNames: listOf(backends).map((backend) => objectOf(backend)['name']),
    mcp: MCP.safeParse(mcp).data,
    llm: LLM.safeParse(llm).data,
    ui: UI.safeParse(ui).data,
  }
}

function objectOf(data: unknown): Record<string, unknown> {
  return typeof data === 'object' && data !== null ? { ...data } : {}
}

function listOf(data: unknown): readonly unknown[] {
  return Array.isArray(data) ? data : []
}
