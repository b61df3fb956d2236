// Where the web UI is, wherever it is served.

/** The page, and all that it is made of below. */
export const UI_PATH = '/ui'

/** Browsers ask for it where a response names no icon of its own, such as a refusal. */
export const FAVICON_PATH = '/favicon.ico'

/** What is asked, for the log and the statistics, when the page is. */
export const UI_ENDPOINT = 'ui'

/** An OAuth provider sends the browser back here; on the admin interface only. */
export const SIGNED_IN_PATH = `${UI_PATH}/signed-in`

/** What the page reads; each name is one of the read API's under /api. */
export const UI_API_NAMES = [
  'runtime',
  'map',
  'limits',
  'logs',
  'mcp',
  'config',
  'trace',
  'live',
] as const

export type UiApiName = (typeof UI_API_NAMES)[number]

export function uiApiPath(part: UiApiName): string {
  return `/api/${part}`
}

export const UI_PATHS: readonly string[] = [UI_PATH, ...UI_API_NAMES.map(uiApiPath)]

// Where clients look for documents about authorization, at a host or in front of a path there.

/** RFC 9728. */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource'
/** RFC 8414. */
export const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server'
/** OpenID Connect Discovery. */
export const OPENID_CONFIGURATION_PATH = '/.well-known/openid-configuration'
