// Which public document or endpoint a path means. An authorization server `{base}/mcp` is looked for with its path behind
// the well-known part (RFC 8414), by older clients in front of it, and by the oldest without any.

import { OPENID, RESOURCE, SERVER } from '../../base/places/well-known.ts'
import { REGISTRATION } from './own-urls.ts'

/** `client` is where a registration can be read again; `unknown` is nobody's, and needs no token to hear so. */
export type Kind =
  'resource' | 'server' | 'registration' | 'client' | 'authorize' | 'token' | 'unknown'

/** Whose document it is: that of the whole host, or that of the resource. */
export type Form = 'bare' | 'resource'

export interface Place {
  readonly kind: Kind
  readonly form: Form
}

/** `own` is the path of the resource, '' at the root. Null for all other paths. */
export function placeOf(path: string, own: string): Place | null {
  const asked = path.replace(/\/$/, '')
  const resource = below(asked, RESOURCE)
  if (resource !== null) return { kind: 'resource', form: resource === own ? 'resource' : 'bare' }
  for (const root of [SERVER, OPENID]) {
    const rest = below(asked, root)
    const tail = rest === null ? below(asked, own + root) : below(rest, own)
    if (tail !== null) return { kind: kindOf(root, tail), form: 'resource' }
    if (rest !== null) return { kind: kindOf(root, rest), form: 'bare' }
  }
  return null
}

function kindOf(root: string, tail: string): Kind {
  if (tail === '') return 'server'
  if (root === OPENID) return 'unknown'
  if (tail === REGISTRATION) return 'registration'
  if (below(tail, REGISTRATION) !== null) return 'client'
  if (tail === '/authorize') return 'authorize'
  return tail === '/token' ? 'token' : 'unknown'
}

/** What follows `root`, with its slash; '' for `root` itself, null for what is not below it. */
function below(path: string, root: string): string | null {
  if (path === root) return ''
  return path.startsWith(`${root}/`) ? path.slice(root.length) : null
}
