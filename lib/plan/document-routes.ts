// Clients look for the documents of a protected route not where the route is, but at well-known paths of its host. These
// lead to it as well; those that others could have too only where the configuration gives them to nobody else.

import type { McpAuthenticationConfig } from '../base/config/auth-types.ts'
import { ANY_REQUEST } from '../base/config/shape/route.ts'
import type { RouteConfig, RouteMatch } from '../base/config/types.ts'
import { RESOURCE, SERVER } from '../base/places/well-known.ts'
import { RequestHead } from '../base/wire/head.ts'
import { RouteTable } from '../choose/route-table.ts'
import {
  areOneResource,
  haveOneHost,
  haveOneServer,
  OWN_ROOTS,
  pathForms,
  rootForms,
} from '../enforce/oauth/root-forms.ts'
import type { RootForms } from '../enforce/oauth/root-forms.ts'

type Same = (one: McpAuthenticationConfig, other: McpAuthenticationConfig) => boolean

/** Of one listener. */
export class DocumentRoutes {
  readonly #resources: readonly McpAuthenticationConfig[]
  readonly #written: RouteTable<RouteConfig>

  constructor(routes: readonly RouteConfig[]) {
    this.#resources = routes.flatMap(({ policies }) => policies.mcpAuthentication ?? [])
    this.#written = new RouteTable(routes.map((route) => ({ ...route, value: route })))
  }

  /** Paths that lead to the route beside those it names. */
  matchesOf(route: RouteConfig): RouteMatch[] {
    const { mcpAuthentication: config } = route.policies
    if (config === null) return []
    const paths = new Set([...pathForms(config), ...rootForms(this.rootsOf(route))])
    return [...paths].map((value) => ({ ...ANY_REQUEST, path: { kind: 'prefix', value } }))
  }

  rootsOf({ policies: { mcpAuthentication: config } }: RouteConfig): RootForms {
    if (config === null) return OWN_ROOTS
    return {
      resource: this.#isOwn(RESOURCE, config, areOneResource) ? 'own' : 'ambiguous',
      server: this.#isOwn(SERVER, config, haveOneServer) ? 'own' : 'ambiguous',
    }
  }

  /** All protected resources of the host would say the same there, and no other route is asked instead. */
  #isOwn(path: string, config: McpAuthenticationConfig, areSame: Same): boolean {
    const beside = this.#resources.filter((one) => haveOneHost(one, config))
    if (!beside.every((one) => areSame(one, config))) return false
    const asked = new RequestHead('', [], 0)
    asked.target = path
    asked.authority = new URL(config.resourceMetadata.resource).host
    const found = this.#written.find(asked)?.value
    if (found === undefined) return true
    const owner = found.policies.mcpAuthentication
    return owner !== null && haveOneHost(owner, config) && areSame(owner, config)
  }
}
