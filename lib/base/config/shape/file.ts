// What users write: the whole configuration file. Everything unknown is refused.

import { z } from 'zod'
import { GATEWAY } from './gateway.ts'
import type { GatewayShape } from './gateway.ts'
import { FRONTEND, PROCESS } from './process.ts'
import type { FrontendShape, ProcessShape } from './process.ts'
import { ROUTE } from './route.ts'
import type { RouteShape } from './route.ts'

export const FILE = z.strictObject({
  config: PROCESS.optional(),
  frontendPolicies: FRONTEND.optional(),
  gateways: z.record(z.string(), GATEWAY).optional(),
  routes: z.array(ROUTE).optional(),
})

/** The file's parts that have the right shape; a part that has not is undefined, its place is kept. */
export interface Parts {
  readonly config: ProcessShape | undefined
  readonly frontendPolicies: FrontendShape | undefined
  readonly gateways: ReadonlyMap<string, GatewayShape | undefined>
  readonly routes: readonly (RouteShape | undefined)[]
}

/** Parts are looked at one by one, so that one refused part does not hide what is wrong with others. */
export function partsOf(data: unknown): Parts {
  const { config, frontendPolicies, gateways, routes } = objectOf(data)
  const named = Object.entries(objectOf(gateways))
  return {
    config: PROCESS.safeParse(config).data,
    frontendPolicies: FRONTEND.safeParse(frontendPolicies).data,
    gateways: new Map(named.map(([name, gateway]) => [name, GATEWAY.safeParse(gateway).data])),
    routes: Array.isArray(routes) ? routes.map((route) => ROUTE.safeParse(route).data) : [],
  }
}

function objectOf(data: unknown): Record<string, unknown> {
  return typeof data === 'object' && data !== null ? { ...data } : {}
}
