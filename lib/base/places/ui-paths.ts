// Where the web UI is, wherever it is served.

/** The page, and all that it is made of below. */
export const UI_PATH = '/ui'

/** What is asked, for the log and the statistics, when the page is. */
export const UI_ENDPOINT = 'ui'

/** An OAuth provider sends the browser back here; on the admin interface only. */
export const SIGNED_IN_PATH = `${UI_PATH}/signed-in`

/** What the page reads; each name is one of the read API's under /api. */
export const UI_PARTS = [
  'runtime',
  'map',
  'limits',
  'logs',
  'mcp',
  'config',
  'trace',
  'live',
] as const

export type UiPart = (typeof UI_PARTS)[number]

export function partPath(part: UiPart): string {
  return `/api/${part}`
}

export const UI_PATHS: readonly string[] = [UI_PATH, ...UI_PARTS.map(partPath)]
