// The pages, in the order of the menu.

import type { ComponentType } from './view.ts'
import { Configuration } from './configuration/page.ts'
import { Limits } from './limits/page.ts'
import { LiveTrace } from './trace/page.ts'
import { Logs } from './logs/page.ts'
import { MapPage } from './map/page.ts'
import { Mcp } from './mcp/page.ts'
import { Overview } from './overview/page.ts'

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
