// The pages, in the order of the menu.

import type { ComponentType } from './view.ts'
import { Configuration } from './pages/configuration.ts'
import { Limits } from './pages/limits.ts'
import { LiveTrace } from './pages/live-trace.ts'
import { Logs } from './pages/logs.ts'
import { MapPage } from './pages/map.ts'
import { Mcp } from './pages/mcp.ts'
import { Overview } from './pages/overview.ts'

export interface PageProps {
  /** Behind the `?` of the page's own address. */
  readonly query: URLSearchParams
}

interface Page {
  readonly path: string
  readonly title: string
  readonly view: ComponentType<PageProps>
}

export const PAGES: readonly Page[] = [
  { path: '', title: 'Overview', view: Overview },
  { path: 'map', title: 'Map', view: MapPage },
  { path: 'trace', title: 'Live trace', view: LiveTrace },
  { path: 'mcp', title: 'MCP', view: Mcp },
  { path: 'limits', title: 'Limits', view: Limits },
  { path: 'logs', title: 'Logs', view: Logs },
  { path: 'config', title: 'Configuration', view: Configuration },
]
