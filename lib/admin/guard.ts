// Keeps web pages away from what is for operators: a page a user visits can make the browser ask loopback, by a
// foreign Origin or by a name of its own that it points there.

import type { IncomingHttpHeaders } from 'node:http'
import { hostOf, isLoopback } from '../base/loopback.ts'

/** `loopback`: only names that mean this machine. `open`: bound elsewhere on purpose. `unix`: no page gets there. */
export type Exposure = 'loopback' | 'open' | 'unix'

/** Where a browser may be when it asks; one that says nothing is none, or asks over plain HTTP by an old habit. */
const SITES: readonly (string | undefined)[] = [undefined, 'same-origin', 'none']

/** `page`: only something to look at, which whoever sends a browser there does not see. */
export type Wanted = 'page' | 'data'

/** Why a request is refused, or null. `name` is what it asked. */
export function refusalOf(
  headers: IncomingHttpHeaders,
  exposure: Exposure,
  name = 'the admin interface',
  wanted: Wanted = 'data',
): string | null {
  const { host = '', origin } = headers
  if (exposure === 'loopback' && host !== '' && !isLoopback(hostOf(host)))
    return `forbidden: ${name} answers to loopback names only`
  // Another port of the same machine is another site's page all the same.
  const isVisit = wanted === 'page' && goesThere(headers)
  if (!isVisit && !SITES.includes(headers['sec-fetch-site'] as string | undefined))
    return `forbidden: ${name} does not answer other sites`
  if (origin !== undefined && origin !== `http://${host}`)
    return `forbidden: ${name} does not answer other origins`
  return null
}

/** Somebody follows a link, or is sent back from a login: not a frame, not a script. */
function goesThere(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
}
