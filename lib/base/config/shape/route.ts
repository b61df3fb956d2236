// What users write under `routes`.

import { z } from 'zod'
import type { NamedMatch, PathMatch, RouteMatch, ValueMatch } from '../types.ts'
import { partOfKey } from './gateway.ts'
import { POLICIES } from './policies.ts'
import {
  choice,
  endpoint,
  hostname,
  isHeaderName,
  method,
  pattern,
  refuse,
  targetPath,
} from './scalars.ts'

const PSEUDO = [':authority', ':method', ':path', ':scheme']

const ROOT: PathMatch = { kind: 'prefix', value: '/' }

/** The match of a route that names none. */
export const ANY_REQUEST: RouteMatch = { path: ROOT, method: '', headers: [], query: [] }

const pathMatch = choice({ exact: targetPath, pathPrefix: targetPath, regex: pattern }).transform(
  ({ exact, pathPrefix, regex }): PathMatch => {
    if (exact !== undefined) return { kind: 'exact', value: exact }
    return regex ?? { kind: 'prefix', value: pathPrefix ?? '/' }
  },
)

const valueMatch = choice({ exact: z.string(), regex: pattern }).transform(
  ({ exact, regex }): ValueMatch => regex ?? { kind: 'exact', value: exact ?? '' },
)

const headerToMatch = z.string().transform((text, context) => {
  const name = text.toLowerCase()
  return isHeaderName(name) || PSEUDO.includes(name)
    ? name
    : refuse(context, `got '${text}', expected a valid header name or one of ${PSEUDO.join(', ')}`)
})

const match = z
  .strictObject({
    path: pathMatch.optional(),
    method: method.optional(),
    headers: z.array(z.strictObject({ name: headerToMatch, value: valueMatch })).optional(),
    query: z.array(z.strictObject({ name: z.string().min(1), value: valueMatch })).optional(),
  })
  .transform((written): RouteMatch => {
    const headers: NamedMatch[] = written.headers ?? []
    const query: NamedMatch[] = written.query ?? []
    return { path: written.path ?? ROOT, method: written.method ?? '', headers, query }
  })

const backend = z.strictObject({
  host: endpoint,
  weight: z.int().min(0).max(1_000_000).optional(),
})

export const ROUTE = z.strictObject({
  name: partOfKey.optional(),
  gateways: z
    .union([z.string(), z.array(z.string()).min(1)], {
      error: 'expected the name of a gateway or a list of names',
    })
    .optional(),
  hostnames: z.array(hostname).min(1).optional(),
  matches: z.array(match).min(1).optional(),
  policies: POLICIES.optional(),
  backends: z.array(backend).min(1).optional(),
})

export type RouteShape = z.output<typeof ROUTE>
