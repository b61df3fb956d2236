// Paths of the web UI, of its API and of OAuth metadata documents.

/** The page; all its assets are below this path. */
export const UI_PATH = '/ui'

/** Browsers ask for it where a response names no icon of its own, such as a refusal. */
export const FAVICON_PATH = '/favicon.ico'

/** The endpoint in the log and the statistics for requests of the page. */
export const UI_ENDPOINT = 'ui'

/** Where an OAuth provider redirects the browser after sign-in; on the admin interface only. */
export const SIGNED_IN_PATH = `${UI_PATH}/signed-in`

/** The resources of the read API under /api that the page reads. */
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

export function uiApiPath(name: UiApiName): string {
  return `/api/${name}`
}

export const UI_PATHS: readonly string[] = [UI_PATH, ...UI_API_NAMES.map(uiApiPath)]

/** RFC 9728; at a host, or in front of a path there, as the two below. */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource'
/** RFC 8414. */
export const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server'
/** OpenID Connect Discovery. */
export const OPENID_CONFIGURATION_PATH = '/.well-known/openid-configuration'
