// Keeps web pages away from the admin interface: a page a user visits can make the browser ask loopback, by a
// foreign Origin or by a name of its own that it points there.

import type { IncomingHttpHeaders } from 'node:http'
import { hostOf, isLoopback } from '../base/loopback.ts'

/** `loopback`: only names that mean this machine. `open`: bound elsewhere on purpose. `unix`: no page gets there. */
export type Exposure = 'loopback' | 'open' | 'unix'

/** Why a request is refused, or null. */
export function refusalOf(headers: IncomingHttpHeaders, exposure: Exposure): string | null {
  const { host = '', origin } = headers
  if (exposure === 'loopback' && host !== '' && !isLoopback(hostOf(host)))
    return 'forbidden: the admin interface answers to loopback names only'
  if (headers['sec-fetch-site'] === 'cross-site')
    return 'forbidden: the admin interface does not answer other sites'
  if (origin !== undefined && origin !== `http://${host}`)
    return 'forbidden: the admin interface does not answer other origins'
  return null
}
