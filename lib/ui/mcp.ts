// /api/mcp: MCP backends with their targets and sessions, and the child processes behind them.

import type { McpTarget } from '../base/config/mcp-types.ts'
import { addressText } from '../base/config/show.ts'
import { childState } from '../base/live/child-state.ts'
import type { SessionView, Some } from '../base/live/types.ts'
import { MAX_SHOWN, someOf } from '../base/live/views.ts'
import type { GroupView } from '../base/live/views.ts'
import type { McpBackendView, McpView } from './api.ts'
import type { GatewayFacts } from './gateway-facts.ts'
import type { McpPlace } from './mcp-places.ts'
import { bindText } from './runtime.ts'

export function mcpView(
  places: readonly McpPlace[],
  { groups, children }: Pick<GatewayFacts, 'groups' | 'children'>,
): McpView {
  const all = groups()
  return {
    backends: places.slice(0, MAX_SHOWN).map((place) => backendOf(place, all)),
    children: someOf(children(), childState),
  }
}

/** A backend that was changed has the sessions of what it was before until they end. */
function backendOf(place: McpPlace, groups: readonly GroupView[]): McpBackendView {
  const { gateway, listener, route, backend, path, hostname } = place
  const { mcpAuthentication } = route.policies
  const own = groups.filter((group) => group.backend === backend.key)
  return {
    key: backend.key,
    route: route.key,
    port: gateway.port,
    bind: bindText(gateway),
    path,
    hostname,
    protocol: listener.protocol,
    authentication: mcpAuthentication && {
      issuer: mcpAuthentication.issuer,
      resource: mcpAuthentication.resourceMetadata.resource,
    },
    targets: backend.mcp.targets.map((target) => ({
      name: target.name,
      kind: target.kind,
      where: whereOf(target),
    })),
    open: own.reduce((sum, { open }) => sum + open, 0),
    sessions: joined(own.map(({ sessions }) => sessions)),
  }
}

/** No arguments: they may be credentials. */
function whereOf(target: McpTarget): string {
  return target.kind === 'stdio' ? target.cmd : addressText({ ...target, kind: 'tcp' })
}

function joined(parts: readonly Some<SessionView>[]): Some<SessionView> {
  const all = parts.flatMap(({ shown }) => shown)
  const shown = all.slice(0, MAX_SHOWN)
  const hidden = parts.reduce((sum, { more }) => sum + more, 0)
  return { shown, more: hidden + all.length - shown.length }
}

/** What tells one view from another, but for time that passes and memory that comes and goes. */
export function mcpGist({ backends, children }: McpView, now: number): string {
  const sessions = backends.flatMap((backend) => [
    `${backend.key} ${backend.open} ${backend.sessions.more}`,
    ...backend.sessions.shown.map(({ id, state, calls, channels, targets, idle }) => {
      const usedAt = Math.round((now - idle) / 1000)
      return `${id} ${state} ${calls} ${channels} ${usedAt} ${targets.map((one) => one.state).join()}`
    }),
  ])
  const processes = children.shown.map(
    ({ pid, state, lastStderr }) => `${pid} ${state} ${lastStderr.join('\n')}`,
  )
  return [...sessions, ...processes, children.more].join('\n')
}
