// Keeps web pages of other sites away: browsers say where a request comes from, and which page made it.

import { UI_PATH } from '../core/well-known-paths.ts'

/** What browsers say, and pages cannot. */
export type BrowserHeader = 'origin' | 'sec-fetch-site' | 'sec-fetch-mode' | 'sec-fetch-dest'

/** Of a request. */
export interface BrowserRequest {
  readonly method: string
  /** Without the query, and resolved: no `..` in it leads anywhere. */
  readonly path: string
  /** All of them on one line, if there are several. */
  readonly header: (name: BrowserHeader) => string | undefined
}

/** Where a browser may be when it asks; one that says nothing is none, or asks over plain HTTP by an old habit. */
const SITES: readonly (string | undefined)[] = [undefined, 'same-origin', 'none']

/** Why a request is refused, or null. `name` is what it asked, `isOwn` knows the origins of its pages. */
export function findCrossSiteRefusal(
  asked: BrowserRequest,
  name: string,
  isOwn: (origin: string) => boolean,
): string | null {
  const origin = asked.header('origin')
  // Another port of the same machine is another site's page all the same.
  if (!SITES.includes(asked.header('sec-fetch-site')) && !isFollowedLink(asked))
    return `forbidden: ${name} does not answer other sites`
  if (origin !== undefined && !isOwn(origin))
    return `forbidden: ${name} does not answer other origins`
  return null
}

/** Someone goes to a page by a link, or is sent there after a login: in a tab of its own, where the site sees nothing. */
function isFollowedLink({ method, path, header }: BrowserRequest): boolean {
  return (
    method === 'GET' &&
    isLinkablePath(path) &&
    header('sec-fetch-mode') === 'navigate' &&
    header('sec-fetch-dest') === 'document'
  )
}

/** What another site may link to: pages, which tell nothing but to the person before them. Data is never among them. */
function isLinkablePath(path: string): boolean {
  return path === '/' || path === UI_PATH || path.startsWith(`${UI_PATH}/`)
}
