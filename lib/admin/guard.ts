// Keeps web pages away from what is for operators: a page a user visits can make the browser ask loopback, by a
// foreign Origin or by a name of its own that it points there.

import type { IncomingHttpHeaders } from 'node:http'
import { hostOf, isLoopback } from '../base/places/loopback.ts'
import { otherSiteRefusal } from '../base/places/other-sites.ts'
import type { BrowserField } from '../base/places/other-sites.ts'

/** `loopback`: only names that mean this machine. `open`: bound elsewhere on purpose. `unix`: no page gets there. */
export type Exposure = 'loopback' | 'open' | 'unix'

/** Of a request. */
export interface Asked {
  readonly method: string
  /** Without the query, and resolved: no `..` is left in it. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

/** Why a request is refused, or null. `name` is what it asked. */
export function refusalOf(
  { method, path, headers }: Asked,
  exposure: Exposure,
  name = 'the admin interface',
): string | null {
  const { host = '' } = headers
  if (exposure === 'loopback' && host !== '' && !isLoopback(hostOf(host)))
    return `forbidden: ${name} answers to loopback names only`
  const field = (one: BrowserField): string | undefined => headers[one]?.toString()
  return otherSiteRefusal({ method, path, field }, name, (origin) => origin === `http://${host}`)
}
