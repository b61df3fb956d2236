// /api/mcp: MCP backends with their targets and sessions, and the child processes of their sessions.

import type { McpTarget } from '../../config/backend-types.ts'
import { formatAddress } from '../../config/show.ts'
import { describeChildProcess, limitList, MAX_LISTED_ENTRIES } from '../../core/runtime-views.ts'
import type { SessionView, LimitedList } from '../../core/runtime-types.ts'
import type { McpGroupView } from '../../core/runtime-views.ts'
import type { McpBackendView, McpView } from './page-api-types.ts'
import type { GatewayFacts } from './gateway-facts.ts'
import type { McpLocation } from './mcp-locations.ts'
import { formatBind } from './runtime-view.ts'

export function buildMcpView(
  locations: readonly McpLocation[],
  { groups, children }: Pick<GatewayFacts, 'groups' | 'children'>,
): McpView {
  const groupViews = groups()
  return {
    backends: locations
      .slice(0, MAX_LISTED_ENTRIES)
      .map((location) => mcpBackendViewOf(location, groupViews)),
    children: limitList(children(), describeChildProcess),
  }
}

/** After a change of the backend, its older sessions count until they end. */
function mcpBackendViewOf(location: McpLocation, groups: readonly McpGroupView[]): McpBackendView {
  const { gateway, listener, route, backend, path, hostname } = location
  const { mcpAuthentication } = route.policies
  const backendGroups = groups.filter((group) => group.backend === backend.key)
  return {
    key: backend.key,
    route: route.key,
    port: gateway.port,
    bind: formatBind(gateway),
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
      where: formatTarget(target),
    })),
    open: backendGroups.reduce((sum, { open }) => sum + open, 0),
    sessions: joinSessions(backendGroups.map(({ sessions }) => sessions)),
  }
}

/** The program or the host; without arguments, which may contain credentials. */
function formatTarget(target: McpTarget): string {
  return target.kind === 'stdio' ? target.cmd : formatAddress({ ...target, kind: 'tcp' })
}

function joinSessions(parts: readonly LimitedList<SessionView>[]): LimitedList<SessionView> {
  const all = parts.flatMap(({ shown }) => shown)
  const shown = all.slice(0, MAX_LISTED_ENTRIES)
  const hidden = parts.reduce((sum, { more }) => sum + more, 0)
  return { shown, more: hidden + all.length - shown.length }
}

/** A text that changes when the view changes, except for ages and memory sizes. */
export function summarizeMcpView({ backends, children }: McpView, now: number): string {
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
