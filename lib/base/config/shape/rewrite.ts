// What users write to change where a request goes: towards the backend, or back to the client elsewhere.

import { z } from 'zod'
import type { AuthorityRewrite, PathRewrite } from '../types.ts'
import { choice, union } from './parts.ts'
import { authorityText, hostText, portNumber, replacement, targetPath } from './scalars.ts'

const authorityRewrite = choice({
  full: authorityText,
  host: hostText,
  port: portNumber,
}).transform(({ full, host, port }): AuthorityRewrite => {
  if (full !== undefined) return { kind: 'full', value: full }
  return host === undefined ? { kind: 'port', port: port ?? 0 } : { kind: 'host', host }
})

const pathRewrite = choice({ full: targetPath, prefix: replacement }).transform(
  ({ full, prefix = '' }): PathRewrite =>
    full === undefined
      ? { kind: 'prefix', value: prefix.replace(/\/+$/, '') }
      : { kind: 'full', value: full },
)

export const URL_REWRITE = z
  .strictObject({
    authority: union(
      [z.enum(['auto', 'none']), authorityRewrite],
      "expected 'auto', 'none' or an object with one of 'full', 'host', 'port'",
    )
      .optional()
      .describe(
        "Host towards the backend: `auto`, `none` (the client's), `{full}`, `{host}` or `{port}`",
      ),
    path: pathRewrite
      .optional()
      .describe('`{full}`: the new path; `{prefix}`: instead of what matched'),
  })
  .describe('Path and Host towards the backend')

const redirectStatus = z.literal([301, 302, 303, 307, 308])

export const REQUEST_REDIRECT = z
  .strictObject({
    scheme: z.enum(['http', 'https']).optional().describe('The new scheme'),
    authority: authorityRewrite.optional().describe('`{full}`, `{host}` or `{port}`'),
    path: pathRewrite.optional().describe('`{full}` or `{prefix}`'),
    status: redirectStatus.default(302).describe('Status of the answer'),
  })
  .describe('Sends the client elsewhere')
  .refine(
    ({ scheme, authority, path }) => scheme ?? authority ?? path,
    'got nothing to change, expected scheme, authority or path: the client would come straight back',
  )
