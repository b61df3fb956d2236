// Keeps web pages away from what is for operators: a page a user visits can make the browser ask loopback, by a
// foreign Origin or by a name of its own that it points there.

import type { IncomingHttpHeaders } from 'node:http'
import { hostOf, isLoopback } from '../base/loopback.ts'

/** `loopback`: only names that mean this machine. `open`: bound elsewhere on purpose. `unix`: no page gets there. */
export type Exposure = 'loopback' | 'open' | 'unix'

/** Where a browser may be when it asks; one that says nothing is none, or asks over plain HTTP by an old habit. */
const SITES: readonly (string | undefined)[] = [undefined, 'same-origin', 'none']

/** Of a request. */
export interface Asked {
  readonly method: string
  /** Without the query, and resolved: no `..` is left in it. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

/** What another site may link to: pages, which tell nothing but to the person before them. Data is never among them. */
const LINKED = /^\/(?:ui(?:\/.*)?)?$/

/** Why a request is refused, or null. `name` is what it asked. */
export function refusalOf(
  asked: Asked,
  exposure: Exposure,
  name = 'the admin interface',
): string | null {
  const { host = '', origin, 'sec-fetch-site': site } = asked.headers
  if (exposure === 'loopback' && host !== '' && !isLoopback(hostOf(host)))
    return `forbidden: ${name} answers to loopback names only`
  // Another port of the same machine is another site's page all the same.
  if (!SITES.includes(site as string | undefined) && !isFollowedLink(asked))
    return `forbidden: ${name} does not answer other sites`
  if (origin !== undefined && origin !== `http://${host}`)
    return `forbidden: ${name} does not answer other origins`
  return null
}

/** Someone goes to a page by a link, or is sent there after a login: in a tab of its own, where the site sees nothing. */
function isFollowedLink({ method, path, headers }: Asked): boolean {
  return (
    method === 'GET' &&
    LINKED.test(path) &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document'
  )
}
