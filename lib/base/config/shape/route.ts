// What users write under `routes`.

import { z } from 'zod'
import type { NamedMatch, PathMatch, RouteMatch, ValueMatch } from '../types.ts'
import { BACKEND } from './backend.ts'
import { choice, gatewayNames, unsupported } from './parts.ts'
import { POLICIES } from './policies.ts'
import {
  hostname,
  isHeaderName,
  method,
  partOfKey,
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
    path: pathMatch.optional().describe('`{exact}`, `{pathPrefix}` or `{regex}`'),
    method: method.optional().describe('Method, such as `GET`'),
    headers: z
      .array(z.strictObject({ name: headerToMatch, value: valueMatch }))
      .optional()
      .describe('Headers, each with `name` and `value`: `{exact}` or `{regex}`'),
    query: z
      .array(z.strictObject({ name: z.string().min(1), value: valueMatch }))
      .optional()
      .describe('Query parameters, in the same form'),
  })
  .transform((written): RouteMatch => {
    const headers: NamedMatch[] = written.headers ?? []
    const query: NamedMatch[] = written.query ?? []
    return { path: written.path ?? ROOT, method: written.method ?? '', headers, query }
  })

export const ROUTE = z.strictObject({
  name: partOfKey.optional().describe('Default `route<index>`; differs on one listener'),
  gateways: gatewayNames.optional().describe('Names: `gw` or `gw/listener`; default `default`'),
  hostnames: z
    .array(hostname)
    .min(1)
    .optional()
    .describe('`a.example.com` or `*.example.com`; none means any'),
  matches: z.array(match).min(1).optional().describe('Any of them is enough; default every path'),
  policies: POLICIES.optional(),
  backends: z.array(BACKEND).min(1).optional().describe('Who answers, by weight'),
  ...unsupported('namespace', 'ruleName'),
})

export type RouteShape = z.output<typeof ROUTE>
