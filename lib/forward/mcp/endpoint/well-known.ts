// The documents about authorization that an only remote target may be asked for. Nothing else of it is in reach this
// way: no rule, session or bound of MCP holds there.

import { OPENID, RESOURCE, SERVER } from '../../../base/places/well-known.ts'
import type { RequestHead } from '../../../base/wire/head.ts'

const DOCUMENTS = [RESOURCE, SERVER, OPENID]

const METHODS = ['GET', 'HEAD', 'OPTIONS']

export function asksDocument({ method, path }: RequestHead): boolean {
  if (!METHODS.includes(method) || /(?:^|\/)\.{1,2}(?:\/|$)|%2e|%2f|%5c|\\/i.test(path))
    return false
  return DOCUMENTS.some((document) => path === document || path.startsWith(`${document}/`))
}
